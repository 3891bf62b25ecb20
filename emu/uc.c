/* SPDX-License-Identifier: MIT */
/* Unreliable connection (IBTA 9.8.2): the requester sends without ACKs, the responder accepts
 * whole messages in order and drops others silently. FIRST or ONLY always starts a new message, so
 * one lost packet costs one message (9.8.2.2.2). The receive of a message that was dropped serves
 * the next. */
#include "emu/uc.h"

#include <assert.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/emit.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/mr.h"
#include "emu/pace.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

void uc_reset(struct rxe_qp *qp)
{
	qp->uc = (struct rxe_uc){ 0 };
}

static struct wire_packet packet_for(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe)
{
	uint32_t left = wqe->len - qp->uc.sent;
	bool last = left <= qp->attr.path_mtu;

	return (struct wire_packet){
		.bth = {
			.opcode = opcode_make(WIRE_UC, rxe_wqe_op(wqe, qp->uc.sent == 0, last)),
			.solicited = last && (wqe->flags & RXE_SEND_SOLICITED),
			.mig_req = rxe_qp_mig_req(qp),
			.pkey = 0xffff,
			.dest_qpn = qp->attr.dest_qp_num,
			.psn = qp->attr.sq_psn,
		},
		.reth = { .va = wqe->remote_addr, .rkey = wqe->rkey, .len = wqe->len },
		.imm = wqe->imm_or_rkey,
		.payload_len = last ? left : qp->attr.path_mtu,
	};
}

static enum send_result send_one(struct rxe_engine *engine, struct rxe_qp *qp,
				 struct wire_train *train, struct rxe_pace *pace)
{
	const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);
	struct wire_packet packet = packet_for(qp, wqe);
	enum send_result result;
	enum mr_check gathered;
	struct rxe_emit emit;

	assert(qp->uc.sent <= wqe->len);
	if (!rxe_pace_may(pace) || rxe_pace_rate_stops(engine, qp))
		return SEND_NO_CREDITS;
	if (!rxe_emit_start(&emit, train, &packet))
		return SEND_TRAIN_FULL;
	gathered = rxe_gather(engine, qp->pd, wqe, &qp->uc.cursor, qp->uc.sent, emit.payload,
			      packet.payload_len);
	result = rxe_emit_end(engine, &emit, &qp->flow, gathered);
	if (result != SEND_OK)
		return result;
	pace->spent += rxe_pace_cost(emit.len + ICRC_LEN);
	if (rxe_rate_is_limited(&qp->rate))
		rxe_rate_sent(&qp->rate, emit.len + ICRC_LEN, engine->now_ns);
	qp->attr.sq_psn = psn_add(qp->attr.sq_psn, 1);
	qp->uc.sent += packet.payload_len;
	return SEND_OK;
}

/* In SQD the message in progress is still sent. */
static bool may_send(const struct rxe_qp *qp)
{
	return rxe_ring_used(&qp->sq) > 0 &&
	       (qp->state == RXE_QPS_RTS || (qp->state == RXE_QPS_SQD && qp->uc.sent > 0));
}

static void next_message(struct rxe_qp *qp)
{
	qp->uc.sent = 0;
	qp->uc.cursor = (struct rxe_cursor){ 0 };
}

static bool next_is_local(const struct rxe_qp *qp)
{
	return rxe_wqe_is_local(rxe_ring_at(&qp->sq, qp->sq.head));
}

/* A bind or an invalidation: everything before it is in trains. */
static enum send_result execute_local(struct rxe_engine *engine, struct rxe_qp *qp)
{
	switch (rxe_mw_execute(engine, qp, rxe_ring_at(&qp->sq, qp->sq.head))) {
	case LOCAL_DONE: return SEND_OK;
	case LOCAL_WAIT: return SEND_DEFERRED;
	case LOCAL_FAILED: return SEND_FAILED;
	}
	return SEND_FAILED;
}

/* Completes the message under way once all of its bytes are in trains. */
static void complete_sent(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);

	assert(rxe_ring_used(&qp->sq) > 0);
	if (qp->uc.sent < wqe->len)
		return;
	next_message(qp);
	rxe_complete_send(engine, qp, RXE_WC_SUCCESS);
}

static enum output_result fill(struct rxe_engine *engine, struct rxe_qp *qp,
			       struct wire_train *train, struct rxe_pace *pace)
{
	while (may_send(qp)) {
		switch (next_is_local(qp) ? execute_local(engine, qp)
					  : send_one(engine, qp, train, pace)) {
		case SEND_OK: complete_sent(engine, qp); break;
		case SEND_TRAIN_FULL: return OUTPUT_TRAIN_FULL;
		case SEND_NO_CREDITS: return OUTPUT_ADDED;
		case SEND_DEFERRED:
			rxe_qp_set_deadline(engine, qp, engine->now_ns + engine->defer_ns);
			return OUTPUT_ADDED;
		case SEND_FAILED:
			next_message(qp);
			rxe_qp_fail_send(engine, qp,
					 rxe_wqe_failed_status(rxe_ring_at(&qp->sq, qp->sq.head)));
			break;
		}
	}
	return OUTPUT_IDLE;
}

enum output_result uc_output(struct rxe_engine *engine, struct rxe_qp *qp, struct wire_train *train)
{
	enum output_result result = OUTPUT_IDLE;
	struct rxe_pace pace;

