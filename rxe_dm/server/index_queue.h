/* SPDX-License-Identifier: MIT */
/* A queue of freed table indexes, each at most once: the one that rests longest comes first. */
#ifndef RXE_DM_SERVER_INDEX_QUEUE_H
#define RXE_DM_SERVER_INDEX_QUEUE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct index_queue {
	uint32_t *next; /* by index */
	uint32_t first, last, count;
};

/* For indexes below size. False: no memory. */
static inline bool index_queue_init(struct index_queue *ret, uint32_t size)
{
	*ret = (struct index_queue){ .next = calloc(size, sizeof(*ret->next)) };
	return ret->next != NULL;
}

static inline void index_queue_fini(struct index_queue *queue)
{
	free(queue->next);
	*queue = (struct index_queue){ 0 };
}

static inline void index_queue_put(struct index_queue *queue, uint32_t index)
{
	assert(queue->next);
	if (queue->count++)
		queue->next[queue->last] = index;
	else
		queue->first = index;
	queue->last = index;
}

/* The queue is not empty. */
static inline uint32_t index_queue_take(struct index_queue *queue)
{
	const uint32_t index = queue->first;

	assert(queue->count > 0);
	queue->first = queue->next[index];
	queue->count--;
	return index;
}

#endif
