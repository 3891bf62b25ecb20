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

static const char *other_start, *other_end;

void check_stack_leave_out(const char *start, const char *end)
{
	other_start = start;
	other_end = end;
}

static bool is_inside(uintptr_t pc, const char *start, const char *end)
{
	return pc >= (uintptr_t)start && pc < (uintptr_t)end;
}

static bool is_ours(uintptr_t pc)
{
	return is_inside(pc, __ehdr_start, _end) || is_inside(pc, other_start, other_end);
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
	ret->depth = 0;
	ret->thread = check_stack_thread();
	_Unwind_Backtrace(add_frame, ret);
}
