/* SPDX-License-Identifier: MIT */
/* Messages for the user: what failed, why, and what to do. To stderr, unless a sink is set
 * (libibverbs with VERBS_LOG_FILE). */
#ifndef RXE_CONTROL_LOG_H
#define RXE_CONTROL_LOG_H

enum ctl_log_level {
	CTL_LOG_ERROR = 1, /* cause of a failed call */
	CTL_LOG_NOTICE,	   /* something is smaller or slower than requested */
	CTL_LOG_DEBUG,
};

/* Sets the sink, which gets each line without its newline. NULL: stderr. */
void ctl_log_to(void (*sink)(enum ctl_log_level level, const char *line));
void ctl_log_stderr(enum ctl_log_level most); /* stderr, lines up to this level */
void ctl_log(enum ctl_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
