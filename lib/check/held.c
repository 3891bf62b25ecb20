// SPDX-License-Identifier: MIT
/* A list of ranges, and a count of them by page. The list's lock is a leaf: what holds it calls
 * nothing. */
#include "lib/check/held.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <utlist.h>

#include "lib/check/object.h"
#include "lib/check/queue.h"

#define PAGE_SHIFT 12u
#define PAGES	   65536u /* that are told apart */
/* A longer range, or a longer block, may overlap whatever the counts say. */
#define PAGES_MAX 256u

static struct check_range *ranges; /* utlist */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* Written under the layer's lock. */
static _Atomic uint32_t by_page[PAGES];
static _Atomic uint32_t num_long;
static uint32_t num_ranges;

static uint64_t pages_of(uintptr_t start, uintptr_t end)
{
	return ((end - 1) >> PAGE_SHIFT) - (start >> PAGE_SHIFT) + 1;
}

static _Atomic uint32_t *count_of(uintptr_t start, uint64_t page)
{
	const uint64_t number = (start >> PAGE_SHIFT) + page;

	return &by_page[(number ^ number >> 16) % PAGES];
}

/* by: 1 or -1 as an unsigned number. */
static void count(const struct check_range *range, uint32_t by)
{
	const uintptr_t start = (uintptr_t)range->at;
	const uint64_t pages = pages_of(start, start + range->len);

	num_ranges += by;
	if (pages > PAGES_MAX)
		atomic_fetch_add(&num_long, by);
	for (uint64_t i = 0; i < pages && pages <= PAGES_MAX; i++)
		atomic_fetch_add(count_of(start, i), by);
}

void held_add(struct check_request *request)
{
	for (uint32_t i = 0; i < request->num_ranges && !request->is_inline; i++) {
		struct check_range *range = &request->range[i];

		if (!range->at || !range->len)
			continue;
		range->request = request;
		count(range, 1);
		pthread_mutex_lock(&list_lock);
		DL_APPEND(ranges, range);
		pthread_mutex_unlock(&list_lock);
	}
}

void held_remove(struct check_request *request)
{
	for (uint32_t i = 0; i < request->num_ranges; i++) {
		struct check_range *range = &request->range[i];

		if (!range->request)
			continue;
		pthread_mutex_lock(&list_lock);
		DL_DELETE(ranges, range);
		pthread_mutex_unlock(&list_lock);
		count(range, UINT32_MAX);
		range->request = NULL;
	}
}

static bool may_overlap(uintptr_t start, uintptr_t end)
{
	const uint64_t pages = pages_of(start, end);

	if (pages > PAGES_MAX || atomic_load(&num_long) > 0)
		return true;
	for (uint64_t i = 0; i < pages; i++) {
		if (atomic_load_explicit(count_of(start, i), memory_order_relaxed) > 0)
			return true;
	}
	return false;
}

static bool overlaps(const struct check_range *range, uintptr_t start, uintptr_t end)
{
	const uintptr_t at = (uintptr_t)range->at;

	return at < end && start < at + range->len;
}

bool held_any(void)
{
	return num_ranges > 0;
}

bool held_overlaps(uintptr_t start, uintptr_t end)
{
	const struct check_range *range;

	if (!may_overlap(start, end))
		return false;
	pthread_mutex_lock(&list_lock);
	DL_FOREACH (ranges, range) {
		if (overlaps(range, start, end))
			break;
	}
	pthread_mutex_unlock(&list_lock);
	return range != NULL;
}

/* In ERR and RESET requests are flushed, and no longer access memory. */
static bool is_live(const struct check_request *request)
{
	const struct check_object *owner = request->queue->owner;
	const struct check_qp *qp = owner->kind == VB_KIND_QP ? owner->part : NULL;

	return !qp || (qp->qp->state != IBV_QPS_ERR && qp->state != IBV_QPS_ERR);
}

struct check_range *held_find(uintptr_t start, uintptr_t end)
{
	struct check_range *range;

	DL_FOREACH (ranges, range) {
		if (overlaps(range, start, end) && is_live(range->request))
			return range;
	}
	return NULL;
}

void held_each(void (*visit)(struct check_range *range, void *arg), void *arg)
{
	struct check_range *range;

	DL_FOREACH (ranges, range)
		visit(range, arg);
}

/* The child has none of the requests: its device does not access memory for them. */
static void forget_all(void)
{
	struct check_range *range;

	DL_FOREACH (ranges, range) {
		count(range, UINT32_MAX);
		range->request = NULL;
	}
	ranges = NULL;
	pthread_mutex_unlock(&list_lock);
}

static void before_fork(void)
{
	pthread_mutex_lock(&list_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&list_lock);
}

/* The layer's lock was taken before this one would be: see check.c. */
__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(before_fork, after_fork, forget_all);
}
