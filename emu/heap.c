// SPDX-License-Identifier: MIT
/* The order of the heap: no entry has a later deadline than the entries below it. */
#include "emu/heap.h"

#include <assert.h>

static void put(struct heap *heap, uint32_t index, struct heap_entry *entry)
{
	assert(index < heap->count);
	heap->entries[index] = entry;
	entry->index = index;
}

static void sift_up(struct heap *heap, uint32_t index, struct heap_entry *entry)
{
	while (index > 0) {
		const uint32_t parent = (index - 1) / 2;

		if (heap->entries[parent]->deadline_ns <= entry->deadline_ns)
			break;
		put(heap, index, heap->entries[parent]);
		index = parent;
	}
	put(heap, index, entry);
}

static void sift_down(struct heap *heap, uint32_t index, struct heap_entry *entry)
{
	for (;;) {
		uint32_t child = 2 * index + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    heap->entries[child + 1]->deadline_ns < heap->entries[child]->deadline_ns)
			child++;
		if (entry->deadline_ns <= heap->entries[child]->deadline_ns)
			break;
		put(heap, index, heap->entries[child]);
		index = child;
	}
	put(heap, index, entry);
}

static void take_out(struct heap *heap, struct heap_entry *entry)
{
	const uint32_t index = entry->index;
	struct heap_entry *last = heap->entries[--heap->count];

	assert(index <= heap->count && heap->entries[index] == entry);
	entry->index = HEAP_NOWHERE;
	if (last == entry)
		return;
	if (index > 0 && last->deadline_ns < heap->entries[(index - 1) / 2]->deadline_ns)
		sift_up(heap, index, last);
	else
		sift_down(heap, index, last);
}

void heap_set(struct heap *heap, struct heap_entry *entry, uint64_t deadline_ns)
{
	const uint64_t was = entry->deadline_ns;

	assert((entry->index == HEAP_NOWHERE) == (was == RXE_NEVER));
	if (deadline_ns == was)
		return;
	entry->deadline_ns = deadline_ns;
	if (entry->index == HEAP_NOWHERE)
		sift_up(heap, heap->count++, entry);
	else if (deadline_ns == RXE_NEVER)
		take_out(heap, entry);
	else if (deadline_ns < was)
		sift_up(heap, entry->index, entry);
	else
		sift_down(heap, entry->index, entry);
}
