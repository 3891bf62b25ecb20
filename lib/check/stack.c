// SPDX-License-Identifier: MIT
/* Unwinds the calling thread by the unwind tables, which every program has. A loop that posts has
 * the same stack each time: each thread keeps its last one, and where every return address still
 * stands where it was found, that is the stack. */
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

bool check_stack_is_ours(uintptr_t pc)
{
	if (is_inside(pc, __ehdr_start, _end))
		return true;
	for (uint32_t i = 0; i < num_others; i++) {
		if (is_inside(pc, other[i].start, other[i].end))
			return true;
	}
	return false;
}

/* Frames with those of the layer. */
#define FRAMES_MAX (FINDING_DEPTH + 8u)

/* A stack, and where its return addresses stand. */
struct walk {
	uintptr_t frame; /* check_stack_take()'s; 0: no stack, or its places are not known */
	uint32_t count;
	uintptr_t cfa[FRAMES_MAX], pc[FRAMES_MAX];
	struct check_stack stack;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct walk *walk = arg;
	struct check_stack *stack = &walk->stack;
	const uintptr_t pc = _Unwind_GetIP(context);

	if (!pc || stack->depth == FINDING_DEPTH)
		return _URC_END_OF_STACK;
	if (walk->count < FRAMES_MAX) {
		walk->cfa[walk->count] = _Unwind_GetCFA(context);
		walk->pc[walk->count] = pc;
	}
	walk->count++;
	if (stack->depth > 0 || !check_stack_is_ours(pc))
		stack->pc[stack->depth++] = pc;
	return _URC_NO_REASON;
}

#ifdef __x86_64__
/* A call leaves its return address below the canonical frame address (System V ABI, AMD64). */
__attribute__((no_sanitize("address", "thread"))) static uintptr_t returns_to(uintptr_t cfa)
{
	return *(const uintptr_t *)(cfa - sizeof(uintptr_t));
}

static bool is_same(const struct walk *last, uintptr_t frame)
{
	uint32_t i = 1; /* the first one is check_stack_take(), which has no return address */

	if (last->frame != frame)
		return false;
	while (i < last->count && returns_to(last->cfa[i]) == last->pc[i])
		i++;
	return i == last->count;
}
#else
static bool is_same(const struct walk *last, uintptr_t frame)
{
	(void)last;
	(void)frame;
	return false;
}
#endif

uint32_t check_stack_thread(void)
{
	static __thread uint32_t id;

	if (!id)
		id = (uint32_t)gettid();
	return id;
}

void check_stack_take(struct check_stack *ret)
{
	static __thread struct walk last;
	const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (!is_same(&last, frame)) {
		last.frame = 0;
		last.count = 0;
		last.stack = (struct check_stack){ .thread = check_stack_thread() };
		_Unwind_Backtrace(add_frame, &last);
		if (last.count <= FRAMES_MAX)
			last.frame = frame;
	}
	*ret = last.stack;
}
