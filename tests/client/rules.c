/* SPDX-License-Identifier: MIT */
/* Fault rules from within a test program, by way of the command. */
#include "rules.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer's runtime that was loaded before this program would be loaded before the shell as
 * well, which the thread sanitizer's does not survive. */
static const char *command(void)
{
	const char *ret = getenv("RXE_TEST_COMMAND");

	ck_assert_ptr_nonnull(ret);
	unsetenv("LD_PRELOAD");
	return ret;
}

void fault(const char *what)
{
	char line[512];

	snprintf(line, sizeof(line), "%s fault %s >/dev/null", command(), what);
	ck_assert_msg(system(line) == 0, "%s", line);
}

unsigned long fired(const char *rule)
{
	char line[512];
	unsigned long ret = 0;
	FILE *list;

	snprintf(line, sizeof(line), "%s fault list", command());
	list = popen(line, "r");
	ck_assert_ptr_nonnull(list);
	while (fgets(line, sizeof(line), list)) {
		unsigned long number, count;

		if (strstr(line, rule) && sscanf(line, "%lu %lu", &number, &count) == 2)
			ret += count;
	}
	ck_assert_int_eq(pclose(list), 0);
	return ret;
}
