/* SPDX-License-Identifier: MIT */
/* The engine's tables of QPs and SRQs by number, and rxe_engine_settle(). */
#include "emu/engine.h"

#include <assert.h>
#include <string.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/host.h"
#include "emu/moderation.h"
#include "emu/qp.h"
#include "emu/srq.h"
#include "net/wire/packet.h"

#define SLOT_QPNS (1u << RXE_SLOT_SHIFT)

static_assert(SLOT_QPNS == 1u << 16, "qpn_at permutes 16 bits");

void rxe_engine_init(struct rxe_engine *engine, const struct rxe_engine_cfg *cfg)
{
	assert(cfg->counters && cfg->slot < RXE_MAX_SLOTS);
	assert(cfg->num_tx_ports >= 1 && cfg->num_tx_ports <= RXE_MAX_TX_PORTS);
	memset(engine, 0, sizeof(*engine));
	engine->cfg = *cfg;
	engine->qpn_next = cfg->qpn_last + 1;
	engine->hold = (struct rxe_hold){
		.at = cfg->held,
		.size = cfg->held ? RXE_HOLD_PACKETS : 0,
	};
}

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

uint32_t rxe_engine_alloc_srqn(struct rxe_engine *engine)
{
	uint32_t i;

	for (i = 0; i < RXE_MAX_SRQ; i++) {
		uint32_t number = ++engine->srqn_next & ((1u << RXE_SLOT_SHIFT) - 1);

		if (number && !engine->srq[number % RXE_MAX_SRQ])
			return engine->cfg.slot << RXE_SLOT_SHIFT | number;
	}
	return 0;
}

struct rxe_srq *rxe_engine_find_srq(const struct rxe_engine *engine, uint32_t srqn)
{
	struct rxe_srq *srq = engine->srq[srqn % RXE_MAX_SRQ];

	return srq && srq->srqn == srqn ? srq : NULL;
}

uint8_t rxe_tx_index(const struct rxe_engine *engine, const struct gid *dgid, uint32_t dest_qpn)
{
	uint32_t tail;

	memcpy(&tail, dgid->raw + 12, sizeof(tail));
	tail = (tail ^ dest_qpn >> RXE_SLOT_SHIFT) * 0x9e3779b9u;
	return (uint8_t)((tail >> 16) % engine->cfg.num_tx_ports);
}

/* An XRC target completes in the CQ of the SRQ that the current request names. */
static bool has_overrun_cq(const struct rxe_qp *qp)
{
	if (qp->type == RXE_QPT_XRC_RECV)
		return qp->srq && qp->srq->cq->overrun;
	if (!qp->send_cq) /* RSS */
		return false;
	return qp->send_cq->overrun || qp->recv_cq->overrun ||
	       (qp->srq && qp->srq->cq && qp->srq->cq->overrun);
}

/* Fails the QPs of a CQ that overran: their completions have no place (IBTA 11.6.3.1, local work
 * queue catastrophic error). */
static void fail_overrun(struct rxe_engine *engine)
{
	uint32_t i;

	engine->overrun_pending = false;
	for (i = 0; i < RXE_MAX_QP; i++) {
		struct rxe_qp *qp = engine->qp[i];

		if (!qp || qp->state == RXE_QPS_ERR || qp->state == RXE_QPS_RESET ||
		    !has_overrun_cq(qp))
			continue;
		rxe_report_failed(engine, qp, RXE_FAILED_CQ, RXE_WC_SUCCESS);
		rxe_qp_fail(engine, qp, RXE_WC_SUCCESS, engine->now_ns);
		rxe_raise(engine, qp, RXE_EVENT_QP_FATAL);
	}
}

static bool wants_notice(const struct rxe_cq *cq)
{
	switch (cq->armed) {
	case RXE_CQ_IDLE: return false;
	case RXE_CQ_ARM_SOLICITED: return cq->unpublished_solicited || cq->hold_until_ns;
	case RXE_CQ_ARM_ANY: return true;
	}
	return false;
}

static void publish(struct rxe_engine *engine, struct rxe_cq *cq)
{
	bool grew = cq->tail != atomic_load_explicit(&cq->visible, memory_order_relaxed);

	assert(cq->unpublished && cq->tail - cq->seen_head <= cq->limit);
	cq->unpublished = false;
	/* Pairs with the acquire in rxe_cq_poll. */
	atomic_store_explicit(&cq->visible, cq->tail, memory_order_release);
	if (!grew || !wants_notice(cq) || rxe_moderation_holds(engine, cq))
		return;
	rxe_cq_notify(engine, cq);
}

static void report_overrun(struct rxe_engine *engine, struct rxe_cq *cq)
{
	const struct rxe_event event = { .type = RXE_EVENT_CQ_ERR, .cq = cq };

	if (!cq->overrun || cq->overrun_reported)
		return;
	cq->overrun_reported = true;
	engine->cfg.ops->event(engine->cfg.host, &event);
}

/* Reports the events of a QP by type: COMM_EST before an error, LAST_WQE_REACHED last. */
static void report_events(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rxe_event event = { .qp = qp };
	uint32_t type;

	assert(qp->events);
	for (type = 0; qp->events >> type; type++) {
		if (!(qp->events >> type & 1))
			continue;
		event.type = (enum rxe_event_type)type;
		engine->cfg.ops->event(engine->cfg.host, &event);
	}
	qp->events = 0;
}

bool rxe_engine_is_settled(const struct rxe_engine *engine)
{
	return !engine->ready && !engine->unpublished && !engine->with_events &&
	       !engine->overrun_pending && engine->time_wait.head == engine->time_wait.tail;
}

void rxe_engine_settle(struct rxe_engine *engine)
{
	/* Failing a QP flushes it, which may overrun its other CQ: at most once for each CQ. */
	while (engine->overrun_pending)
		fail_overrun(engine);
	while (engine->unpublished) {
		struct rxe_cq *cq = engine->unpublished;

		engine->unpublished = cq->next_unpublished;
		publish(engine, cq);
		report_overrun(engine, cq);
	}
	while (engine->with_events) {
		struct rxe_qp *qp = engine->with_events;

		engine->with_events = qp->next_with_events;
		report_events(engine, qp);
	}
}
