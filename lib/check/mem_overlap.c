// SPDX-License-Identifier: MIT
/* A search tree of the ranges that outstanding requests write to. The ranges in it do not overlap,
 * so two that overlap can stand for "equal" (tsearch(3)): entering one finds the other. */
#include "lib/check/mem_overlap.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>

#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

/* Ranges of a request that are looked at: the bits of check_request.nodes. */
#define RANGES_MAX 32u

struct node {
	uint64_t start, end;
	const struct check_request *request;
};

static void *tree;

static int compare(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->end <= y->start)
		return -1;
	return x->start >= y->end;
}

/* Reports what a new request shares with an outstanding one. */
static void report(enum check check, const struct check_request *new, const struct node *mine,
		   const struct node *other)
{
	const struct check_request *old = other->request;
	const uint64_t at = mine->start > other->start ? mine->start : other->start;
	const uint64_t end = mine->end < other->end ? mine->end : other->end;
	const struct check_where where[] = {
		{ "posted here", &new->posted },
		{ "outstanding, posted here", &old->posted },
	};

	check_report(check, where, 2,
		     "%s, wr_id 0x%" PRIx64 ": the device may %s %" PRIu64 " bytes at 0x%" PRIx64
		     " while it may write to them for %s, wr_id 0x%" PRIx64,
		     new->queue->owner->label, new->wr_id, new->writes ? "write to" : "read",
		     end - at, at, old->queue->owner->label, old->wr_id);
}

static bool enter(const struct check_request *request, const struct check_range *range)
{
	struct node *node = malloc(sizeof(*node));
	struct node *const *found;

	if (!node)
		return false;
	*node = (struct node){ (uintptr_t)range->at, (uintptr_t)range->at + range->len, request };
	found = tsearch(node, &tree, compare);
	if (found && *found == node)
		return true;
	if (found && (*found)->request != request)
		report(CHECK_MEM_OVERLAP, request, node, *found);
	free(node);
	return false;
}

static void look_up(const struct check_request *request, const struct check_range *range)
{
	const struct node key = { (uintptr_t)range->at, (uintptr_t)range->at + range->len, NULL };
	struct node *const *found = tfind(&key, &tree, compare);

	if (found)
		report(CHECK_MEM_SEND_OVERLAPS, request, &key, *found);
}

static void look_up_all(const struct check_request *request)
{
	for (uint32_t i = 0; i < request->num_ranges; i++) {
		if (request->range[i].at && request->range[i].len)
			look_up(request, &request->range[i]);
	}
}

void mem_overlap_posting(struct check_request *request)
{
	if (!request->writes) {
		if (request->is_inline)
			return;
		look_up_all(request);
		return;
	}
	for (uint32_t i = 0; i < request->num_ranges && i < RANGES_MAX; i++) {
		const struct check_range *range = &request->range[i];

		if (range->at && range->len && enter(request, range))
			request->nodes |= 1u << i;
	}
}

void mem_overlap_ended(struct check_request *request)
{
	for (uint32_t i = 0; i < RANGES_MAX && request->nodes; i++) {
		const struct check_range *range = &request->range[i];
		struct node key = { (uintptr_t)range->at, (uintptr_t)range->at + range->len, NULL };
		struct node **found;
		struct node *node;

		if (!(request->nodes >> i & 1))
			continue;
		found = tfind(&key, &tree, compare);
		request->nodes &= ~(1u << i);
		if (!found)
			continue;
		node = *found;
		tdelete(node, &tree, compare);
		free(node);
	}
}
