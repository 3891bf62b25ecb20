/* SPDX-License-Identifier: MIT */
/* Effects of each request at the responder. Bytes of a message that fails half-way stay in memory,
 * as the standard allows. */
#include "emu/rc/responder.h"

#include <assert.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/rc/requester.h"
#include "emu/rc/responder_duplicate.h"
#include "emu/rc/responder_reply.h"
#include "emu/sge.h"
#include "emu/srq.h"
#include "emu/tag_matching.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

/* FIRST, MIDDLE and LAST in order and of one kind (IBTA 9.7.4.1.2). */
static enum rc_fault check_sequence(const struct rc_responder *resp, uint32_t shape)
{
	bool fits = false;

	switch (resp->message) {
	case RC_MESSAGE_NONE: fits = shape & SHAPE_FIRST; break;
	case RC_MESSAGE_SEND: fits = (shape & SHAPE_SEND) && !(shape & SHAPE_FIRST); break;
	case RC_MESSAGE_WRITE: fits = (shape & SHAPE_WRITE) && !(shape & SHAPE_FIRST); break;
	}
	return fits ? RC_FAULT_NONE : RC_FAULT_SEQUENCE;
}

/* All packets of a message name the same SRQ. So does a packet that is resent because it was
 * deferred, whose receive is held. */
static enum rc_fault find_srq(struct rxe_engine *engine, struct rxe_qp *qp,
			      const struct wire_packet *packet)
{
	struct rc_responder *resp = &qp->rc.resp;
	bool begun = qp->claim.held || !(packet->shape & SHAPE_FIRST);

	if (begun && packet->xrc_srqn != resp->srqn)
		return RC_FAULT_SEQUENCE;
	resp->srqn = packet->xrc_srqn;
	return rxe_xrc_find(engine, qp->xrcd, resp->srqn, &qp->srq, &resp->pd);
}

/* The rights that the operation needs on the QP; SENDs need none. */
static enum rc_fault check_rights(const struct rxe_qp *qp, const struct wire_packet *packet)
{
	const uint32_t shape = packet->shape;
	uint32_t needs = 0;

	if (shape & SHAPE_FLUSH)
		needs = rxe_flush_rights(&packet->feth);
	else if (shape & (SHAPE_WRITE | SHAPE_ATOMIC_WRITE))
		needs = RXE_REMOTE_WRITE;
	else if (shape & SHAPE_READ)
		needs = RXE_REMOTE_READ;
	else if (shape & SHAPE_ATOMIC)
		needs = RXE_REMOTE_ATOMIC;
	return (qp->attr.qp_access_flags & needs) == needs ? RC_FAULT_NONE : RC_FAULT_QP_RIGHTS;
}

static void message_done(struct rc_responder *resp)
{
	resp->message = RC_MESSAGE_NONE;
	resp->msn = psn_add(resp->msn, 1);
}

/* There is no receive, or the process that owns the SRQ did not answer in time. */
static enum rc_fault no_receive(const struct rxe_engine *engine, const struct rxe_qp *qp)
{
	return qp->type == RXE_QPT_XRC_RECV && !qp->srq && rxe_is_deferred(engine)
		       ? RC_FAULT_DEFERRED
		       : RC_FAULT_RNR;
}

/* Completes the receive of a SEND, or of a WRITE with immediate. */
static enum rc_fault complete(struct rxe_engine *engine, struct rxe_qp *qp,
			      const struct wire_packet *packet, uint32_t byte_len)
{
	const struct rxe_recv_done done = rxe_recv_done_of(packet, qp->attr.dest_qp_num, byte_len);

	if (rxe_recv_result(engine, qp) != RXE_WC_SUCCESS)
		return RC_FAULT_RECV_INJECTED;
	if (rxe_complete_recv(engine, qp, &done))
		return RC_FAULT_NONE;
	if (!rxe_is_deferred(engine))
		return RC_FAULT_XRC_SRQ;
	/* Held until the peer resends the packet. */
	qp->claim.held = true;
	return RC_FAULT_DEFERRED;
}

/* A deferred access is retried by the peer after an RNR NAK; others end with the given fault. */
static enum rc_fault fault_for(enum mr_check result, enum rc_fault fault)
{
	return result == MR_DEFERRED ? RC_FAULT_DEFERRED : fault;
}

