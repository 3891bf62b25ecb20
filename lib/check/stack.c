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

static bool is_ours(uintptr_t pc)
{
	return pc >= (uintptr_t)__ehdr_start && pc < (uintptr_t)_end;
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

static uint32_t thread_id(void)
{
	static __thread uint32_t id;

	if (!id)
		id = (uint32_t)gettid();
	return id;
}

void check_stack_take(struct check_stack *ret)
{
	ret->depth = 0;
	ret->thread = thread_id();
	_Unwind_Backtrace(add_frame, ret);
}
