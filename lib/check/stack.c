// SPDX-License-Identifier: MIT
/* Unwinds the calling thread by the unwind tables, which every program has. */
#include "lib/check/stack.h"

#include <stddef.h>
#include <unistd.h>
#include <unwind.h>

/* The linker's: where this library is loaded. */
#pragma GCC visibility push(hidden)
extern const char __ehdr_start[];
extern const char _end[];
#pragma GCC visibility pop

#define OTHERS_MAX 2u

/* Written while objects are loaded. */
static struct {
	const char *start, *end;
} other[OTHERS_MAX];
static uint32_t num_others;

void check_stack_leave_out(const char *start, const char *end)
{
	if (num_others == OTHERS_MAX)
		return;
	other[num_others].start = start;
	other[num_others++].end = end;
}

static bool is_inside(uintptr_t pc, const char *start, const char *end)
{
	return pc >= (uintptr_t)start && pc < (uintptr_t)end;
}

static bool is_ours(uintptr_t pc)
{
	if (is_inside(pc, __ehdr_start, _end))
		return true;
	for (uint32_t i = 0; i < num_others; i++) {
		if (is_inside(pc, other[i].start, other[i].end))
			return true;
	}
	return false;
}

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct check_stack *stack = arg;
	const uintptr_t pc = _Unwind_GetIP(context);

	if (!pc || stack->depth == FINDING_DEPTH)
		return _URC_END_OF_STACK;
	if (stack->depth > 0 || !is_ours(pc))
		stack->pc[stack->depth++] = pc;
	return _URC_NO_REASON;
}

uint32_t check_stack_thread(void)
{
	static __thread uint32_t id;

	if (!id)
		id = (uint32_t)gettid();
	return id;
}

void check_stack_take(struct check_stack *ret)
{
	ret->modules = NULL;
	ret->depth = 0;
	ret->thread = check_stack_thread();
	_Unwind_Backtrace(add_frame, ret);
}
