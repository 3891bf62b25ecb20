/* SPDX-License-Identifier: MIT */
/* Queue pairs: creation, destruction, failing. qp_modify.c has the state table. */
#include "emu/qp.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <utlist.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/rc/time_wait.h"
#include "emu/ud.h"

void rxe_qp_init(struct rxe_engine *engine, struct rxe_qp *qp, const struct rxe_qp_init *init)
{
	assert(init->qpn && !engine->qp[init->qpn % RXE_MAX_QP]);
	assert((init->send_cq && init->recv_cq) || init->type == RXE_QPT_XRC_RECV || init->rss);
	/* rc_reset() empties what follows, whose pages stay untouched. */
	memset(qp, 0, offsetof(struct rxe_qp, rc.reply.answer));
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
	heap_entry_init(&qp->timer);
	rxe_rate_set(&qp->rate, 0, 0, 0, 0);
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

void rxe_qp_fini(struct rxe_engine *engine, struct rxe_qp *qp)
{
	assert(engine->qp[qp->qpn % RXE_MAX_QP] == qp && engine->num_qp > 0);
	rxe_qp_set_deadline(engine, qp, RXE_NEVER);
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
	else if (rxe_qp_is_reliable(qp))
		rc_requester_read_record(engine, qp);
	qp->state = RXE_QPS_ERR;
	rxe_qp_set_deadline(engine, qp, RXE_NEVER);
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
	rxe_complete_send(engine, qp, status);
	rxe_flush_send(engine, qp);
}

void rxe_qp_flush_delayed_ack(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_reply *reply = &qp->rc.reply;

	if (!rxe_qp_is_reliable(qp) ||
	    (reply->ack_delay_until_ns == RXE_NEVER && !reply->is_unasked))
		return;
	rc_reply_ack(reply);
	rxe_qp_set_ready(engine, qp);
}
