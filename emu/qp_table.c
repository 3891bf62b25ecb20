/* SPDX-License-Identifier: MIT */
/* The engine's queue pairs by number, those that are ready to send, and those with a deadline. */
#include <assert.h>
#include <utlist.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/rc/time_wait.h"
#include "net/wire/packet.h"

#define SLOT_QPNS (1u << RXE_SLOT_SHIFT)

static_assert(SLOT_QPNS == 1u << 16, "qpn_at permutes 16 bits");

/* QPNs 0 and 1 are management QPs, 0xffffff is the multicast QPN. */
static bool is_reserved(uint32_t qpn)
{
	return (qpn & ((1u << RXE_SLOT_SHIFT) - 1)) < 2 || qpn == QPN_MASK;
}

/* A permutation: no number repeats before all others were used. Four Feistel rounds keep QPNs hard
 * to guess for who does not know the key; with key 0 they are the identity. */
static uint32_t qpn_at(const struct rxe_engine *engine, uint32_t place)
{
	uint32_t left = place >> 8 & 0xff, right = place & 0xff, round;

	for (round = 0; round < 4; round++) {
		const uint32_t key = (uint32_t)(engine->cfg.qpn_key >> 16 * round) & 0xffff;
		const uint32_t next = left ^ ((right * 2 + 1) * key >> 8 & 0xff);

		left = right;
		right = next;
	}
	return engine->cfg.slot << RXE_SLOT_SHIFT | left << 8 | right;
}

uint32_t rxe_engine_alloc_qpn(struct rxe_engine *engine)
{
	const uint32_t max = engine->cfg.offer.max_qp;
	uint32_t tries;

	if (max && engine->num_qp >= max)
		return 0;
	for (tries = 0; tries < 2 * SLOT_QPNS; tries++) {
		const uint32_t qpn = qpn_at(engine, engine->qpn_next++);

		if (is_reserved(qpn) || engine->qp[qpn % RXE_MAX_QP])
			continue;
		/* TIME_WAIT keeps the number, unless all numbers of the index are in TIME_WAIT. */
		if (tries >= SLOT_QPNS || !rxe_time_wait_is_known(engine, qpn))
			return qpn;
	}
	return 0;
}

struct rxe_qp *rxe_engine_find_qp(const struct rxe_engine *engine, uint32_t qpn)
{
	struct rxe_qp *qp = engine->qp[qpn % RXE_MAX_QP];

	return qp && qp->qpn == qpn ? qp : NULL;
}

void rxe_qp_set_ready(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (qp->on_ready)
		return;
	DL_APPEND2(engine->ready, qp, prev_ready, next_ready);
	qp->on_ready = true;
}

void rxe_qp_set_deadline(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t deadline_ns)
{
	heap_set(&engine->timers, &qp->timer, deadline_ns);
}
