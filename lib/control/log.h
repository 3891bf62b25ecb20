/* SPDX-License-Identifier: MIT */
/* Messages to people: what failed, why, and what to do. One line each, "rxe_dm: " in front, to
 * stderr, to the file VERBS_LOG_FILE or to a sink. */
#ifndef RXE_CONTROL_LOG_H
#define RXE_CONTROL_LOG_H

#include <stdbool.h>

/* The numbers are those of VERBS_LOG_LEVEL. */
enum ctl_log_level {
	/* A call failed, and this is why. */
	CTL_LOG_ERROR = 1,
	/* Something is smaller or slower than requested. */
	CTL_LOG_WARNING,
	CTL_LOG_INFO,
};

/* Sets the sink, which gets each line of every level without prefix and newline. NULL: none. */
void ctl_log_to(void (*sink)(enum ctl_log_level level, const char *line));
/* To stderr, lines up to this level. Errors alone until this is called. */
void ctl_log_stderr(enum ctl_log_level most);
/* As libibverbs: to VERBS_LOG_FILE or stderr, lines up to VERBS_LOG_LEVEL: 0 none, 2 by default. */
void ctl_log_as_verbs(void);
/* Does the environment set VERBS_LOG_LEVEL? Messages for a person who looks for a mistake depend on
 * that. */
bool ctl_log_is_chosen(void);
/* Control characters in the text become "?". errno stays as it was. */
void ctl_log(enum ctl_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
