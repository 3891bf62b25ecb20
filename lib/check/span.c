// SPDX-License-Identifier: MIT
/* A list of ranges, and a count of them by page. */
#include "lib/check/span.h"

#include <stddef.h>
#include <utlist.h>

/* A longer range, or a longer block, may overlap whatever the counts say. */
#define PAGES_MAX 4096u

static uint64_t pages_of(const struct span_set *set, uintptr_t start, uintptr_t end)
{
	return ((end - 1) >> set->page_shift) - (start >> set->page_shift) + 1;
}

static _Atomic uint32_t *count_of(struct span_set *set, uintptr_t start, uint64_t page)
{
	const uint64_t number = (start >> set->page_shift) + page;

	return &set->by_page[(number ^ number >> 16) % SPAN_PAGES];
}

/* by: 1, or -1 as an unsigned number. */
static void count(struct span_set *set, const struct span *span, uint32_t by)
{
	const uint64_t pages = pages_of(set, span->start, span->end);

	atomic_fetch_add(&set->count, by);
	if (pages > PAGES_MAX)
		atomic_fetch_add(&set->num_long, by);
	for (uint64_t i = 0; i < pages && pages <= PAGES_MAX; i++)
		atomic_fetch_add(count_of(set, span->start, i), by);
}

void span_add(struct span_set *set, struct span *span)
{
	count(set, span, 1);
	pthread_mutex_lock(&set->lock);
	DL_APPEND(set->first, span);
	pthread_mutex_unlock(&set->lock);
}

void span_remove(struct span_set *set, struct span *span)
{
	pthread_mutex_lock(&set->lock);
	DL_DELETE(set->first, span);
	pthread_mutex_unlock(&set->lock);
	count(set, span, UINT32_MAX);
}

static bool may_overlap(struct span_set *set, uintptr_t start, uintptr_t end)
{
	const uint64_t pages = pages_of(set, start, end);

	if (pages > PAGES_MAX || atomic_load(&set->num_long) > 0)
		return true;
	for (uint64_t i = 0; i < pages; i++) {
		if (atomic_load_explicit(count_of(set, start, i), memory_order_relaxed) > 0)
			return true;
	}
	return false;
}

bool span_overlaps(struct span_set *set, uintptr_t start, uintptr_t end)
{
	const struct span *span;

	if (atomic_load_explicit(&set->count, memory_order_relaxed) == 0 ||
	    !may_overlap(set, start, end))
		return false;
	pthread_mutex_lock(&set->lock);
	DL_FOREACH (set->first, span) {
		if (span_has(span, start, end))
			break;
	}
	pthread_mutex_unlock(&set->lock);
	return span != NULL;
}

void span_set_clear(struct span_set *set)
{
	const struct span *span;

	DL_FOREACH (set->first, span)
		count(set, span, UINT32_MAX);
	set->first = NULL;
	pthread_mutex_init(&set->lock, NULL);
}
