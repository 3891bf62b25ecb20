/* SPDX-License-Identifier: MIT */
/* Messages to people: one line each, to stderr or to VERBS_LOG_FILE. VERBS_LOG_LEVEL is the highest
 * level that is written: 0 none to 4 debug, 2 by default. */
#ifndef RXE_PROGRESS_LOG_H
#define RXE_PROGRESS_LOG_H

enum rxe_log_level {
	/* A call failed, and this is why. */
	RXE_LOG_ERROR = 1,
	RXE_LOG_WARNING,
	RXE_LOG_INFO,
	RXE_LOG_DEBUG,
};

/* Writes "rxe_dm: ", the text and a newline. errno stays as it was. */
void rxe_log(enum rxe_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Messages of lib/control in this process are written likewise from now on. */
void rxe_log_control(void);

#endif
