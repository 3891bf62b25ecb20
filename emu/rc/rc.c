/* SPDX-License-Identifier: MIT */
/* Dispatch of reliable connections (IBTA 9.7) and XRC, whose queue pairs have one half each (annex
 * A14).
 *
 *
 *   requests   -> responder.c -> responder_execute.c, responder_duplicate.c -> responder_reply.c
 *   responses  -> requester_complete.c -> requester_retry.c when one is missing
 *   send queue -> requester.c, requester_resend.c for single packets */
#include "emu/rc/rc.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/min.h"
#include "emu/qp.h"
#include "emu/rc/requester.h"
#include "emu/rc/time_wait.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

static void reset_responder(struct rxe_rc *rc)
{
	rc->resp = (struct rc_responder){ .message = RC_MESSAGE_NONE };
	rc->replay.count = 0;
	rc->reads.count = 0;
	rc_reply_reset(&rc->reply);
}

void rc_reset(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (qp->rc.reply.ack_record)
		rxe_time_wait_ack_emitted(engine, qp);
	rc_requester_stop(qp);
	qp->rc.req = (struct rc_requester){ 0 };
	rc_retry_reset(&qp->rc.retry);
	rc_hold_clear(&engine->hold, &qp->rc.hold);
	reset_responder(&qp->rc);
}

void rc_became_rtr(struct rxe_engine *engine, struct rxe_qp *qp)
{
	reset_responder(&qp->rc);
	/* An XRC target sends no requests that an ACK could be piggybacked on. */
	qp->rc.reply.ack_delay_ns = qp->type == RXE_QPT_RC ? engine->cfg.ack_delay_ns : 0;
}

void rc_became_rts(struct rxe_engine *engine, struct rxe_qp *qp)
{
	rc_retry_reset(&qp->rc.retry);
	qp->rc.retry.probe_after_ns = qp->rc.retry.probe_max_ns = engine->cfg.probe_ns;
	rc_requester_start(engine, qp);
}

void rc_became_err(struct rxe_engine *engine, struct rxe_qp *qp)
{
	rc_hold_clear(&engine->hold, &qp->rc.hold);
	rc_requester_stop(qp);
}

static bool requests(const struct rxe_qp *qp)
{
	return qp->state == RXE_QPS_RTS || qp->state == RXE_QPS_SQD;
}

static bool responds(const struct rxe_qp *qp)
{
	return qp->state == RXE_QPS_RTR || requests(qp);
}

/* The timer only moves to an earlier time. When it fires early it is set again: cheaper than
 * setting it for each packet. */
static void set_timer(struct rxe_engine *engine, struct rxe_qp *qp)
{
	uint64_t next = min_u64(rc_retry_next_ns(&qp->rc.retry), rc_reply_next_ns(&qp->rc.reply));

	if (!responds(qp))
		return;
	next = min_u64(next, qp->rate.resume_ns);
	if (next < qp->timer.deadline_ns)
		rxe_qp_set_deadline(engine, qp, next);
}

void rc_input(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	if (packet->shape & SHAPE_REQUEST)
		rc_responder_input(engine, qp, packet);
	else if (requests(qp))
		rc_requester_input(engine, qp, packet);
	set_timer(engine, qp);
}

/* Responses first. A lone ACK follows the requests of the same train, if there are any: the peer
 * then receives one train instead of two. One place in the train is kept for the ACK. */
static enum output_result output(struct rxe_engine *engine, struct rxe_qp *qp,
				 struct wire_train *train)
{
	enum output_result result = rc_reply_output(engine, qp, train);
	uint16_t kept, before;

	if (result != OUTPUT_IDLE || !responds(qp))
		return result;
	kept = rc_reply_ack_may_piggyback(&qp->rc.reply, train) ? 1 : 0;
	before = train->segs;
	assert(kept < train->max_segs);
	train->max_segs = (uint16_t)(train->max_segs - kept);
	result = rc_resend_output(engine, qp, train);
	if (result == OUTPUT_IDLE)
		result = rc_requester_output(engine, qp, train);
	/* A local operation may have made a probe due. */
	if (result == OUTPUT_IDLE && qp->rc.req.probe == RC_PROBE_DUE)
		result = rc_resend_output(engine, qp, train);
	train->max_segs = (uint16_t)(train->max_segs + kept);
	assert(train->segs <= train->max_segs);
	if (rc_reply_output_ack(engine, qp, train, (uint32_t)(train->segs - before)) != OUTPUT_IDLE)
		return OUTPUT_TRAIN_FULL;
	return result;
}

enum output_result rc_output(struct rxe_engine *engine, struct rxe_qp *qp, struct wire_train *train)
{
	const uint64_t ack_ns = qp->rc.reply.ack_delay_until_ns;
	enum output_result result;

	if (!responds(qp))
		return OUTPUT_IDLE;
	result = output(engine, qp, train);
	/* A poller that sleeps would wake up for an ACK that has left. */
	if (qp->timer.deadline_ns == ack_ns && qp->rc.reply.ack_delay_until_ns != ack_ns)
		rxe_qp_set_deadline(engine, qp, RXE_NEVER);
	set_timer(engine, qp);
	return result;
}

void rc_expired(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (!responds(qp))
		return;
	qp->rate.resume_ns = RXE_NEVER;
	if (requests(qp))
		rc_requester_expired(engine, qp);
	if (responds(qp))
		rxe_qp_set_ready(engine, qp);
	set_timer(engine, qp);
}