static enum rc_fault do_send(struct rxe_engine *engine, struct rxe_qp *qp,
			     const struct wire_packet *packet)
{
	struct rc_responder *resp = &qp->rc.resp;
	uint32_t arrived = packet->shape & SHAPE_FIRST ? 0 : resp->arrived;
	enum mr_check stored = MR_OK;
	enum rc_fault fault;
	uint32_t skip;

	if (!rxe_recv_claim(engine, qp))
		return no_receive(engine, qp);
	/* The first packet is never shorter than its skip. */
	skip = packet->shape & SHAPE_FIRST ? qp->claim.skip : 0;
	assert(arrived <= qp->claim.len && skip <= packet->payload_len);
	if (packet->payload_len - skip > qp->claim.len - arrived)
		return RC_FAULT_RECV_SHORT;
	if (packet->payload_len > skip)
		stored = rxe_recv_scatter(engine, qp, arrived, packet->payload + skip,
					  packet->payload_len - skip);
	if (stored != MR_OK)
		return fault_for(stored, RC_FAULT_RECV_MEMORY);
	/* Before the receive completes. An XRC target, whose completion may be deferred, has no
	 * windows: it has no send queue to bind them. */
	if ((packet->shape & SHAPE_IETH) && !rxe_mw_invalidate(engine, qp, packet->inv_rkey))
		return RC_FAULT_INVALIDATE;
	arrived += packet->payload_len - skip;
	assert(arrived <= qp->claim.len);
	if (packet->shape & SHAPE_LAST) {
		fault = complete(engine, qp, packet, arrived);
		if (fault != RC_FAULT_NONE)
			return fault;
	}
	resp->message = RC_MESSAGE_SEND;
	resp->arrived = arrived;
	if (packet->shape & SHAPE_LAST)
		message_done(resp);
	return RC_FAULT_NONE;
}

/* A SEND to an SRQ that matches tags. Its header decides where the message goes. */
static enum rc_fault do_tagged_send(struct rxe_engine *engine, struct rxe_qp *qp,
				    const struct wire_packet *packet)
{
	if (!(packet->shape & SHAPE_FIRST))
		return do_send(engine, qp, packet);
	switch (rxe_tm_claim(engine, qp, packet)) {
	case TM_CLAIMED: return do_send(engine, qp, packet);
	case TM_NO_RECEIVE: return RC_FAULT_RNR;
	case TM_BAD_LENGTH: return RC_FAULT_LENGTH;
	case TM_RENDEZVOUS: break;
	}
	if ((packet->shape & SHAPE_IETH) && !rxe_mw_invalidate(engine, qp, packet->inv_rkey))
		return RC_FAULT_INVALIDATE;
	message_done(&qp->rc.resp);
	return RC_FAULT_NONE;
}

/* Keeps what was refused for diagnosis: the QP is about to fail, so no message needs these
 * fields. */
static enum rc_fault refuse_key(struct rxe_qp *qp, uint32_t rkey, uint64_t va, uint32_t len)
{
	qp->rc.resp.rkey = rkey;
	qp->rc.resp.va = va;
	qp->rc.resp.len = len;
	return RC_FAULT_KEY;
}

/* The key is checked for the whole message when it begins, and again for each packet: it may be
 * invalidated in between. */
static enum rc_fault begin_write(struct rxe_engine *engine, struct rxe_qp *qp,
				 const struct wire_packet *packet)
{
	struct rc_responder *resp = &qp->rc.resp;
	const struct reth *reth = &packet->reth;
	struct rxe_span at;

	if (reth->len > RXE_MAX_MSG_SIZE)
		return RC_FAULT_LENGTH;
	if (rxe_reach(engine, rxe_qp_key_user(qp), reth->rkey, RXE_REMOTE_WRITE, reth->va,
		      reth->len, &at) != MR_OK) {
		/* IBTA 11.6.2, local access error: the receive that the immediate would take, if
		 * there is one. The first of several packets has no immediate. */
		if (packet->shape & SHAPE_IMM)
			rxe_recv_claim(engine, qp);
		return refuse_key(qp, reth->rkey, reth->va, reth->len);
	}
	resp->va = reth->va;
	resp->rkey = reth->rkey;
	resp->len = reth->len;
	resp->arrived = 0;
	return RC_FAULT_NONE;
}

