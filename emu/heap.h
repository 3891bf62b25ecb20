/* SPDX-License-Identifier: MIT */
/* A binary heap of deadlines, the earliest first. An entry is embedded in the owner of the deadline
 * and knows its place, so a deadline changes in O(log n). The heap allocates nothing: the caller
 * has an array for all entries that can have a deadline. The engine orders its queue pairs by it,
 * and the connection manager its ids. */
#ifndef RXE_EMU_HEAP_H
#define RXE_EMU_HEAP_H

#include <stdint.h>

#include "emu/deadline.h"

#define HEAP_NOWHERE UINT32_MAX

struct heap_entry {
	uint64_t deadline_ns; /* RXE_NEVER: none */
	uint32_t index;	      /* in the heap; without a deadline HEAP_NOWHERE */
};

struct heap {
	struct heap_entry **entries;
	uint32_t count;
};

static inline void heap_entry_init(struct heap_entry *entry)
{
	*entry = (struct heap_entry){ RXE_NEVER, HEAP_NOWHERE };
}

/* RXE_NEVER takes the entry out of the heap. */
void heap_set(struct heap *heap, struct heap_entry *entry, uint64_t deadline_ns);

/* The earliest deadline, or RXE_NEVER. */
static inline uint64_t heap_first_ns(const struct heap *heap)
{
	return heap->count > 0 ? heap->entries[0]->deadline_ns : RXE_NEVER;
}

#endif
