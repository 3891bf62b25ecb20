/* SPDX-License-Identifier: MIT */
/* Timers of ids: a binary heap by deadline. Each id has at most one, and knows its place. */
#include <assert.h>
#include <stdlib.h>

#include "lib/cm/id.h"

#define FIRST_TIMERS 64u

static void put(struct cm *cm, uint32_t at, struct cm_id *id)
{
	cm->timers[at] = id;
	id->timer_at = at;
}

static void sift_up(struct cm *cm, uint32_t at, struct cm_id *id)
{
	while (at > 0 && cm->timers[(at - 1) / 2]->deadline_ns > id->deadline_ns) {
		put(cm, at, cm->timers[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(cm, at, id);
}

static void sift_down(struct cm *cm, uint32_t at, struct cm_id *id)
{
	uint32_t child;

	while ((child = 2 * at + 1) < cm->num_timers) {
		if (child + 1 < cm->num_timers &&
		    cm->timers[child + 1]->deadline_ns < cm->timers[child]->deadline_ns)
			child++;
		if (cm->timers[child]->deadline_ns >= id->deadline_ns)
			break;
		put(cm, at, cm->timers[child]);
		at = child;
	}
	put(cm, at, id);
}

bool cm_timer_reserve(struct cm *cm)
{
	const uint32_t max = cm->max_timers ? 2 * cm->max_timers : FIRST_TIMERS;
	struct cm_id **timers;

	if (cm->num_ids < cm->max_timers)
		return true;
	timers = realloc(cm->timers, max * sizeof(struct cm_id *));
	if (!timers)
		return false;
	cm->timers = timers;
	cm->max_timers = max;
	return true;
}

void cm_timer_set(struct cm_id *id, uint64_t deadline_ns)
{
	cm_timer_stop(id);
	assert(id->cm->num_timers < id->cm->max_timers);
	id->deadline_ns = deadline_ns;
	sift_up(id->cm, id->cm->num_timers++, id);
}

void cm_timer_stop(struct cm_id *id)
{
	struct cm *cm = id->cm;
	const uint32_t at = id->timer_at;
	struct cm_id *last;

	if (at == CM_NO_TIMER)
		return;
	assert(cm->timers[at] == id);
	id->timer_at = CM_NO_TIMER;
	last = cm->timers[--cm->num_timers];
	if (last == id)
		return;
	if (at > 0 && cm->timers[(at - 1) / 2]->deadline_ns > last->deadline_ns)
		sift_up(cm, at, last);
	else
		sift_down(cm, at, last);
}

struct cm_id *cm_timer_first(const struct cm *cm)
{
	return cm->num_timers ? cm->timers[0] : NULL;
}
