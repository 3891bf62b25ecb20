/* SPDX-License-Identifier: MIT */
/* Sets of address ranges, which may overlap, and a quick answer whether one has a byte of a block:
 * it is asked of each block that the program frees, in any thread. The set's lock is a leaf: what
 * holds it calls nothing.
 *
 * Ranges of one level have up to 1 << level bytes, and begin in a granule of that size: each is in
 * the bucket of its level and granule, and ends there or in the next granule. So what a short range
 * overlaps is found without a look at all that are outstanding. */
#ifndef RXE_CHECK_SPAN_H
#define RXE_CHECK_SPAN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Pages whose numbers are equal modulo this share a count. */
#define SPAN_PAGES 65536u

#define SPAN_LEVELS  64u
#define SPAN_BUCKETS 1024u /* a power of 2 */

struct span {
	uintptr_t start, end; /* not empty while in a set */
	struct span *prev, *next;
	struct span *bucket_prev, *bucket_next;
	uint32_t level;
};

struct span_set {
	pthread_mutex_t lock;
	unsigned int page_shift; /* 0: no range is counted, and the lock is not taken */
	/* utlists. Written under the layer's lock and the set's. */
	struct span *first; /* all, oldest first */
	struct span *bucket[SPAN_BUCKETS];
	uint64_t levels; /* bit N: a range is on level N */
	uint32_t on_level[SPAN_LEVELS];
	_Atomic uint32_t count, num_long;
	_Atomic uint32_t by_page[SPAN_PAGES];
};

/* page_shift: ranges are counted by pages of that many bits. */
#define SPAN_SET(shift)                                                                            \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER, .page_shift = (shift)                           \
	}

/* A set that is not asked without the layer's lock, as span_overlaps() does. */
#define SPAN_SET_INSIDE                                                                            \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/* Under the layer's lock. */
void span_add(struct span_set *set, struct span *span);
void span_remove(struct span_set *set, struct span *span);
/* Calls visit for each range that has a byte of [start, end). It may remove that range. */
void span_each(struct span_set *set, uintptr_t start, uintptr_t end,
	       void (*visit)(struct span *span, void *arg), void *arg);
/* Is a byte of [start, end) in a range of the set? Without the layer's lock. */
bool span_overlaps(struct span_set *set, uintptr_t start, uintptr_t end);

static inline bool span_has(const struct span *span, uintptr_t start, uintptr_t end)
{
	return span->start < end && start < span->end;
}

/* An empty set. In the child of a fork(): another thread of the parent may have had the lock. */
void span_set_clear(struct span_set *set);

#endif
