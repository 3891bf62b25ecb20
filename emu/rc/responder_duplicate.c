/* SPDX-License-Identifier: MIT */
/* Duplicates (IBTA 9.7.5.1.3). SENDs and WRITEs are acknowledged with the newest PSN completed.
 * READs are read again if they lie within recent ones. Atomics are answered with the saved result,
 * FLUSHes and ATOMIC WRITEs again with an empty READ response (oA19-14). Others are dropped: a
 * duplicate never fails the QP, because a stranger, or a packet delayed beyond the end of its
 * region, needs only an old PSN to be one. */
#include "emu/rc/responder_duplicate.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/rc/nak.h"
#include "emu/rc/requester.h"
#include "emu/rc/responder_reply.h"
#include "emu/sge.h"
#include "emu/srq.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

static void replay_saved(struct rxe_qp *qp, const struct wire_packet *packet)
{
	const enum rc_replay_kind kind = rc_replay_kind(packet->shape);
	struct rc_answer answer = {
		.kind = kind == RC_REPLAY_ATOMIC ? RC_ANSWER_ATOMIC : RC_ANSWER_EMPTY,
		.is_duplicate = true,
		.psn = packet->bth.psn,
		.packets = 1,
		.msn = qp->rc.resp.msn,
	};

	if (rc_replay_find(&qp->rc.replay, kind, answer.psn, &answer.orig))
		rc_reply_push(&qp->rc.reply, &answer);
}

void rc_recent_reads_save(struct rc_recent_reads *reads, uint32_t psn, uint32_t packets,
			  const struct reth *reth)
{
	assert(packets > 0);
	reads->at[reads->count++ % RC_RECENT_READS] = (struct rc_recent_read){
		.psn = psn,
		.packets = packets,
		.rkey = reth->rkey,
		.len = reth->len,
		.va = reth->va,
	};
}

/* The newest READ whose response holds this PSN. */
static const struct rc_recent_read *find_read(const struct rc_recent_reads *reads, uint32_t psn)
{
	uint32_t kept = reads->count < RC_RECENT_READS ? reads->count : RC_RECENT_READS;

	for (uint32_t i = 1; i <= kept; i++) {
		const struct rc_recent_read *read =
			&reads->at[(reads->count - i) % RC_RECENT_READS];
		int32_t from = psn_diff(psn, read->psn);

		if (from >= 0 && (uint32_t)from < read->packets)
			return read;
	}
	return NULL;
}

/* Whether each response packet from psn on, with the bytes that reth requests in it, belongs to
 * the response of a recent READ. */
static bool covers(const struct rc_recent_reads *reads, uint32_t psn, const struct reth *reth,
		   uint32_t mtu)
{
	uint64_t va = reth->va;
	uint32_t left = reth->len;

	do {
		const struct rc_recent_read *read = find_read(reads, psn);
		uint32_t offset, here;

		if (!read || read->rkey != reth->rkey)
			return false;
		offset = (uint32_t)psn_diff(psn, read->psn) * mtu;
		assert(offset <= read->len);
		here = read->len - offset;
		if (va != read->va + offset)
			return false;
		if (left <= here)
			return true;
		/* Another READ holds the rest, if this one ends with a full packet. */
		if (here == 0 || here % mtu)
			return false;
		psn = psn_add(psn, here / mtu);
		va += here;
		left -= here;
	} while (left > 0);
	return true;
}

/* A duplicate may request the rest of a READ, never more than was requested. Its key is checked
 * again. */
static void replay_read(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet)
{
	const struct reth *reth = &packet->reth;
	struct rc_answer answer = {
		.kind = RC_ANSWER_READ,
		.is_duplicate = true,
		.psn = packet->bth.psn,
		.msn = qp->rc.resp.msn,
		.pd = qp->pd,
		.rkey = reth->rkey,
		.len = reth->len,
		.va = reth->va,
	};
	struct rxe_span at;
	struct rxe_srq *srq;

	if (qp->type == RXE_QPT_XRC_RECV &&
	    rxe_xrc_find(engine, qp->xrcd, packet->xrc_srqn, &srq, &answer.pd) != RC_FAULT_NONE)
		return;
	if (reth->len > RXE_MAX_MSG_SIZE || !(qp->attr.qp_access_flags & RXE_REMOTE_READ))
		return;
	answer.packets = rc_packets(reth->len, qp->attr.path_mtu);
	if (psn_diff(psn_add(answer.psn, answer.packets), qp->attr.rq_psn) > 0)
		return;
	if (covers(&qp->rc.reads, answer.psn, reth, qp->attr.path_mtu) &&
	    rxe_reach(engine, (struct rxe_key_user){ answer.pd, qp->qpn }, reth->rkey,
		      RXE_REMOTE_READ, reth->va, reth->len, &at) == MR_OK)
		rc_reply_push(&qp->rc.reply, &answer);
}

void rc_responder_duplicate(struct rxe_engine *engine, struct rxe_qp *qp,
			    const struct wire_packet *packet)
{
	assert(psn_diff(packet->bth.psn, qp->attr.rq_psn) < 0);
	engine->cfg.counters->duplicate_request++;
	rc_reply_duplicate_arrived(&qp->rc.reply);
	if (packet->shape & SHAPE_ANSWERED) {
		if (rc_reply_is_queued(&qp->rc.reply, packet->bth.psn))
			return;
		if (packet->shape & SHAPE_READ)
			replay_read(engine, qp, packet);
		else
			replay_saved(qp, packet);
	} else {
		rc_reply_ack(&qp->rc.reply);
	}
	rxe_qp_set_ready(engine, qp);
}
