/* SPDX-License-Identifier: MIT */
/* Completion of work requests (IBTA 10.8.5, 10.8.6). An unsignalled send that succeeds has no
 * completion; everything else has one. Callers do not learn of a completion lost to an overrun:
 * the CQ stays in error, and the next settle fails the QPs that use it. */
#include "emu/complete.h"

#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/srq.h"

/* By enum rxe_wr_opcode. */
static const uint8_t wc_opcodes[] = {
	[RXE_WR_RDMA_WRITE] = RXE_WC_RDMA_WRITE,
	[RXE_WR_RDMA_WRITE_WITH_IMM] = RXE_WC_RDMA_WRITE,
	[RXE_WR_SEND] = RXE_WC_SEND,
	[RXE_WR_SEND_WITH_IMM] = RXE_WC_SEND,
	[RXE_WR_SEND_WITH_INV] = RXE_WC_SEND,
	[RXE_WR_LOCAL_INV] = RXE_WC_LOCAL_INV,
	[RXE_WR_BIND_MW] = RXE_WC_BIND_MW,
	[RXE_WR_RDMA_READ] = RXE_WC_RDMA_READ,
	[RXE_WR_ATOMIC_CMP_AND_SWP] = RXE_WC_COMP_SWAP,
	[RXE_WR_ATOMIC_FETCH_AND_ADD] = RXE_WC_FETCH_ADD,
	[RXE_WR_FLUSH] = RXE_WC_FLUSH,
	[RXE_WR_ATOMIC_WRITE] = RXE_WC_ATOMIC_WRITE,
};

enum rxe_wc_status rxe_wqe_failed_status(const struct rxe_send_wqe *wqe)
{
	/* IBTA 11.6.2: the memory management operation error is of both. */
	return wqe->opcode == RXE_WR_BIND_MW || wqe->opcode == RXE_WR_LOCAL_INV
		       ? RXE_WC_MW_BIND_ERR
		       : RXE_WC_LOC_PROT_ERR;
}

static enum rxe_wc_status ask_host(struct rxe_engine *engine, const struct rxe_qp *qp, bool is_recv)
{
	if (!engine->completions_asked)
		return RXE_WC_SUCCESS;
	return (enum rxe_wc_status)engine->cfg.ops->completing(engine->cfg.host, qp, is_recv);
}

/* As after an error of its own, an RC QP enters ERR, a UC or UD QP enters SQE. */
static void fail_as_injected(struct rxe_engine *engine, struct rxe_qp *qp,
			     enum rxe_wc_status status)
{
	qp->injected = true;
	if (rxe_qp_is_reliable(qp))
		rxe_qp_fail(engine, qp, status);
	else
		rxe_qp_fail_send(engine, qp, status);
	qp->injected = false;
}

static void count_send(const struct rxe_qp *qp, enum rxe_wc_opcode opcode,
		       enum rxe_wc_status status, uint32_t len)
{
	if (opcode == RXE_WC_SEND)
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_SEND, status, len);
	else if (opcode == RXE_WC_RDMA_WRITE)
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_WRITE, status, len);
	else if (opcode == RXE_WC_RDMA_READ)
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_READ, status, len);
}

static void retire_send(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status,
			bool completes)
{
	const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);
	struct rxe_cqe cqe = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = wc_opcodes[wqe->opcode],
		.byte_len = wqe->len,
		.qpn = qp->qpn,
		.sends = qp->sq.head + 1,
		.sq_polled = &qp->sq_polled,
	};

	assert(rxe_ring_used(&qp->sq) > 0);
	assert(engine->open_wrs > 0);
	if (status == RXE_WC_SUCCESS && cqe.opcode == RXE_WC_SEND)
		engine->cfg.counters->rdma_sends++;
	count_send(qp, (enum rxe_wc_opcode)cqe.opcode, status, wqe->len);
	if (completes)
		rxe_cq_push(engine, qp->send_cq, &cqe);
	qp->sq.head++;
	engine->open_wrs--;
}

void rxe_complete_send(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status)
{
	const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);
	bool completes =
		status != RXE_WC_SUCCESS || qp->sq_sig_all || (wqe->flags & RXE_SEND_SIGNALED);
	enum rxe_wc_status injected = RXE_WC_SUCCESS;

	assert(rxe_ring_used(&qp->sq) > 0 && qp->send_cq);
	if (qp->srq_sends) {
		rxe_tm_send_done(engine, qp, status);
		return;
	}
	if (status == RXE_WC_SUCCESS && completes)
		injected = ask_host(engine, qp, false);
	if (injected != RXE_WC_SUCCESS)
		fail_as_injected(engine, qp, injected);
	else
		retire_send(engine, qp, status, completes);
}

