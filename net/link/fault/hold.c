// SPDX-License-Identifier: MIT
/* Packets that wait in the shaper, for a time or for other packets of their QP. At most FAULT_HELD,
 * so a linear search finds the next. */
#include "net/link/fault/hold.h"

#include <assert.h>
#include <string.h>

bool hold_push(struct hold *hold, const struct flight *flight, uint64_t due_ns, uint64_t stream,
	       uint32_t behind)
{
	struct held *held = hold->held;

	while (held < hold->held + FAULT_HELD && held->state != HELD_FREE)
		held++;
	if (held == hold->held + FAULT_HELD || flight->len > FAULT_PACKET_MAX)
		return false;

	assert(hold->waiting < FAULT_HELD);
	held->state = HELD_WAITING;
	held->due_ns = due_ns;
	held->order = hold->order++;
	held->stream = stream;
	held->behind = behind;
	held->flight = *flight;
	held->flight.p = hold->bytes[held - hold->held];
	memcpy(held->flight.p, flight->p, flight->len);
	hold->waiting++;
	return true;
}

void hold_passed(struct hold *hold, uint64_t stream, uint64_t now_ns)
{
	if (hold->waiting == 0)
		return;
	for (uint32_t i = 0; i < FAULT_HELD; i++) {
		struct held *held = &hold->held[i];

		if (held->state != HELD_WAITING || held->stream != stream || held->behind == 0)
			continue;
		if (--held->behind == 0 && held->due_ns > now_ns)
			held->due_ns = now_ns;
	}
}

uint64_t hold_deadline(const struct hold *hold)
{
	uint64_t first = UINT64_MAX;

	if (hold->waiting == 0)
		return first;
	for (uint32_t i = 0; i < FAULT_HELD; i++)
		if (hold->held[i].state == HELD_WAITING && hold->held[i].due_ns < first)
			first = hold->held[i].due_ns;
	return first;
}

static bool earlier(const struct held *a, const struct held *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

struct flight *hold_pop(struct hold *hold, enum fault_dir dir, uint64_t now_ns)
{
	struct held *first = NULL;

	if (hold->waiting == 0)
		return NULL;
	for (uint32_t i = 0; i < FAULT_HELD; i++) {
		struct held *held = &hold->held[i];

		if (held->state == HELD_WAITING && held->flight.dir == dir &&
		    held->due_ns <= now_ns && (!first || earlier(held, first)))
			first = held;
	}
	if (!first)
		return NULL;
	assert(hold->waiting > 0);
	first->state = HELD_RELEASED;
	hold->waiting--;
	hold->released[dir]++;
	return &first->flight;
}

void hold_reclaim(struct hold *hold, enum fault_dir dir)
{
	if (hold->released[dir] == 0)
		return;
	hold->released[dir] = 0;
	for (uint32_t i = 0; i < FAULT_HELD; i++)
		if (hold->held[i].state == HELD_RELEASED && hold->held[i].flight.dir == dir)
			hold->held[i].state = HELD_FREE;
}
