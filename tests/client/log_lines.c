// SPDX-License-Identifier: MIT
/* Reads the log while the program writes it. */
#include "log_lines.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_LEN 700

static FILE *file;

void log_lines_begin(void)
{
	file = fopen(getenv("VERBS_LOG_FILE"), "re");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
}

void log_lines_end(void)
{
	fclose(file);
}

const char *log_line(void)
{
	static char line[LINE_MAX_LEN];
	const size_t prefix = strlen("rxe_dm: ");

	clearerr(file);
	if (!fgets(line, sizeof(line), file))
		return "nothing";
	line[strcspn(line, "\n")] = '\0';
	ck_assert_msg(strncmp(line, "rxe_dm: ", prefix) == 0, "%s", line);
	return line + prefix;
}

void log_line_is(const char *format, ...)
{
	char want[LINE_MAX_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(want, sizeof(want), format, args);
	va_end(args);
	ck_assert_str_eq(log_line(), want);
}

void log_lines_none(void)
{
	ck_assert_str_eq(log_line(), "nothing");
}
