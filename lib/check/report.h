/* SPDX-License-Identifier: MIT */
/* Findings: the first of its kind and place is written in full, the others are counted. */
#ifndef RXE_CHECK_REPORT_H
#define RXE_CHECK_REPORT_H

#include <stddef.h>

#include "lib/findings/table.h"

struct check_stack;

struct check_where {
	const char *what;		 /* "posted here" */
	const struct check_stack *stack; /* NULL: the stack of this call */
};

/* Makes this process's area and gives it to the device server. Called before the first verb that
 * may find something, without the layer's lock. Does nothing in a process that has one. */
void check_report_begin(void);

/* Reports a finding of a check that is selected. where: up to FINDING_STACKS places; findings of
 * one check with the same first two places are one. format: one sentence, which names the objects.
 * Under the layer's lock. */
void check_report(enum check check, const struct check_where *where, size_t n, const char *format,
		  ...) __attribute__((format(printf, 4, 5)));

#endif
