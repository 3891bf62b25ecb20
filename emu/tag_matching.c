/* SPDX-License-Identifier: MIT */
/* Tag matching in the engine: claims for messages, rendezvous, operations and their completions. */
#include "emu/tag_matching.h"

#include <assert.h>
#include <string.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/srq.h"
#include "emu/tag_list.h"
#include "net/wire/packet.h"

static_assert(TMH_LEN + RVH_LEN == RXE_TM_SEND_INLINE, "FIN");

static void take(struct rxe_engine *engine, struct rxe_tag_list *tags, struct rxe_tag_entry *entry)
{
	assert(engine->open_wrs > 0);
	rxe_tag_list_remove(tags, entry);
	engine->open_wrs--;
}

/* What was matched is known before all of the message is there. */
static void report_match(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t wr_id,
			 const struct tmh *tmh, bool solicited)
{
	const struct rxe_cqe cqe = {
		.wr_id = wr_id,
		.status = RXE_WC_SUCCESS,
		.opcode = RXE_WC_TM_RECV,
		.flags = RXE_WC_TM_MATCH,
		.qpn = qp->qpn,
		.src_qpn = qp->attr.dest_qp_num,
		.solicited = solicited,
		.tm_priv = tmh->app_ctx,
		.tm_tag = tmh->tag,
	};

	rxe_cq_push(engine, qp->srq->cq, &cqe);
}

static void claim_entry(struct rxe_engine *engine, struct rxe_qp *qp, struct rxe_tag_entry *entry,
			const struct tmh *tmh, enum rxe_tm_kind kind)
{
	struct rxe_claim *claim = &qp->claim;

	rxe_recv_hold(claim, entry->wr_id, entry->len, entry->sge, entry->num_sge);
	claim->kind = kind;
	claim->skip = kind == RXE_TM_INCOMPLETE ? 0 : TMH_LEN;
	claim->tag = tmh->tag;
	claim->priv = tmh->app_ctx;
	take(engine, qp->srq->tags, entry);
}

static enum rxe_tm_claim eager(struct rxe_engine *engine, struct rxe_qp *qp,
			       struct rxe_tag_entry *entry, const struct tmh *tmh,
			       const struct wire_packet *packet)
{
	bool is_whole = packet->shape & SHAPE_LAST;

	claim_entry(engine, qp, entry, tmh, is_whole ? RXE_TM_MATCHED : RXE_TM_MATCH_REPORTED);
	if (!is_whole)
		report_match(engine, qp, qp->claim.wr_id, tmh, packet->bth.solicited);
	return TM_CLAIMED;
}

static struct rxe_send_wqe *push_send(struct rxe_engine *engine, struct rxe_qp *qp,
				      enum rxe_wr_opcode opcode)
{
	struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.tail++);

	assert(qp->srq_sends && rxe_ring_used(&qp->sq) <= qp->sq.limit);
	*wqe = (struct rxe_send_wqe){ .opcode = (uint16_t)opcode };
	engine->open_wrs++;
	rxe_qp_set_ready(engine, qp);
	return wqe;
}

/* The READ keeps what FIN will say: the header's tag and app_ctx in members that a READ does not
 * use. */
static void push_read(struct rxe_engine *engine, struct rxe_qp *qp,
		      const struct rxe_tag_entry *entry, const struct tmh *tmh,
		      const struct rvh *rvh)
{
	struct rxe_send_wqe *wqe = push_send(engine, qp, RXE_WR_RDMA_READ);

	wqe->wr_id = entry->wr_id;
	wqe->remote_addr = rvh->va;
	wqe->rkey = rvh->rkey;
	wqe->len = rvh->len;
	wqe->compare_add = tmh->tag;
	wqe->imm_or_rkey = tmh->app_ctx;
	wqe->num_sge = (uint8_t)entry->num_sge;
	memcpy(wqe->tail, entry->sge, entry->num_sge * sizeof(struct rxe_sge));
}

static void push_fin(struct rxe_engine *engine, struct rxe_qp *qp, const struct rxe_send_wqe *read)
{
	const struct tmh tmh = { .op = TMH_FIN,
				 .app_ctx = read->imm_or_rkey,
				 .tag = read->compare_add };
	const struct rvh rvh = { .va = read->remote_addr, .rkey = read->rkey, .len = read->len };
	struct rxe_send_wqe *wqe = push_send(engine, qp, RXE_WR_SEND);

	wqe->flags = RXE_SEND_INLINE;
	wqe->len = TMH_LEN + RVH_LEN;
	tmh_emit(wqe->tail, &tmh);
	rvh_emit(wqe->tail + TMH_LEN, &rvh);
}

/* The buffer takes the header where the program has to go on: the message is longer than the
 * buffer, or the queue pair's send queue is the program's. */
static enum rxe_tm_claim rendezvous(struct rxe_engine *engine, struct rxe_qp *qp,
				    struct rxe_tag_entry *entry, const struct tmh *tmh,
				    const struct wire_packet *packet)
{
	const uint8_t *p = packet->payload;
	struct rvh rvh;

	if (!(packet->shape & SHAPE_LAST) || packet->payload_len < TMH_LEN + RVH_LEN ||
	    packet->payload_len > RXE_TM_RNDV_BYTES)
		return TM_BAD_LENGTH;
	rvh_parse(&rvh, p + TMH_LEN);
	if (!qp->srq_sends || rvh.len > entry->len || rvh.len > RXE_MAX_MSG_SIZE) {
		claim_entry(engine, qp, entry, tmh, RXE_TM_INCOMPLETE);
		return TM_CLAIMED;
	}
	if (qp->rndvs == RXE_TM_RNDVS)
		return TM_NO_RECEIVE;
	qp->rndvs++;
	push_read(engine, qp, entry, tmh, &rvh);
	report_match(engine, qp, entry->wr_id, tmh, packet->bth.solicited);
	take(engine, qp->srq->tags, entry);
	return TM_RENDEZVOUS;
}

