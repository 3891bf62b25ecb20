/* SPDX-License-Identifier: MIT */
/* Lines for people: what failed, why, and what to do. To stderr, until somebody (libibverbs with VERBS_LOG_FILE) takes over. */
#ifndef RXE_CONTROL_LOG_H
#define RXE_CONTROL_LOG_H

enum ctl_log_level {
	CTL_LOG_ERROR = 1, /* the call failed because of this */
	CTL_LOG_NOTICE,	   /* worth knowing: something is smaller or slower than asked for */
	CTL_LOG_DEBUG,
};

/* line has no newline. NULL: stderr, errors only (the server and the command: notices too). */
void ctl_log_to(void (*sink)(enum ctl_log_level level, const char *line));
void ctl_log_stderr(enum ctl_log_level most); /* stderr, up to this level */
void ctl_log(enum ctl_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
