/* SPDX-License-Identifier: MIT */
/* Deadlines: a binary heap of QPs by deadline_ns. */
#include <assert.h>

#include "emu/engine.h"
#include "emu/moderation.h"
#include "emu/qp.h"
#include "emu/rc/rc.h"

#define NOT_THERE UINT32_MAX

static void put(struct rxe_engine *engine, uint32_t index, struct rxe_qp *qp)
{
	assert(index < engine->num_timers);
	engine->timer[index] = qp;
	qp->timer_index = index;
}

static void sift_up(struct rxe_engine *engine, uint32_t index, struct rxe_qp *qp)
{
	while (index > 0) {
		uint32_t parent = (index - 1) / 2;

		if (engine->timer[parent]->deadline_ns <= qp->deadline_ns)
			break;
		put(engine, index, engine->timer[parent]);
		index = parent;
	}
	put(engine, index, qp);
}

static void sift_down(struct rxe_engine *engine, uint32_t index, struct rxe_qp *qp)
{
	for (;;) {
		uint32_t child = 2 * index + 1;

		if (child >= engine->num_timers)
			break;
		if (child + 1 < engine->num_timers &&
		    engine->timer[child + 1]->deadline_ns < engine->timer[child]->deadline_ns)
			child++;
		if (qp->deadline_ns <= engine->timer[child]->deadline_ns)
			break;
		put(engine, index, engine->timer[child]);
		index = child;
	}
	put(engine, index, qp);
}

static void remove_timer(struct rxe_engine *engine, struct rxe_qp *qp)
{
	uint32_t index = qp->timer_index;
	struct rxe_qp *last = engine->timer[--engine->num_timers];

	assert(index <= engine->num_timers && engine->timer[index] == qp);
	qp->timer_index = NOT_THERE;
	if (last == qp)
		return;
	if (index > 0 && last->deadline_ns < engine->timer[(index - 1) / 2]->deadline_ns)
		sift_up(engine, index, last);
	else
		sift_down(engine, index, last);
}

void rxe_qp_set_deadline(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t deadline_ns)
{
	uint64_t was = qp->deadline_ns;

	assert((qp->timer_index == NOT_THERE) == (was == UINT64_MAX));
	if (deadline_ns == was)
		return;
	qp->deadline_ns = deadline_ns;
	if (qp->timer_index == NOT_THERE)
		sift_up(engine, engine->num_timers++, qp);
	else if (deadline_ns == UINT64_MAX)
		remove_timer(engine, qp);
	else if (deadline_ns < was)
		sift_up(engine, qp->timer_index, qp);
	else
		sift_down(engine, qp->timer_index, qp);
}

static uint64_t first_timer_ns(const struct rxe_engine *engine)
{
	return engine->num_timers > 0 ? engine->timer[0]->deadline_ns : UINT64_MAX;
}

uint64_t rxe_engine_deadline(const struct rxe_engine *engine)
{
	const uint64_t held_ns = rxe_moderation_deadline(engine);
	const uint64_t timer_ns = first_timer_ns(engine);

	return held_ns < timer_ns ? held_ns : timer_ns;
}

/* Each QP at most once per call, even if its transport sets a deadline that has passed. */
void rxe_engine_expire(struct rxe_engine *engine, uint64_t now_ns)
{
	uint32_t turns = engine->num_timers;

	engine->now_ns = now_ns;
	rxe_moderation_expire(engine, now_ns);
	while (turns-- > 0 && first_timer_ns(engine) <= now_ns) {
		struct rxe_qp *qp = engine->timer[0];

		assert(qp->timer_index == 0 && qp->deadline_ns <= now_ns);
		rxe_qp_set_deadline(engine, qp, UINT64_MAX);
		/* UC and UD QPs only wait for credits or deferred memory, and stay on the ready
		 * list. */
		if (rxe_qp_is_reliable(qp))
			rc_expired(engine, qp, now_ns);
	}
}
