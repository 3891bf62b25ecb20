/* SPDX-License-Identifier: MIT */
/* Held events: a list of CQs. A CQ whose event came early stays on the list until its time. */
#include "emu/moderation.h"

#include <assert.h>
#include <stddef.h>

#include "emu/cq.h"
#include "emu/engine.h"

#define NSEC_PER_USEC 1000u

void rxe_cq_moderate(struct rxe_cq *cq, uint16_t count, uint16_t period_us)
{
	cq->moderation_count = period_us && count > 1 ? count : 0;
	cq->moderation_ns = (uint64_t)period_us * NSEC_PER_USEC;
}

bool rxe_moderation_holds(struct rxe_engine *engine, struct rxe_cq *cq)
{
	assert(cq->armed != RXE_CQ_IDLE);
	if (rxe_cq_unnotified(cq) >= cq->moderation_count) {
		cq->hold_until_ns = 0;
		return false;
	}
	if (cq->hold_until_ns)
		return true;
	cq->hold_until_ns = engine->now_ns + cq->moderation_ns;
	if (!cq->listed_as_held) {
		cq->listed_as_held = true;
		cq->next_held = engine->held;
		engine->held = cq;
	}
	return true;
}

uint64_t rxe_moderation_deadline(const struct rxe_engine *engine)
{
	uint64_t least_ns = UINT64_MAX;
	const struct rxe_cq *cq;

	for (cq = engine->held; cq; cq = cq->next_held)
		if (cq->hold_until_ns && cq->hold_until_ns < least_ns)
			least_ns = cq->hold_until_ns;
	return least_ns;
}

void rxe_moderation_expire(struct rxe_engine *engine, uint64_t now_ns)
{
	struct rxe_cq **link = &engine->held;

	while (*link) {
		struct rxe_cq *cq = *link;
		const bool due = cq->hold_until_ns && cq->hold_until_ns <= now_ns;

		if (cq->hold_until_ns > now_ns) {
			link = &cq->next_held;
			continue;
		}
		*link = cq->next_held;
		cq->listed_as_held = false;
		cq->hold_until_ns = 0;
		if (due && cq->armed != RXE_CQ_IDLE)
			rxe_cq_notify(engine, cq);
	}
}

void rxe_moderation_forget(struct rxe_engine *engine, struct rxe_cq *cq)
{
	struct rxe_cq **link = &engine->held;

	while (*link && *link != cq)
		link = &(*link)->next_held;
	if (*link)
		*link = cq->next_held;
	cq->listed_as_held = false;
}