	if (may_send(qp)) {
		if (!rxe_pace_begin(engine, qp, &pace, &qp->flow.dst, qp->attr.dest_qp_num))
			return OUTPUT_ADDED;
		result = fill(engine, qp, train, &pace);
		rxe_pace_end(engine, &pace);
	}
	if (result == OUTPUT_IDLE)
		rxe_qp_drained(engine, qp);
	return result;
}

/* Whether the packet continues the message or opens a new one. Updates the expected PSN either
 * way. */
static bool in_sequence(struct rxe_qp *qp, const struct wire_packet *packet)
{
	enum uc_message kind = packet->shape & SHAPE_WRITE ? UC_WRITE : UC_SEND;
	bool expected = packet->bth.psn == qp->attr.rq_psn;

	qp->attr.rq_psn = psn_add(packet->bth.psn, 1);
	return (packet->shape & SHAPE_FIRST) || (expected && qp->uc.message == kind);
}

static bool begin_send(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (!rxe_recv_claim(engine, qp))
		return false;
	qp->claim.cursor = (struct rxe_cursor){ 0 };
	qp->uc.message = UC_SEND;
	return true;
}

static bool begin_write(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet)
{
	const struct reth *reth = &packet->reth;
	struct rxe_span at;

	if (!(qp->attr.qp_access_flags & RXE_REMOTE_WRITE) ||
	    rxe_reach(engine, rxe_qp_key_user(qp), reth->rkey, RXE_REMOTE_WRITE, reth->va,
		      reth->len, &at) != MR_OK) {
		engine->cfg.counters->rcvd_bad_key++;
		return false;
	}
	qp->uc.va = reth->va;
	qp->uc.rkey = reth->rkey;
	qp->uc.len = reth->len;
	qp->uc.message = UC_WRITE;
	return true;
}

static bool begin(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	qp->uc.message = UC_NONE;
	qp->uc.arrived = 0;
	return packet->shape & SHAPE_WRITE ? begin_write(engine, qp, packet)
					   : begin_send(engine, qp);
}

static void fail_recv(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status)
{
	qp->uc.message = UC_NONE;
	rxe_recv_fail(engine, qp, status);
}

static void drop(struct rxe_engine *engine, struct rxe_qp *qp)
{
	qp->uc.message = UC_NONE;
	engine->cfg.counters->rcvd_dropped++;
}

/* False: the QP failed, or the message is dropped, because UC never resends. */
static bool store_send(struct rxe_engine *engine, struct rxe_qp *qp,
		       const struct wire_packet *packet)
{
	enum mr_check stored;

	assert(qp->claim.held && qp->uc.arrived <= qp->claim.len);
	if (packet->payload_len > qp->claim.len - qp->uc.arrived) {
		fail_recv(engine, qp, RXE_WC_LOC_LEN_ERR);
		return false;
	}
	stored = rxe_recv_scatter(engine, qp, qp->uc.arrived, packet->payload, packet->payload_len);
	if (stored == MR_DEFERRED)
		drop(engine, qp);
	else if (stored != MR_OK)
		fail_recv(engine, qp, RXE_WC_LOC_PROT_ERR);
	return stored == MR_OK;
}

/* False: the message is dropped. */
static bool store_write(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet)
{
	struct rxe_uc *uc = &qp->uc;
	uint32_t left = uc->len - uc->arrived;
	bool last = packet->shape & SHAPE_LAST;

	assert(uc->message == UC_WRITE && uc->arrived <= uc->len);
	if (last ? packet->payload_len != left : packet->payload_len >= left)
		return false;
	return rxe_remote_write(engine, rxe_qp_key_user(qp), uc->rkey, uc->va + uc->arrived,
				packet->payload, packet->payload_len) == MR_OK;
}

/* A WRITE without immediate completes nothing. One with immediate takes a receive, as a SEND
 * does. */
static bool finish(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	bool write = qp->uc.message == UC_WRITE;
	bool imm = packet->shape & SHAPE_IMM;
	const struct rxe_recv_done done =
		rxe_recv_done_of(packet, qp->attr.dest_qp_num, qp->uc.arrived);

	qp->uc.message = UC_NONE;
	if (write && imm && !rxe_recv_claim(engine, qp))
		return false;
	if (write)
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_REMOTE_WRITE, RXE_WC_SUCCESS, done.byte_len);
	if (write && !imm)
		return true;
	if (rxe_recv_result(engine, qp) != RXE_WC_SUCCESS)
		fail_recv(engine, qp, qp->claim.injected);
	else
		rxe_complete_recv(engine, qp, &done);
	return true;
}

void uc_input(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	if (!in_sequence(qp, packet) || !rxe_qp_takes_payload(qp, packet) ||
	    ((packet->shape & SHAPE_FIRST) && !begin(engine, qp, packet))) {
		drop(engine, qp);
		return;
	}
	if (qp->uc.message == UC_SEND) {
		if (!store_send(engine, qp, packet))
			return;
	} else if (!store_write(engine, qp, packet)) {
		drop(engine, qp);
		return;
	}
	qp->uc.arrived += packet->payload_len;
	if ((packet->shape & SHAPE_LAST) && !finish(engine, qp, packet))
		drop(engine, qp);
}