static enum rc_fault do_write(struct rxe_engine *engine, struct rxe_qp *qp,
			      const struct wire_packet *packet)
{
	struct rc_responder *resp = &qp->rc.resp;
	bool last = packet->shape & SHAPE_LAST;
	enum mr_check stored = MR_OK;
	uint32_t left;

	if (packet->shape & SHAPE_FIRST) {
		enum rc_fault fault = begin_write(engine, qp, packet);

		if (fault != RC_FAULT_NONE)
			return fault;
	}
	assert(resp->arrived <= resp->len);
	left = resp->len - resp->arrived;
	if (last ? packet->payload_len != left : packet->payload_len >= left)
		return RC_FAULT_LENGTH;
	if ((packet->shape & SHAPE_IMM) && !rxe_recv_claim(engine, qp))
		return no_receive(engine, qp);
	if (packet->payload_len > 0)
		stored = rxe_remote_write(engine, rxe_qp_key_user(qp), resp->rkey,
					  resp->va + resp->arrived, packet->payload,
					  packet->payload_len);
	if (stored != MR_OK)
		return fault_for(stored, RC_FAULT_KEY);
	if (last && (packet->shape & SHAPE_IMM)) {
		enum rc_fault fault =
			complete(engine, qp, packet, resp->arrived + packet->payload_len);

		if (fault != RC_FAULT_NONE)
			return fault;
	}
	resp->message = RC_MESSAGE_WRITE;
	resp->arrived += packet->payload_len;
	assert(resp->arrived <= resp->len && (resp->arrived == resp->len) == last);
	if (last) {
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_REMOTE_WRITE, RXE_WC_SUCCESS, resp->len);
		message_done(resp);
	}
	return RC_FAULT_NONE;
}

bool rc_responder_has_too_many(const struct rxe_qp *qp)
{
	return qp->rc.reply.num_new >= qp->attr.max_dest_rd_atomic;
}

/* The response to this request, of one packet. */
static struct rc_answer answer_to(const struct rxe_qp *qp, const struct wire_packet *packet,
				  enum rc_answer_kind kind)
{
	return (struct rc_answer){
		.kind = kind,
		.psn = packet->bth.psn,
		.packets = 1,
		.msn = psn_add(qp->rc.resp.msn, 1),
		.pd = rxe_qp_target_pd(qp),
		.rkey = packet->reth.rkey,
		.len = packet->reth.len,
		.va = packet->reth.va,
	};
}

static enum rc_fault respond(struct rxe_qp *qp, const struct rc_answer *answer)
{
	assert(qp->rc.resp.message == RC_MESSAGE_NONE);
	rc_reply_push(&qp->rc.reply, answer);
	message_done(&qp->rc.resp);
	return RC_FAULT_NONE;
}

static enum rc_fault do_read(struct rxe_engine *engine, struct rxe_qp *qp,
			     const struct wire_packet *packet, uint32_t *ret_psns)
{
	const struct reth *reth = &packet->reth;
	struct rxe_span at;
	struct rc_answer answer = answer_to(qp, packet, RC_ANSWER_READ);

	if (rc_responder_has_too_many(qp))
		return RC_FAULT_TOO_MANY;
	if (reth->len > RXE_MAX_MSG_SIZE)
		return RC_FAULT_LENGTH;
	if (rxe_reach(engine, rxe_qp_key_user(qp), reth->rkey, RXE_REMOTE_READ, reth->va, reth->len,
		      &at) != MR_OK)
		return refuse_key(qp, reth->rkey, reth->va, reth->len);
	answer.packets = rc_packets(reth->len, qp->attr.path_mtu);
	*ret_psns = answer.packets;
	rc_recent_reads_save(&qp->rc.reads, answer.psn, answer.packets, reth);
	return respond(qp, &answer);
}

static enum rc_fault do_atomic(struct rxe_engine *engine, struct rxe_qp *qp,
			       const struct wire_packet *packet)
{
	const struct atomic_eth *atomic = &packet->atomic;
	bool swaps = packet->bth.opcode == opcode_make(rxe_qp_service(qp), OP_CMP_SWAP);
	enum mr_check result;
	struct rc_answer answer = answer_to(qp, packet, RC_ANSWER_ATOMIC);

	if (rc_responder_has_too_many(qp))
		return RC_FAULT_TOO_MANY;
	if (atomic->va & 7)
		return RC_FAULT_MISALIGNED;
	result = rxe_remote_atomic(engine, rxe_qp_key_user(qp), atomic->rkey, atomic->va,
				   swaps ? RXE_CMP_SWAP : RXE_FETCH_ADD,
				   swaps ? atomic->compare : atomic->swap_add, atomic->swap_add,
				   &answer.orig);
	if (result == MR_DEFERRED)
		return RC_FAULT_DEFERRED;
	if (result != MR_OK)
		return refuse_key(qp, atomic->rkey, atomic->va, sizeof(uint64_t));
	rc_replay_save(&qp->rc.replay, RC_REPLAY_ATOMIC, answer.psn, answer.orig);
	return respond(qp, &answer);
}

