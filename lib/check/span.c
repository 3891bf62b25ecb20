// SPDX-License-Identifier: MIT
/* A list of ranges, buckets of them, and a count of them by page. */
#include "lib/check/span.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <utlist.h>

/* A longer range, or a longer block, may overlap whatever the counts say. */
#define PAGES_MAX 4096u

/* Ranges of up to 64 bytes, a line of most caches, are on one level. */
#define LEVEL_MIN 6u

static uint64_t pages_of(const struct span_set *set, uintptr_t start, uintptr_t end)
{
	return ((end - 1) >> set->page_shift) - (start >> set->page_shift) + 1;
}

static _Atomic uint32_t *count_of(struct span_set *set, uintptr_t start, uint64_t page)
{
	const uint64_t number = (start >> set->page_shift) + page;

	return &set->by_page[(number ^ number >> 16) % SPAN_PAGES];
}

/* Written under the layer's lock, and read without it. by: 1, or -1 as an unsigned number. */
static void add(_Atomic uint32_t *to, uint32_t by)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + by,
			      memory_order_relaxed);
}

static void count(struct span_set *set, const struct span *span, uint32_t by)
{
	uint64_t pages;

	add(&set->count, by);
	if (!set->page_shift)
		return;
	pages = pages_of(set, span->start, span->end);
	if (pages > PAGES_MAX)
		add(&set->num_long, by);
	for (uint64_t i = 0; i < pages && pages <= PAGES_MAX; i++)
		add(count_of(set, span->start, i), by);
}

static uint32_t level_of(const struct span *span)
{
	const uint64_t last = span->end - span->start - 1;

	return last >> LEVEL_MIN ? SPAN_LEVELS - (uint32_t)__builtin_clzll(last) : LEVEL_MIN;
}

static struct span **bucket_of(struct span_set *set, uint32_t level, uint64_t granule)
{
	const uint64_t hash = (granule ^ (uint64_t)level << 58) * 0x9e3779b97f4a7c15ull;

	return &set->bucket[(hash >> 32) % SPAN_BUCKETS];
}

static struct span **bucket_for(struct span_set *set, const struct span *span)
{
	return bucket_of(set, span->level, span->start >> span->level);
}

static void enter(struct span_set *set, struct span *span)
{
	struct span **bucket;

	span->level = level_of(span);
	assert(span->level < SPAN_LEVELS);
	bucket = bucket_for(set, span);
	DL_APPEND(set->first, span);
	DL_APPEND2(*bucket, span, bucket_prev, bucket_next);
	set->on_level[span->level]++;
	set->levels |= 1ull << span->level;
}

static void leave(struct span_set *set, struct span *span)
{
	struct span **bucket = bucket_for(set, span);

	DL_DELETE(set->first, span);
	DL_DELETE2(*bucket, span, bucket_prev, bucket_next);
	if (--set->on_level[span->level] == 0)
		set->levels &= ~(1ull << span->level);
}

static void lock(struct span_set *set)
{
	if (set->page_shift)
		pthread_mutex_lock(&set->lock);
}

static void unlock(struct span_set *set)
{
	if (set->page_shift)
		pthread_mutex_unlock(&set->lock);
}

void span_add(struct span_set *set, struct span *span)
{
	count(set, span, 1);
	lock(set);
	enter(set, span);
	unlock(set);
}

void span_remove(struct span_set *set, struct span *span)
{
	lock(set);
	leave(set, span);
	unlock(set);
	count(set, span, UINT32_MAX);
}

struct search {
	uintptr_t start, end;
	void (*visit)(struct span *span, void *arg);
	void *arg;
};

/* Different granules may have the same bucket. */
static void search_bucket(struct span *bucket, uint32_t level, uint64_t granule,
			  const struct search *search)
{
	struct span *span, *next;

	DL_FOREACH_SAFE2(bucket, span, next, bucket_next)
	{
		if (span->level == level && span->start >> level == granule &&
		    span_has(span, search->start, search->end))
			search->visit(span, search->arg);
	}
}

static void search_level(struct span_set *set, uint32_t level, const struct search *search)
{
	const uint64_t granule = search->start >> level, last = (search->end - 1) >> level;
	struct span *span, *next;

	if (last - granule < atomic_load_explicit(&set->count, memory_order_relaxed)) {
		for (uint64_t i = granule ? granule - 1 : 0; i <= last; i++)
			search_bucket(*bucket_of(set, level, i), level, i, search);
		return;
	}
	DL_FOREACH_SAFE (set->first, span, next) {
		if (span->level == level && span_has(span, search->start, search->end))
			search->visit(span, search->arg);
	}
}

void span_each(struct span_set *set, uintptr_t start, uintptr_t end,
	       void (*visit)(struct span *span, void *arg), void *arg)
{
	const struct search search = { start, end, visit, arg };

	for (uint64_t levels = set->levels; levels; levels &= levels - 1)
		search_level(set, (uint32_t)__builtin_ctzll(levels), &search);
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

static void found(struct span *span, void *arg)
{
	bool *ret = arg;

	(void)span;
	*ret = true;
}

bool span_overlaps(struct span_set *set, uintptr_t start, uintptr_t end)
{
	bool ret = false;

	assert(set->page_shift);
	if (atomic_load_explicit(&set->count, memory_order_relaxed) == 0 ||
	    !may_overlap(set, start, end))
		return false;
	pthread_mutex_lock(&set->lock);
	span_each(set, start, end, found, &ret);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

void span_set_clear(struct span_set *set)
{
	const struct span *span;

	DL_FOREACH (set->first, span)
		count(set, span, UINT32_MAX);
	set->first = NULL;
	memset(set->bucket, 0, sizeof(set->bucket));
	memset(set->on_level, 0, sizeof(set->on_level));
	set->levels = 0;
	pthread_mutex_init(&set->lock, NULL);
}
