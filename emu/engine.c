/* SPDX-License-Identifier: MIT */
/* What a turn of the engine does beside input: output, deadlines, settle. */
#include "emu/engine.h"

#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "emu/complete.h"
#include "emu/container_of.h"
#include "emu/cq.h"
#include "emu/deadline.h"
#include "emu/emit.h"
#include "emu/host.h"
#include "emu/qp.h"
#include "emu/raw/raw.h"
#include "emu/rc/rc.h"
#include "emu/rc/time_wait.h"
#include "emu/srq.h"
#include "emu/supported.h"
#include "emu/uc.h"
#include "emu/ud.h"
#include "net/wire/train.h"

void rxe_engine_init(struct rxe_engine *engine, const struct rxe_engine_cfg *cfg)
{
	assert(cfg->counters && cfg->slot < RXE_MAX_SLOTS);
	assert(cfg->num_tx_ports >= 1 && cfg->num_tx_ports <= RXE_MAX_TX_PORTS);
	memset(engine, 0, sizeof(*engine));
	engine->cfg = *cfg;
	engine->defer_ns = RXE_DEFER_NS;
	engine->qpn_next = cfg->qpn_last + 1;
	engine->timers.entries = engine->timer;
	engine->hold = (struct rxe_hold){
		.at = cfg->held,
		.size = cfg->held ? RXE_HOLD_PACKETS : 0,
	};
}

void rxe_engine_set_ack_delay(struct rxe_engine *engine, uint32_t ns)
{
	const uint32_t present_ns = engine->cfg.ack_delay_ns;

	assert(ns > 0);
	if (!present_ns || (ns <= 2 * (uint64_t)present_ns && present_ns <= 2 * (uint64_t)ns))
		return;
	engine->cfg.ack_delay_ns = ns;
	for (uint32_t i = 0; i < RXE_MAX_QP; i++)
		if (engine->qp[i] && engine->qp[i]->type == RXE_QPT_RC)
			engine->qp[i]->rc.reply.ack_delay_ns = ns;
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
	engine->overrun_pending = false;
	for (uint32_t i = 0; i < RXE_MAX_QP; i++) {
		struct rxe_qp *qp = engine->qp[i];

		if (!qp || qp->state == RXE_QPS_ERR || qp->state == RXE_QPS_RESET ||
		    !has_overrun_cq(qp))
			continue;
		rxe_report_failed(engine, qp, RXE_FAILED_CQ, RXE_WC_SUCCESS);
		rxe_qp_fail(engine, qp, RXE_WC_SUCCESS);
		rxe_raise(engine, qp, RXE_EVENT_QP_FATAL);
	}
}

static void publish(struct rxe_engine *engine, struct rxe_cq *cq)
{
	assert(cq->unpublished && cq->tail - cq->seen_head <= cq->limit);
	cq->unpublished = false;
	rxe_cq_show(engine, cq, cq->tail);
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
	return !rxe_engine_has_output(engine) && !engine->unpublished && !engine->with_events &&
	       !engine->overrun_pending;
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

/* Packets out: ready QPs take turns at filling a train. The first QP of the list sets its
 * destination; others with the same destination may join. A QP that had its turn goes to the end
 * of the list, one that could not join keeps its place. */

/* QPs examined for one train: a long list of QPs to other peers must not cost every train a full
 * walk. */
#define MAX_CANDIDATES 32

static enum output_result ask(struct rxe_engine *engine, struct rxe_qp *qp,
			      struct wire_train *train)
{
	switch (qp->type) {
	case RXE_QPT_RC:
	case RXE_QPT_XRC_SEND:
	case RXE_QPT_XRC_RECV: return rc_output(engine, qp, train);
	case RXE_QPT_UC: return uc_output(engine, qp, train);
	case RXE_QPT_UD: return ud_output(engine, qp, train);
	case RXE_QPT_RAW: return RXE_RAW_SUPPORTED ? raw_output(engine, qp, train) : OUTPUT_IDLE;
	case RXE_QPT_WQ: break;
	}
	return OUTPUT_IDLE;
}

/* A datagram's destination is in its request, and a frame's depends on who listens: UD and RAW
 * check it themselves. */
static bool may_join(struct rxe_engine *engine, const struct rxe_qp *qp, struct wire_train *train)
{
	return qp->type == RXE_QPT_UD || qp->type == RXE_QPT_RAW ||
	       rxe_train_take(engine, train, &qp->flow, qp->tx_index, &qp->attr.av,
			      qp->attr.dest_qp_num);
}

/* One turn of a QP. True: the train is complete. */
static bool take_turn(struct rxe_engine *engine, struct rxe_qp *qp, struct wire_train *train)
{
	enum output_result result;

	assert(qp->on_ready && engine->ready);
	DL_DELETE2(engine->ready, qp, prev_ready, next_ready);
	qp->on_ready = false;
	result = ask(engine, qp, train);
	switch (result) {
	case OUTPUT_IDLE: break;
	case OUTPUT_ADDED:
	case OUTPUT_TRAIN_FULL: rxe_qp_set_ready(engine, qp); break;
	}
	assert(train->segs <= train->max_segs);
	return result == OUTPUT_TRAIN_FULL || train->closed || train->segs == train->max_segs;
}

bool rxe_engine_output(struct rxe_engine *engine, struct wire_train *train, uint64_t now_ns)
{
	struct rxe_qp *qp = engine->ready;
	struct rxe_qp *last = qp ? qp->prev_ready : NULL;
	uint32_t looked = 0;
	bool full = false;

	assert(train->buf && train->max_segs > 0);
	engine->now_ns = now_ns;
	train->len = 0;
	train->segs = 0;
	train->seg_len = 0;
	train->closed = false;
	train->bare = false;
	if (rxe_time_wait_output(engine, train))
		return true;
	while (qp && !full && (train->segs == 0 || looked++ < MAX_CANDIDATES)) {
		/* Turns append to the list; the walk ends at the QP that was last at its start. */
		struct rxe_qp *next = qp == last ? NULL : qp->next_ready;

		if (may_join(engine, qp, train))
			full = take_turn(engine, qp, train);
		qp = next;
	}
	return train->segs > 0;
}

uint64_t rxe_engine_deadline(const struct rxe_engine *engine)
{
	const uint64_t held_ns = rxe_held_deadline(engine);
	const uint64_t timer_ns = heap_first_ns(&engine->timers);

	return held_ns < timer_ns ? held_ns : timer_ns;
}

/* Each QP at most once per call, even if its transport sets a deadline that has passed. */
void rxe_engine_expire(struct rxe_engine *engine, uint64_t now_ns)
{
	uint32_t turns = engine->timers.count;

	engine->now_ns = now_ns;
	rxe_held_expire(engine);
	while (turns-- > 0 && heap_first_ns(&engine->timers) <= now_ns) {
		struct rxe_qp *qp = container_of(engine->timer[0], struct rxe_qp, timer);

		rxe_qp_set_deadline(engine, qp, RXE_NEVER);
		/* UC and UD QPs only wait for credits or deferred memory, and stay on the ready
		 * list. */
		if (rxe_qp_is_reliable(qp))
			rc_expired(engine, qp);
	}
}