enum rxe_wc_status rxe_recv_result(struct rxe_engine *engine, struct rxe_qp *qp)
{
	assert(qp->claim.held);
	return qp->claim.injected = ask_host(engine, qp, true);
}

/* The members that every claim of a plain receive begins with. */
static void hold(struct rxe_claim *claim)
{
	assert(!claim->held);
	claim->held = true;
	claim->injected = RXE_WC_SUCCESS;
	claim->kind = RXE_TM_PLAIN;
	claim->skip = 0;
	claim->cursor = (struct rxe_cursor){ 0 };
}

void rxe_recv_hold(struct rxe_claim *claim, uint64_t wr_id, uint32_t len, const struct rxe_sge *sge,
		   uint32_t num_sge)
{
	assert(num_sge <= RXE_MAX_SGE);
	hold(claim);
	claim->wr_id = wr_id;
	claim->len = len;
	claim->num_sge = num_sge;
	memcpy(claim->sge, sge, num_sge * sizeof(struct rxe_sge));
}

static bool claim_foreign(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;

	if (!ops->srq_take(engine->cfg.host, qp->rc.resp.srqn, qp->xrcd, &qp->claim))
		return false;
	hold(&qp->claim);
	return true;
}

bool rxe_recv_claim(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rxe_recv_wqe *wqe = NULL;

	if (qp->claim.held)
		return true;
	if (qp->type == RXE_QPT_XRC_RECV && !qp->srq)
		return claim_foreign(engine, qp);
	if (qp->srq)
		wqe = rxe_srq_pop(engine, qp->srq);
	else if (rxe_ring_used(&qp->rq) > 0)
		wqe = rxe_ring_at(&qp->rq, qp->rq.head++);
	if (!wqe)
		return false;
	assert(engine->open_wrs > 0);
	engine->open_wrs--;
	rxe_recv_hold(&qp->claim, wqe->wr_id, wqe->len, wqe->sge, wqe->num_sge);
	return true;
}

enum mr_check rxe_recv_scatter(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t offset,
			       const void *src, uint32_t len)
{
	assert(qp->claim.held);
	assert(offset <= qp->claim.len && len <= qp->claim.len - offset);
	return rxe_scatter(engine,
			   qp->type == RXE_QPT_XRC_RECV ? qp->rc.resp.pd
			   : qp->srq			? qp->srq->pd
							: qp->pd,
			   qp->claim.sge, qp->claim.num_sge, &qp->claim.cursor, offset, src, len);
}

static struct rxe_cq *recv_cq(const struct rxe_qp *qp)
{
	return qp->srq && qp->srq->cq ? qp->srq->cq : qp->recv_cq;
}

/* Opcode and flags of the claimed receive's last completion. */
static enum rxe_wc_opcode tm_opcode(enum rxe_tm_kind kind)
{
	switch (kind) {
	case RXE_TM_PLAIN: return RXE_WC_RECV;
	case RXE_TM_NO_TAG: return RXE_WC_TM_NO_TAG;
	case RXE_TM_UNEXPECTED:
	case RXE_TM_MATCHED:
	case RXE_TM_MATCH_REPORTED:
	case RXE_TM_INCOMPLETE: return RXE_WC_TM_RECV;
	}
	return RXE_WC_RECV;
}

static uint32_t tm_flags(enum rxe_tm_kind kind)
{
	switch (kind) {
	case RXE_TM_PLAIN:
	case RXE_TM_NO_TAG:
	case RXE_TM_UNEXPECTED: return 0;
	case RXE_TM_MATCH_REPORTED: return RXE_WC_TM_DATA_VALID;
	case RXE_TM_MATCHED:
	case RXE_TM_INCOMPLETE: return RXE_WC_TM_MATCH | RXE_WC_TM_DATA_VALID;
	}
	return 0;
}

/* The completion that reports the match carries the tag. */
static void describe_tag(struct rxe_cqe *cqe, const struct rxe_claim *claim)
{
	cqe->opcode = tm_opcode(claim->kind);
	if (cqe->status != RXE_WC_SUCCESS)
		return;
	cqe->flags |= tm_flags(claim->kind);
	if (claim->kind == RXE_TM_INCOMPLETE)
		cqe->status = RXE_WC_TM_RNDV_INCOMPLETE;
	if (claim->kind != RXE_TM_MATCHED && claim->kind != RXE_TM_INCOMPLETE)
		return;
	cqe->tm_priv = claim->priv;
	cqe->tm_tag = claim->tag;
}

