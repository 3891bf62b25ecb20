// SPDX-License-Identifier: MIT
/* Compares buffers with the stack pointer. */
#include "lib/check/mem_stack.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/check/check.h"
#include "lib/check/held.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

struct stack_bounds {
	uintptr_t start, end; /* equal: unknown */
	bool known;
};

static uint32_t num_on_stack; /* ranges */

/* The calling thread's. A coroutine's stack is elsewhere. */
static const struct stack_bounds *bounds(void)
{
	static __thread struct stack_bounds mine;
	pthread_attr_t attr;
	size_t len = 0;
	void *start = NULL;

	if (mine.known)
		return &mine;
	mine.known = true;
	if (pthread_getattr_np(pthread_self(), &attr))
		return &mine;
	if (pthread_attr_getstack(&attr, &start, &len) == 0)
		mine = (struct stack_bounds){ (uintptr_t)start, (uintptr_t)start + len, true };
	pthread_attr_destroy(&attr);
	return &mine;
}

static bool is_inside(const struct stack_bounds *stack, uintptr_t at)
{
	return at >= stack->start && at < stack->end;
}

void mem_stack_posting(struct check_request *request)
{
	const struct stack_bounds *stack = bounds();

	for (uint32_t i = 0; i < request->num_ranges; i++) {
		struct check_range *range = &request->range[i];

		if (!range->request || !is_inside(stack, (uintptr_t)range->at))
			continue;
		range->on_stack = true;
		num_on_stack++;
	}
}

static void leave(struct check_range *range)
{
	range->on_stack = false;
	num_on_stack--;
}

void mem_stack_ended(struct check_request *request)
{
	for (uint32_t i = 0; i < request->num_ranges; i++) {
		if (request->range[i].on_stack)
			leave(&request->range[i]);
	}
}

struct call {
	uintptr_t frame;
	uint32_t thread;
};

static void visit(struct check_range *range, void *arg)
{
	struct call *call = arg;
	const struct check_request *request = range->request;

	if (!range->on_stack || request->posted.thread != call->thread ||
	    (uintptr_t)range->at >= call->frame)
		return;
	leave(range);
	range->ended = true;
	check_report(CHECK_MEM_FREED,
		     (struct check_where[]){ { "the function has returned here", NULL },
					     { "posted here", &request->posted } },
		     2,
		     "%s, wr_id 0x%" PRIx64 ": the %s buffer at %p (%" PRIu64
		     " bytes) is a local variable of a function that has returned while the "
		     "request is outstanding",
		     request->queue->owner->label, request->wr_id,
		     request->is_recv ? "receive" : "send", (void *)range->at, range->len);
}

void mem_stack_called(const void *frame)
{
	struct call call = { (uintptr_t)frame, check_stack_thread() };

	if (num_on_stack > 0 && is_inside(bounds(), call.frame))
		held_each(visit, &call);
}
