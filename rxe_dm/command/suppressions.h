/* SPDX-License-Identifier: MIT */
/* Suppressions: findings that are not reported. The file has the form of LeakSanitizer's: a line is
 * KIND:PATTERN, with kinds id (of the check, or its name), func (a function of any stack) and obj
 * (an object file or shared library of any stack). A pattern matches anywhere, * stands for any
 * text, ^ and $ for the ends; lines with # in front are comments. */
#ifndef RXE_DM_COMMAND_SUPPRESSIONS_H
#define RXE_DM_COMMAND_SUPPRESSIONS_H

#include <stdbool.h>

struct finding;
struct suppressions;
struct symbols;

/* False: explained on the log. */
bool suppressions_read(const char *file, struct suppressions **ret);
void suppressions_free(struct suppressions *suppressions);
/* NULL matches nothing. */
bool suppressions_match(const struct suppressions *suppressions, const struct finding *finding,
			struct symbols *symbols);

#endif