/* rdma_rxe does not count FLUSHes against max_dest_rd_atomic: too many are refused for a while. */
static enum rc_fault do_flush(struct rxe_engine *engine, struct rxe_qp *qp,
			      const struct wire_packet *packet)
{
	const struct reth *reth = &packet->reth;
	enum mr_check result;
	struct rc_answer answer = answer_to(qp, packet, RC_ANSWER_FLUSH);

	answer.feth = packet->feth;
	if (reth->len > RXE_MAX_FLUSH)
		return RC_FAULT_LENGTH;
	if (rc_reply_has_many_flushes(&qp->rc.reply))
		return RC_FAULT_DEFERRED;
	result = rxe_remote_flush(engine, rxe_qp_key_user(qp), answer.rkey, &answer.feth, answer.va,
				  answer.len, &answer.ticket);
	if (result != MR_OK && result != MR_DEFERRED)
		return refuse_key(qp, reth->rkey, reth->va, reth->len);
	answer.is_carried_out = result == MR_OK;
	if (answer.is_carried_out)
		rc_replay_save(&qp->rc.replay, RC_REPLAY_EMPTY, answer.psn, 0);
	return respond(qp, &answer);
}

/* Stored whole. It publishes what FLUSHes before it have made persistent (annex A19), so it waits
 * for them. */
static enum rc_fault do_atomic_write(struct rxe_engine *engine, struct rxe_qp *qp,
				     const struct wire_packet *packet)
{
	const struct reth *reth = &packet->reth;
	const struct rc_answer answer = answer_to(qp, packet, RC_ANSWER_EMPTY);
	enum mr_check stored;

	if (rc_responder_has_too_many(qp))
		return RC_FAULT_TOO_MANY;
	if (reth->len != sizeof(uint64_t) || packet->payload_len != sizeof(uint64_t))
		return RC_FAULT_LENGTH;
	if (reth->va & 7)
		return RC_FAULT_MISALIGNED;
	if (rc_reply_is_flushing(&qp->rc.reply))
		return RC_FAULT_DEFERRED;
	stored = rxe_remote_write(engine, rxe_qp_key_user(qp), reth->rkey, reth->va,
				  packet->payload, sizeof(uint64_t));
	if (stored == MR_DEFERRED)
		return RC_FAULT_DEFERRED;
	if (stored != MR_OK)
		return refuse_key(qp, reth->rkey, reth->va, reth->len);
	rc_replay_save(&qp->rc.replay, RC_REPLAY_EMPTY, answer.psn, 0);
	return respond(qp, &answer);
}

enum rc_fault rc_responder_execute(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct wire_packet *packet, uint32_t *ret_psns)
{
	uint32_t shape = packet->shape;
	enum rc_fault fault = check_sequence(&qp->rc.resp, shape);

	assert(packet->bth.psn == qp->attr.rq_psn);
	*ret_psns = 1;
	if (fault == RC_FAULT_NONE && qp->type == RXE_QPT_XRC_RECV)
		fault = find_srq(engine, qp, packet);
	if (fault == RC_FAULT_NONE)
		fault = check_rights(qp, packet);
	if (fault == RC_FAULT_NONE && (shape & SHAPE_PAYLOAD) && !rxe_qp_takes_payload(qp, packet))
		fault = RC_FAULT_LENGTH;
	if (fault != RC_FAULT_NONE)
		return fault;
	if (shape & SHAPE_SEND)
		return qp->srq && qp->srq->tags ? do_tagged_send(engine, qp, packet)
						: do_send(engine, qp, packet);
	if (shape & SHAPE_WRITE)
		return do_write(engine, qp, packet);
	if (shape & SHAPE_READ)
		return do_read(engine, qp, packet, ret_psns);
	if (shape & SHAPE_FLUSH)
		return do_flush(engine, qp, packet);
	if (shape & SHAPE_ATOMIC_WRITE)
		return do_atomic_write(engine, qp, packet);
	return do_atomic(engine, qp, packet);
}
