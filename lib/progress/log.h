/* SPDX-License-Identifier: MIT */
/* Lines for people: to stderr, or to VERBS_LOG_FILE; how many is for VERBS_LOG_LEVEL (0 none ... 4 debug; 2 unless set). */
#ifndef RXE_PROGRESS_LOG_H
#define RXE_PROGRESS_LOG_H

enum rxe_log_level {
	RXE_LOG_ERROR = 1, /* a call failed, and this is why */
	RXE_LOG_WARNING,   /* a person wants to know */
	RXE_LOG_INFO,
	RXE_LOG_DEBUG,
};

/* One line, without newline: "rxe_dm: ..." in front. errno stays as it was. */
void rxe_log(enum rxe_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* From here on what lib/control says in this process comes out here too. */
void rxe_log_control(void);

#endif
