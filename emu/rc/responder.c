/* SPDX-License-Identifier: MIT */
/* The responder first compares a request's PSN (IBTA 9.7.4.1.1): expected, duplicate, or ahead. */
#include "emu/rc/responder.h"

#include <assert.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/qp.h"
#include "emu/rc/nak.h"
#include "emu/rc/responder_duplicate.h"
#include "emu/rc/responder_hold.h"
#include "emu/rc/responder_reply.h"
#include "emu/rc/time_wait.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

/* A request further ahead than this is not held: no window is as large. */
#define HOLD_PSNS 4096

/* One NAK for each gap. A requester that rewinds resends packets that were dropped here. If one at
 * or before the packet that showed the gap arrives and the expected one does not, the expected one
 * was lost again: a new gap. */
static void gap_shown(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t psn)
{
	struct rc_responder *resp = &qp->rc.resp;

	if (resp->gap == RC_GAP_NAK_SENT && psn_diff(psn, resp->gap_psn) > 0)
		return;
	resp->gap = RC_GAP_NAK_SENT;
	resp->gap_psn = psn;
	rc_reply_nak(&qp->rc.reply, RC_FAULT_PSN_GAP, qp->attr.rq_psn);
	rxe_qp_set_ready(engine, qp);
}

static void too_far(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	const uint32_t psn = packet->bth.psn;

	engine->cfg.counters->out_of_seq_request++;
	if (qp->rc.resp.gap == RC_GAP_RNR_SENT)
		return;
	if (psn_diff(psn, qp->attr.rq_psn) < HOLD_PSNS)
		rc_hold_add(&engine->hold, &qp->rc.hold, packet);
	gap_shown(engine, qp, psn);
}

static void count_refused(const struct rxe_qp *qp, const struct wire_packet *packet)
{
	if (packet->shape & SHAPE_WRITE)
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_REMOTE_WRITE, RXE_WC_LOC_ACCESS_ERR, 0);
	else if (packet->shape & SHAPE_READ)
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_REMOTE_READ, RXE_WC_LOC_ACCESS_ERR, 0);
}

/* The requester resends everything after a request that was not ready. The packet may be one of
 * those held. */
static void refuse(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet,
		   enum rc_fault fault)
{
	if (rc_nak_for(fault)->is_fatal)
		count_refused(qp, packet);
	if (fault == RC_FAULT_RNR || fault == RC_FAULT_DEFERRED) {
		engine->cfg.counters->send_rnr_err++;
		qp->rc.resp.gap = RC_GAP_RNR_SENT;
	}
	rc_hold_clear(&engine->hold, &qp->rc.hold);
	rc_reply_nak(&qp->rc.reply, fault, qp->attr.rq_psn);
	rxe_qp_set_ready(engine, qp);
}

/* The ACK of a single-packet message may wait if the message completes nothing here, or if the
 * ACK is recorded. */
static bool may_wait(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	if (!(packet->shape & SHAPE_FIRST) || !(packet->shape & SHAPE_LAST))
		return false;
	if ((packet->shape & SHAPE_WRITE) && !(packet->shape & SHAPE_IMM))
		return true;
	return rc_reply_may_delay_ack(&qp->rc.reply) && rxe_time_wait_delay_ack(engine, qp);
}

/* The requester asks for the ACK later, and this process may be killed before. */
static void not_asked(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (rc_reply_leave_ack(engine, qp))
		return;
	rc_reply_ack(&qp->rc.reply);
	rxe_qp_set_ready(engine, qp);
}

/* False: the request was refused. */
static bool expected(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	struct rc_reply *reply = &qp->rc.reply;
	uint32_t psns;
	enum rc_fault fault = rc_responder_execute(engine, qp, packet, &psns);

	if (fault != RC_FAULT_NONE) {
		refuse(engine, qp, packet, fault);
		return false;
	}
	assert(psns > 0);
	qp->rc.resp.gap = RC_GAP_NONE;
	rc_reply_withdraw_nak(reply);
	qp->attr.rq_psn = psn_add(qp->attr.rq_psn, psns);
	if (packet->shape & SHAPE_ANSWERED) {
		rc_reply_include_ack(reply);
		rxe_qp_set_ready(engine, qp);
		return true;
	}
	if (!packet->bth.ack_req) {
		if ((packet->shape & SHAPE_LAST) && qp->type == RXE_QPT_RC)
			not_asked(engine, qp);
		return true;
	}
	if (reply->pending == RC_PENDING_ACK)
		engine->cfg.counters->ack_deferred++;
	if (may_wait(engine, qp, packet))
		rc_reply_ack_delayed(reply, engine->now_ns);
	else
		rc_reply_ack(reply);
	/* An ACK that is delayed leaves by the timer, or with the next request. */
	if (reply->ack_delay_until_ns == RXE_NEVER || rc_requester_has_output(qp))
		rxe_qp_set_ready(engine, qp);
	return true;
}

/* Executes the held requests that follow the packet which has just arrived. A requester that
 * resends may cut a READ into more parts than before. A held READ beyond the READs that the queue
 * pair may have outstanding is therefore dropped, with all held requests after it. What stays held
 * shows the next gap. asked: the packet that arrived asked for a response, so its requester resends
 * one packet and waits for news. A requester that resends everything gets none: its next packets
 * may close the gap. */
static void resume(struct rxe_engine *engine, struct rxe_qp *qp, bool asked)
{
	struct rc_hold *hold = &qp->rc.hold;
	const struct wire_packet *packet;

	while ((packet = rc_hold_at(&engine->hold, hold, qp->attr.rq_psn))) {
		if ((packet->shape & SHAPE_ANSWERED) && rc_responder_has_too_many(qp)) {
			rc_hold_clear(&engine->hold, hold);
			return;
		}
		if (!expected(engine, qp, packet))
			return;
	}
	if (hold->count > 0 && asked)
		gap_shown(engine, qp, rc_hold_first_psn(&engine->hold, hold));
}

void rc_responder_input(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet)
{
	int32_t ahead = psn_diff(packet->bth.psn, qp->attr.rq_psn);

	if (rc_reply_is_fatal(&qp->rc.reply))
		return;
	if (ahead > 0)
		too_far(engine, qp, packet);
	else if (ahead < 0)
		rc_responder_duplicate(engine, qp, packet);
	else if (expected(engine, qp, packet) && qp->rc.hold.count > 0)
		resume(engine, qp, packet->bth.ack_req);
}
