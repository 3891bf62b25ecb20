/* SPDX-License-Identifier: MIT */
/* Lines for people: to stderr, or to VERBS_LOG_FILE; how many is for VERBS_LOG_LEVEL (0 none ... 4 debug; 2 unless set). */
#ifndef RXE_PROGRESS_LOG_H
#define RXE_PROGRESS_LOG_H

enum dm_log_level {
	DM_LOG_ERROR = 1, /* a call failed, and this is why */
	DM_LOG_WARNING,	  /* a person wants to know */
	DM_LOG_INFO,
	DM_LOG_DEBUG,
};

/* One line, without newline: "rxe_dm: ..." in front. errno stays as it was. */
void dm_log(enum dm_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* From here on what lib/control says in this process comes out here too. */
void dm_log_control(void);

#endif
