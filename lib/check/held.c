// SPDX-License-Identifier: MIT
/* The set of ranges of outstanding requests. */
#include "lib/check/held.h"

#include <pthread.h>
#include <stddef.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/span.h"

static struct span_set held = SPAN_SET(12);

static struct check_range *range_of(struct span *span)
{
	return container_of(span, struct check_range, span);
}

void held_add(struct check_request *request)
{
	for (uint32_t i = 0; i < request->num_ranges && !request->is_inline; i++) {
		struct check_range *range = &request->range[i];

		if (!range->at || !range->len)
			continue;
		range->request = request;
		range->span.start = (uintptr_t)range->at;
		range->span.end = (uintptr_t)range->at + range->len;
		span_add(&held, &range->span);
	}
}

void held_remove(struct check_request *request)
{
	for (uint32_t i = 0; i < request->num_ranges; i++) {
		struct check_range *range = &request->range[i];

		if (range->request)
			span_remove(&held, &range->span);
		range->request = NULL;
	}
}

bool held_any(void)
{
	return held.first != NULL;
}

bool held_overlaps(uintptr_t start, uintptr_t end)
{
	return span_overlaps(&held, start, end);
}

/* In ERR and RESET requests are flushed, and no longer access memory. */
bool held_is_live(const struct check_request *request)
{
	const struct check_object *owner = request->queue->owner;
	const struct check_qp *qp = owner->kind == VB_KIND_QP ? owner->part : NULL;

	return !qp || (qp->qp->state != IBV_QPS_ERR && qp->state != IBV_QPS_ERR);
}

static void take_live(struct span *span, void *arg)
{
	struct check_range **ret = arg;

	if (!*ret && held_is_live(range_of(span)->request))
		*ret = range_of(span);
}

struct check_range *held_find(uintptr_t start, uintptr_t end)
{
	struct check_range *ret = NULL;

	span_each(&held, start, end, take_live, &ret);
	return ret;
}

void held_each(void (*visit)(struct check_range *range, void *arg), void *arg)
{
	struct span *span;

	DL_FOREACH (held.first, span)
		visit(range_of(span), arg);
}

struct visitor {
	void (*visit)(struct check_range *range, void *arg);
	void *arg;
};

static void pass_on(struct span *span, void *arg)
{
	const struct visitor *visitor = arg;

	visitor->visit(range_of(span), visitor->arg);
}

void held_each_at(uintptr_t start, uintptr_t end,
		  void (*visit)(struct check_range *range, void *arg), void *arg)
{
	struct visitor visitor = { visit, arg };

	span_each(&held, start, end, pass_on, &visitor);
}

/* The child has none of the requests: its device does not access memory for them. */
static void after_fork_in_child(void)
{
	struct span *span;

	DL_FOREACH (held.first, span)
		range_of(span)->request = NULL;
	span_set_clear(&held);
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(NULL, NULL, after_fork_in_child);
}
