/* SPDX-License-Identifier: MIT */
/* Queue pairs: numbers, creation, destruction, failing, draining, deadlines. qp_modify.c has the
 * state table. */
#include "emu/qp.h"

#include <assert.h>
#include <string.h>

#include <utlist.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/rc/time_wait.h"
#include "emu/ud.h"

#define SLOT_QPNS (1u << RXE_SLOT_SHIFT)
#define NOT_THERE UINT32_MAX /* timer_index of a QP without deadline */

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

void rxe_qp_init(struct rxe_engine *engine, struct rxe_qp *qp, const struct rxe_qp_init *init)
{
	assert(init->qpn && !engine->qp[init->qpn % RXE_MAX_QP]);
	assert((init->send_cq && init->recv_cq) || init->type == RXE_QPT_XRC_RECV || init->rss);
	memset(qp, 0, sizeof(*qp));
	qp->qpn = init->qpn;
	qp->order = engine->qps_made++;
	qp->type = init->type;
	qp->state = RXE_QPS_RESET;
	qp->pd = init->pd;
	qp->xrcd = init->xrcd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->srq = init->srq;
	qp->srq_sends = init->srq_sends;
	qp->sq_sig_all = init->sq_sig_all;
	qp->max_send_sge = init->max_send_sge;
	qp->max_inline_data = init->max_inline_data;
	qp->max_recv_sge = init->max_recv_sge;
	qp->rss = init->rss;
	qp->strips_tag = init->strips_tag;
	rxe_ring_init(&qp->sq, init->sq_mem, init->max_send_wr,
		      rxe_send_stride(init->max_send_sge, init->max_inline_data));
	rxe_ring_init(&qp->rq, init->rq_mem,
		      init->srq || init->type == RXE_QPT_XRC_SEND || init->type == RXE_QPT_XRC_RECV
			      ? 0
			      : init->max_recv_wr,
		      rxe_recv_stride(init->max_recv_sge));
	qp->deadline_ns = UINT64_MAX;
	qp->timer_index = NOT_THERE;
	qp->owner = init->owner;
	rc_reset(engine, qp);

	rxe_time_wait_forget(engine, init->qpn);
	engine->qp[init->qpn % RXE_MAX_QP] = qp;
	engine->num_qp++;
}

static void leave_ready(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (!qp->on_ready)
		return;
	DL_DELETE2(engine->ready, qp, prev_ready, next_ready);
	qp->on_ready = false;
}

void rxe_qp_set_ready(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (qp->on_ready)
		return;
	DL_APPEND2(engine->ready, qp, prev_ready, next_ready);
	qp->on_ready = true;
}

void rxe_qp_fini(struct rxe_engine *engine, struct rxe_qp *qp)
{
	assert(engine->qp[qp->qpn % RXE_MAX_QP] == qp && engine->num_qp > 0);
	rxe_qp_set_deadline(engine, qp, UINT64_MAX);
	rxe_time_wait_note(engine, qp);
	rc_reset(engine, qp);
	leave_ready(engine, qp);
	if (qp->events)
		LL_DELETE2(engine->with_events, qp, next_with_events);
	qp->events = 0;
	if (qp->type == RXE_QPT_UD)
		rxe_mcast_forget(engine, qp);
	rxe_mw_qp_ended(engine, qp);
	if (qp->send_cq)
		rxe_cq_clean(qp->send_cq, qp->qpn);
	if (qp->recv_cq != qp->send_cq)
		rxe_cq_clean(qp->recv_cq, qp->qpn);
	engine->qp[qp->qpn % RXE_MAX_QP] = NULL;
	engine->num_qp--;
	assert(engine->open_wrs >= rxe_ring_used(&qp->sq) + rxe_ring_used(&qp->rq));
	engine->open_wrs -= rxe_ring_used(&qp->sq) + rxe_ring_used(&qp->rq);
}

void rxe_qp_query(const struct rxe_qp *qp, struct rxe_qp_attr *ret)
{
	*ret = qp->attr;
	ret->qp_state = qp->state;
	ret->cur_qp_state = qp->state;
}

void rxe_qp_fail(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status head_status)
{
	if (qp->state == RXE_QPS_ERR)
		return;
	if (head_status != RXE_WC_SUCCESS)
		rxe_report_failed(engine, qp, RXE_FAILED_SEND, head_status);
	qp->state = RXE_QPS_ERR;
	qp->sq_draining = false;
	rxe_qp_set_deadline(engine, qp, UINT64_MAX);
	rc_became_err(engine, qp);
	if (head_status != RXE_WC_SUCCESS && rxe_ring_used(&qp->sq) > 0)
		rxe_complete_send(engine, qp, head_status);
	rxe_flush_send(engine, qp);
	rxe_flush_recv(engine, qp);
	assert(rxe_ring_used(&qp->sq) == 0 && rxe_ring_used(&qp->rq) == 0 && !qp->claim.held);
	if (qp->srq || qp->type == RXE_QPT_XRC_RECV)
		rxe_raise(engine, qp, RXE_EVENT_QP_LAST_WQE_REACHED);
}

void rxe_qp_fail_send(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status)
{
	assert(!rxe_qp_is_reliable(qp) && qp->state != RXE_QPS_ERR);
	rxe_report_failed(engine, qp, RXE_FAILED_SEND, status);
	qp->state = RXE_QPS_SQE;
	qp->sq_draining = false;
	rxe_complete_send(engine, qp, status);
	rxe_flush_send(engine, qp);
}

void rxe_qp_drained(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (qp->state != RXE_QPS_SQD || !qp->sq_draining)
		return;
	qp->sq_draining = false;
	if (qp->attr.en_sqd_async_notify)
		rxe_raise(engine, qp, RXE_EVENT_SQ_DRAINED);
}

void rxe_qp_flush_delayed_ack(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (!rxe_qp_is_reliable(qp) || !qp->rc.reply.ack_delay_until_ns)
		return;
	qp->rc.reply.ack_delay_until_ns = 0;
	rxe_qp_set_ready(engine, qp);
}

/* Deadlines: a binary heap of QPs by deadline_ns. */

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