bool rxe_complete_recv(struct rxe_engine *engine, struct rxe_qp *qp,
		       const struct rxe_recv_done *done)
{
	struct rxe_cqe cqe = {
		.wr_id = qp->claim.wr_id,
		.status = done->status,
		.opcode = done->opcode,
		.byte_len = done->byte_len,
		.imm_or_rkey = done->imm_or_rkey,
		.qpn = qp->qpn,
		.src_qpn = done->src_qpn,
		.flags = done->flags,
		.solicited = done->solicited,
		.frame = (uint8_t)done->frame,
		.flow_tag = done->flow_tag,
		.cvlan = done->cvlan,
	};
	bool delivered = true;

	if (qp->claim.kind != RXE_TM_PLAIN)
		describe_tag(&cqe, &qp->claim);

	assert(qp->claim.held);
	qp->claim.held = false;
	if (qp->type == RXE_QPT_XRC_RECV && !qp->srq)
		delivered = engine->cfg.ops->srq_done(engine->cfg.host, &qp->claim, &cqe);
	else
		rxe_cq_push(engine, recv_cq(qp), &cqe);
	if (delivered)
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_RECV, done->status, done->byte_len);
	if (delivered && done->status == RXE_WC_SUCCESS)
		engine->cfg.counters->rdma_recvs++;
	return delivered;
}

void rxe_recv_fail(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status)
{
	const struct rxe_recv_done done = { .status = status, .opcode = RXE_WC_RECV };

	assert(status != RXE_WC_SUCCESS && !rxe_qp_is_reliable(qp));
	rxe_report_failed(engine, qp, RXE_FAILED_RECV, status);
	rxe_complete_recv(engine, qp, &done);
	rxe_qp_fail(engine, qp, RXE_WC_SUCCESS);
}

void rxe_recv_stored(struct rxe_engine *engine, struct rxe_qp *qp, enum mr_check stored,
		     const struct rxe_recv_done *done)
{
	if (stored == MR_OK && rxe_recv_result(engine, qp) != RXE_WC_SUCCESS)
		rxe_recv_fail(engine, qp, qp->claim.injected);
	else if (stored == MR_OK)
		rxe_complete_recv(engine, qp, done);
	else if (stored == MR_DEFERRED)
		engine->cfg.counters->rcvd_dropped++;
	else
		rxe_recv_fail(engine, qp, RXE_WC_LOC_PROT_ERR);
}

enum output_result rxe_message_sent(struct rxe_engine *engine, struct rxe_qp *qp,
				    enum send_result result)
{
	switch (result) {
	case SEND_OK: rxe_complete_send(engine, qp, RXE_WC_SUCCESS); return OUTPUT_IDLE;
	case SEND_TRAIN_FULL: return OUTPUT_TRAIN_FULL;
	case SEND_NO_CREDITS: return OUTPUT_ADDED;
	case SEND_DEFERRED:
		rxe_qp_set_deadline(engine, qp, engine->now_ns + engine->defer_ns);
		return OUTPUT_ADDED;
	case SEND_FAILED: rxe_qp_fail_send(engine, qp, RXE_WC_LOC_PROT_ERR); break;
	}
	return OUTPUT_IDLE;
}

void rxe_flush_send(struct rxe_engine *engine, struct rxe_qp *qp)
{
	while (rxe_ring_used(&qp->sq) > 0)
		rxe_complete_send(engine, qp, RXE_WC_WR_FLUSH_ERR);
}

/* The receives of an SRQ are not flushed; the claimed one is. */
void rxe_flush_recv(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rxe_recv_done done = {
		.status = RXE_WC_WR_FLUSH_ERR,
		.opcode = RXE_WC_RECV,
	};

	while (qp->claim.held || rxe_ring_used(&qp->rq) > 0) {
		rxe_recv_claim(engine, qp);
		rxe_complete_recv(engine, qp, &done);
	}
}

void rxe_report_failed(struct rxe_engine *engine, const struct rxe_qp *qp, enum rxe_failed what,
		       enum rxe_wc_status status)
{
	if (engine->cfg.ops->failed)
		engine->cfg.ops->failed(engine->cfg.host, qp, what, status);
}

void rxe_raise(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_event_type type)
{
	static_assert(RXE_EVENT_QP_LAST_WQE_REACHED < 32, "a bit for each type");
	if (!qp->events)
		LL_APPEND2(engine->with_events, qp, next_with_events);
	qp->events |= 1u << type;
}

void rxe_qp_drained(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (qp->state != RXE_QPS_SQD || !qp->sq_draining)
		return;
	qp->sq_draining = false;
	if (qp->attr.en_sqd_async_notify)
		rxe_raise(engine, qp, RXE_EVENT_SQ_DRAINED);
}
