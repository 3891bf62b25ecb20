/* SPDX-License-Identifier: MIT */
/* Call stacks of the program, as raw addresses. The command makes symbols of them. */
#ifndef RXE_CHECK_STACK_H
#define RXE_CHECK_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/findings/record.h"

struct ctl_modules;

struct check_stack {
	const struct ctl_modules *modules; /* another process's; NULL: this one's */
	uint32_t depth;
	uint32_t thread; /* gettid(2) */
	uintptr_t pc[FINDING_DEPTH];
};

/* Other objects of the layer, librxe_dm_check.so and the second librdmacm.so.1: each says so while
 * it is loaded. */
void check_stack_leave_out(const char *start, const char *end);
/* An address in the layer, or in one of these. */
bool check_stack_is_ours(uintptr_t pc);
/* The stack of the calling thread, from the first function outside the layer. */
void check_stack_take(struct check_stack *ret);
/* The calling thread: gettid(2). */
uint32_t check_stack_thread(void);

#endif
