/* SPDX-License-Identifier: MIT */
/* The program's own log, VERBS_LOG_FILE: tests compare its lines. */
#ifndef TESTS_CLIENT_LOG_LINES_H
#define TESTS_CLIENT_LOG_LINES_H

/* Reads what is written from now on. */
void log_lines_begin(void);
void log_lines_end(void);
/* The next line, without "rxe_dm: "; "nothing" at the end. Valid until the next call. */
const char *log_line(void);
/* The next line is this one. */
__attribute__((format(printf, 1, 2))) void log_line_is(const char *format, ...);
/* No line is left. */
void log_lines_none(void);

#endif