static enum rxe_tm_claim plain(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_tm_kind kind)
{
	if (!rxe_recv_claim(engine, qp))
		return TM_NO_RECEIVE;
	qp->claim.kind = kind;
	if (kind == RXE_TM_UNEXPECTED)
		qp->srq->tags->unexpected++;
	return TM_CLAIMED;
}

enum rxe_tm_claim rxe_tm_claim(struct rxe_engine *engine, struct rxe_qp *qp,
			       const struct wire_packet *packet)
{
	struct rxe_tag_entry *entry;
	struct tmh tmh;

	/* The packet comes again, because its bytes could not be stored; or another in its
	 * place. */
	if (qp->claim.held)
		return packet->payload_len < qp->claim.skip ? TM_BAD_LENGTH : TM_CLAIMED;
	if (packet->payload_len < TMH_LEN)
		return plain(engine, qp, RXE_TM_NO_TAG);
	tmh_parse(&tmh, packet->payload);
	if (tmh.op != TMH_EAGER && tmh.op != TMH_RNDV)
		return plain(engine, qp, RXE_TM_NO_TAG);
	entry = rxe_tag_list_match(qp->srq->tags, tmh.tag);
	if (!entry)
		return plain(engine, qp, RXE_TM_UNEXPECTED);
	if (tmh.op == TMH_RNDV)
		return rendezvous(engine, qp, entry, &tmh, packet);
	return eager(engine, qp, entry, &tmh, packet);
}

/* The program waits for a rendezvous' end as for a message of its own. */
static void report_read(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct rxe_send_wqe *wqe, enum rxe_wc_status status)
{
	const struct rxe_cqe cqe = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = RXE_WC_TM_RECV,
		.byte_len = wqe->len,
		.flags = status == RXE_WC_SUCCESS ? (uint32_t)RXE_WC_TM_DATA_VALID : 0,
		.qpn = qp->qpn,
		.src_qpn = qp->attr.dest_qp_num,
		.solicited = true,
	};

	rxe_cq_push(engine, qp->srq->cq, &cqe);
	rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_RECV, status, wqe->len);
	if (status == RXE_WC_SUCCESS)
		engine->cfg.counters->rdma_recvs++;
}

void rxe_tm_send_done(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status)
{
	const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);
	bool is_read = wqe->opcode == RXE_WR_RDMA_READ;

	assert(qp->rndvs > 0 && engine->open_wrs > 0);
	if (is_read)
		report_read(engine, qp, wqe, status);
	if (is_read && status == RXE_WC_SUCCESS)
		push_fin(engine, qp, wqe);
	else
		qp->rndvs--;
	qp->sq.head++;
	engine->open_wrs--;
}

static void report_op(struct rxe_engine *engine, struct rxe_srq *srq, const struct rxe_tm_wr *wr,
		      enum rxe_wc_status status)
{
	static const enum rxe_wc_opcode opcodes[] = { [RXE_TM_ADD] = RXE_WC_TM_ADD,
						      [RXE_TM_DEL] = RXE_WC_TM_DEL,
						      [RXE_TM_SYNC] = RXE_WC_TM_SYNC };
	const struct rxe_cqe cqe = {
		.wr_id = wr->wr_id,
		.status = status,
		.opcode = opcodes[wr->op],
		.flags = rxe_tag_list_in_sync(srq->tags) ? 0 : (uint32_t)RXE_WC_TM_SYNC_REQ,
	};

	if (wr->signaled || status != RXE_WC_SUCCESS)
		rxe_cq_push(engine, srq->cq, &cqe);
}

static enum rxe_wc_status delete_entry(struct rxe_engine *engine, struct rxe_srq *srq,
				       uint32_t handle)
{
	struct rxe_tag_entry *entry = rxe_tag_list_find(srq->tags, handle);

	if (!entry)
		return RXE_WC_TM_ERR;
	take(engine, srq->tags, entry);
	return RXE_WC_SUCCESS;
}

static enum post_result add_entry(struct rxe_engine *engine, struct rxe_srq *srq,
				  struct rxe_tm_wr *wr)
{
	enum post_result result =
		rxe_tag_list_add(srq->tags, wr->tag, wr->mask, &wr->recv, &wr->handle);

	engine->open_wrs += result == POST_OK;
	return result;
}

/* The count that comes with an entry says whether the entry is enabled. */
static void report_count(struct rxe_tag_list *tags, const struct rxe_tm_wr *wr)
{
	rxe_tag_list_handled(tags, wr->unexpected_cnt);
	if (wr->op == RXE_TM_ADD)
		rxe_tag_list_find(tags, wr->handle)->is_enabled = rxe_tag_list_in_sync(tags);
}

enum post_result rxe_tm_post(struct rxe_engine *engine, struct rxe_srq *srq, struct rxe_tm_wr *wr,
			     uint64_t now_ns)
{
	enum rxe_wc_status status = RXE_WC_SUCCESS;
	enum post_result result = POST_OK;

	assert(srq->tags && srq->cq);
	engine->now_ns = now_ns;
	switch (wr->op) {
	case RXE_TM_ADD: result = add_entry(engine, srq, wr); break;
	case RXE_TM_DEL: status = delete_entry(engine, srq, wr->handle); break;
	case RXE_TM_SYNC: break;
	}
	if (result != POST_OK)
		return result;
	if (wr->has_count)
		report_count(srq->tags, wr);
	report_op(engine, srq, wr, status);
	return POST_OK;
}
