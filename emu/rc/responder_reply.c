/* SPDX-License-Identifier: MIT */
/* Responses are sent (IBTA 9.7.5). The bytes of a READ are fetched when its packet is made,
 * straight into the train: a later WRITE without a fence may be visible in them (table 79 allows
 * that). */
#include "emu/rc/responder_reply.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/emit.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/rc/requester.h"
#include "emu/rc/requester_retry.h"
#include "emu/rc/responder.h"
#include "emu/rc/time_wait.h"
#include "emu/sge.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

/* ACKs in a row that a request followed closely before one is delayed: at first, and at most after
 * delays in vain. */
#define PIGGYBACKS_INITIAL 4
#define PIGGYBACKS_MAX	   1024

#define DEFERRED_RNR_TIMER 14 /* 1.28 ms */

void rc_reply_reset(struct rc_reply *reply)
{
	memset(reply, 0, offsetof(struct rc_reply, answer));
	reply->threshold = PIGGYBACKS_INITIAL;
	reply->resume_ns = RXE_NEVER;
	reply->ack_delay_until_ns = RXE_NEVER;
}

static struct rc_answer *at(struct rc_reply *reply, uint32_t index)
{
	return &reply->answer[index % RC_MAX_ANSWERS];
}

/* The count of responses that the answer is one of, NULL for those to duplicates. */
static uint32_t *count_of(struct rc_reply *reply, const struct rc_answer *answer)
{
	if (answer->is_duplicate)
		return NULL;
	return answer->kind == RC_ANSWER_FLUSH ? &reply->num_flushes : &reply->num_new;
}

bool rc_reply_push(struct rc_reply *reply, const struct rc_answer *answer)
{
	uint32_t duplicates = reply->tail - reply->head - reply->num_new - reply->num_flushes;
	uint32_t *count = count_of(reply, answer);

	if ((count ? *count : duplicates) >= RXE_MAX_RD_ATOMIC)
		return false;
	assert(reply->tail - reply->head < RC_MAX_ANSWERS);
	*at(reply, reply->tail++) = *answer;
	if (count)
		++*count;
	return true;
}

static void pop(struct rc_reply *reply)
{
	uint32_t *count = count_of(reply, at(reply, reply->head));

	assert(reply->head != reply->tail && (!count || *count > 0));
	if (count)
		--*count;
	if (++reply->head == reply->tail)
		reply->head = reply->tail = 0;
	reply->burst = 0;
}

bool rc_reply_has_many_flushes(const struct rc_reply *reply)
{
	return reply->num_flushes >= RXE_MAX_RD_ATOMIC;
}

bool rc_reply_is_flushing(const struct rc_reply *reply)
{
	for (uint32_t i = reply->num_flushes ? reply->head : reply->tail; i != reply->tail; i++) {
		const struct rc_answer *answer = &reply->answer[i % RC_MAX_ANSWERS];

		if (answer->kind == RC_ANSWER_FLUSH && !answer->is_carried_out)
			return true;
	}
	return false;
}

void rc_reply_ack(struct rc_reply *reply)
{
	reply->ack_delay_until_ns = RXE_NEVER;
	if (reply->pending == RC_PENDING_NONE)
		reply->pending = RC_PENDING_ACK;
}

void rc_reply_include_ack(struct rc_reply *reply)
{
	if (reply->pending == RC_PENDING_ACK)
		reply->pending = RC_PENDING_NONE;
	reply->is_unasked = false;
}

bool rc_reply_may_delay_ack(const struct rc_reply *reply)
{
	return reply->pending == RC_PENDING_NONE && reply->ack_delay_ns &&
	       reply->piggybacks >= reply->threshold;
}

void rc_reply_ack_delayed(struct rc_reply *reply, uint64_t now_ns)
{
	if (!rc_reply_may_delay_ack(reply)) {
		rc_reply_ack(reply);
		return;
	}
	reply->pending = RC_PENDING_ACK;
	reply->ack_delay_until_ns = now_ns + reply->ack_delay_ns;
}

/* An ACK that is pending covers this message as well, and its record is brought up to date. Without
 * a record, or after a response that waits, the ACK is sent as if it had been asked for. */
bool rc_reply_leave_ack(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_reply *reply = &qp->rc.reply;

	if (reply->head != reply->tail || (reply->pending != RC_PENDING_NONE && !reply->ack_record))
		return false;
	if (!rxe_time_wait_leave_ack(engine, qp))
		return false;
	reply->is_unasked = true;
	return true;
}

static void raise_threshold(struct rc_reply *reply, uint32_t factor)
{
	uint32_t needed = reply->threshold * factor;

	reply->piggybacks = 0;
	reply->threshold = (uint16_t)(needed < PIGGYBACKS_MAX ? needed : PIGGYBACKS_MAX);
}

/* A delayed ACK was piggybacked: earlier delays in vain are forgiven step by step. */
static void lower_threshold(struct rc_reply *reply)
{
	reply->threshold = (uint16_t)(reply->threshold - reply->threshold / 16);
	if (reply->threshold > PIGGYBACKS_INITIAL && reply->threshold < 16)
		reply->threshold--;
}

void rc_reply_duplicate_arrived(struct rc_reply *reply)
{
	/* Else no ACK was delayed: the requester had not asked for one. */
	if (!reply->is_unasked)
		raise_threshold(reply, 8);
}

void rc_reply_nak(struct rc_reply *reply, enum rc_fault fault, uint32_t psn)
{
	if (reply->pending != RC_PENDING_NAK)
		reply->nak_implies_ack = reply->pending == RC_PENDING_ACK;
	reply->pending = RC_PENDING_NAK;
	reply->fault = fault;
	reply->nak_psn = psn;
}

void rc_reply_withdraw_nak(struct rc_reply *reply)
{
	if (reply->pending == RC_PENDING_NAK)
		reply->pending = reply->nak_implies_ack ? RC_PENDING_ACK : RC_PENDING_NONE;
}

bool rc_reply_is_queued(const struct rc_reply *reply, uint32_t psn)
{
	for (uint32_t i = reply->head; i != reply->tail; i++) {
		const struct rc_answer *answer = &reply->answer[i % RC_MAX_ANSWERS];
		int32_t from = psn_diff(psn, psn_add(answer->psn, answer->sent));

		if (from >= 0 && (uint32_t)from < answer->packets - answer->sent)
			return true;
	}
	return false;
}

static void describe(const struct rxe_qp *qp, enum wire_op op, uint32_t psn, uint8_t syndrome,
		     uint32_t msn, struct wire_packet *ret)
{
	ret->bth = (struct bth){
		.opcode = opcode_make(rxe_qp_service(qp), op),
		.mig_req = rxe_qp_mig_req(qp),
		.pkey = 0xffff,
		.dest_qpn = qp->attr.dest_qp_num,
		.psn = psn,
	};
	ret->aeth = (struct aeth){ .syndrome = syndrome, .msn = msn };
	ret->payload_len = 0;
}

static bool emit(struct rxe_engine *engine, const struct rxe_qp *qp, struct wire_train *train,
		 struct wire_packet *packet)
{
	struct rxe_emit emit;

	if (!rxe_emit_start(&emit, train, packet))
		return false;
	rxe_emit_finish(engine, &emit, &qp->flow);
	return true;
}

static enum send_result send_read(struct rxe_engine *engine, struct rxe_qp *qp,
				  struct wire_train *train, const struct rc_answer *answer)
{
	/* by [first][last] */
	static const uint8_t ops[2][2] = { { OP_READ_RESP_MIDDLE, OP_READ_RESP_LAST },
					   { OP_READ_RESP_FIRST, OP_READ_RESP_ONLY } };
	bool first = answer->sent == 0;
	bool last = answer->sent == answer->packets - 1;
	uint32_t offset = answer->sent * qp->attr.path_mtu;
	struct wire_packet packet;
	struct rxe_emit emit;
	enum mr_check result;

	describe(qp, (enum wire_op)ops[first][last], psn_add(answer->psn, answer->sent), AETH_ACK,
		 answer->msn, &packet);
	packet.payload_len = last ? answer->len - offset : qp->attr.path_mtu;
	assert(answer->sent < answer->packets && offset <= answer->len);
	if (!rxe_emit_start(&emit, train, &packet))
		return SEND_TRAIN_FULL;
	result = rxe_remote_read(engine, (struct rxe_key_user){ answer->pd, qp->qpn }, answer->rkey,
				 answer->va + offset, emit.payload, packet.payload_len);
	if (result == MR_OK)
		qp->rc.reply.burst += packet.payload_len;
	return rxe_emit_end(engine, &emit, &qp->flow, result);
}

/* The result of an atomic, or a READ response without payload, as rdma_rxe sends it. */
static enum send_result send_result(struct rxe_engine *engine, struct rxe_qp *qp,
				    struct wire_train *train, const struct rc_answer *answer)
{
	const bool is_atomic = answer->kind == RC_ANSWER_ATOMIC;
	struct wire_packet packet;

	describe(qp, is_atomic ? OP_ATOMIC_ACK : OP_READ_RESP_ONLY, answer->psn, AETH_ACK,
		 answer->msn, &packet);
	packet.atomic_orig = answer->orig;
	return emit(engine, qp, train, &packet) ? SEND_OK : SEND_TRAIN_FULL;
}

/* A FLUSH that was not carried out at once is tried again. Until it is, a duplicate gets no
 * response. */
static enum mr_check carry_out(struct rxe_engine *engine, struct rxe_qp *qp,
			       struct rc_answer *answer)
{
	enum mr_check result =
		rxe_remote_flush(engine, (struct rxe_key_user){ answer->pd, qp->qpn }, answer->rkey,
				 &answer->feth, answer->va, answer->len, &answer->ticket);

	answer->is_carried_out = result == MR_OK;
	if (answer->is_carried_out)
		rc_replay_save(&qp->rc.replay, RC_REPLAY_EMPTY, answer->psn, 0);
	return result;
}

static enum send_result send_flush(struct rxe_engine *engine, struct rxe_qp *qp,
				   struct wire_train *train, struct rc_answer *answer)
{
	enum mr_check result = answer->is_carried_out ? MR_OK : carry_out(engine, qp, answer);

	if (result == MR_OK)
		return send_result(engine, qp, train, answer);
	return result == MR_DEFERRED ? SEND_DEFERRED : SEND_FAILED;
}

static enum send_result send_answer(struct rxe_engine *engine, struct rxe_qp *qp,
				    struct wire_train *train, struct rc_answer *answer)
{
	switch (answer->kind) {
	case RC_ANSWER_READ: return send_read(engine, qp, train, answer);
	case RC_ANSWER_FLUSH: return send_flush(engine, qp, train, answer);
	case RC_ANSWER_ATOMIC:
	case RC_ANSWER_EMPTY: return send_result(engine, qp, train, answer);
	}
	return SEND_FAILED;
}

/* A READ longer than one of ours pauses between bursts. */
static bool is_paused(struct rc_reply *reply, uint64_t now_ns)
{
	if (reply->resume_ns != RXE_NEVER && now_ns < reply->resume_ns)
		return true;
	reply->resume_ns = RXE_NEVER;
	if (reply->burst < RC_READ_BURST)
		return false;
	reply->burst = 0;
	reply->resume_ns = now_ns + RC_READ_PAUSE_NS;
	return true;
}

/* The memory became inaccessible before the response was sent: the other responses are dropped.
 * A response to a duplicate just ends: the peer may have the first response and have deregistered
 * the region. */
static void answer_failed(struct rxe_qp *qp, const struct rc_answer *answer)
{
	struct rc_reply *reply = &qp->rc.reply;
	struct rc_responder *resp = &qp->rc.resp;
	uint32_t psn = psn_add(answer->psn, answer->sent);

	if (answer->is_duplicate) {
		pop(reply);
		return;
	}
	if (answer->kind == RC_ANSWER_READ)
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_REMOTE_READ, RXE_WC_LOC_ACCESS_ERR, 0);
	/* For diagnosis. */
	resp->pd = answer->pd;
	resp->rkey = answer->rkey;
	resp->va = answer->va;
	resp->len = answer->len;
	reply->head = reply->tail = 0;
	reply->num_new = 0;
	reply->num_flushes = 0;
	rc_reply_nak(reply, RC_FAULT_KEY, psn);
}

/* Its last packet was sent. */
static void answered(struct rxe_qp *qp, const struct rc_answer *answer)
{
	if (answer->kind == RC_ANSWER_READ && !answer->is_duplicate)
		rxe_comp_cntr_add(&qp->cntrs, RXE_CNTR_REMOTE_READ, RXE_WC_SUCCESS, answer->len);
	pop(&qp->rc.reply);
}

static enum output_result output_answers(struct rxe_engine *engine, struct rxe_qp *qp,
					 struct wire_train *train)
{
	struct rc_reply *reply = &qp->rc.reply;

	while (reply->head != reply->tail && !is_paused(reply, engine->now_ns)) {
		struct rc_answer *answer = at(reply, reply->head);

		switch (send_answer(engine, qp, train, answer)) {
		case SEND_OK:
			if (++answer->sent == answer->packets)
				answered(qp, answer);
			break;
		case SEND_TRAIN_FULL: return OUTPUT_TRAIN_FULL;
		case SEND_DEFERRED:
			reply->resume_ns = engine->now_ns + engine->defer_ns;
			return OUTPUT_IDLE;
		case SEND_NO_CREDITS:
		case SEND_FAILED: answer_failed(qp, answer); break;
		}
	}
	return OUTPUT_IDLE;
}

/* The fatal NAK is in the train: the QP enters ERR. */
static void enter_error(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rc_nak *nak = rc_nak_for(qp->rc.reply.fault);
	const struct rxe_recv_done done = {
		.status = qp->claim.injected != RXE_WC_SUCCESS ? qp->claim.injected
							       : nak->recv_status,
		.opcode = RXE_WC_RECV,
	};
	bool completes = qp->claim.held && nak->recv_status != RXE_WC_SUCCESS;

	assert(nak->is_fatal && qp->state != RXE_QPS_ERR);
	rxe_report_failed(engine, qp, RXE_FAILED_RESPONSE,
			  qp->claim.held ? done.status : RXE_WC_SUCCESS);
	if (completes)
		rxe_complete_recv(engine, qp, &done);
	rxe_qp_fail(engine, qp, RXE_WC_SUCCESS);
	if (nak->has_event && !completes)
		rxe_raise(engine, qp, nak->event);
}

/* By an ACK, a NAK, or the last response. */
static void all_acknowledged(struct rxe_engine *engine, struct rxe_qp *qp)
{
	qp->rc.reply.is_unasked = false;
	if (qp->rc.reply.ack_record)
		rxe_time_wait_ack_emitted(engine, qp);
}

/* Memory that is not ready does not become ready sooner by a retry every 10 us. */
static uint8_t rnr_timer_for(const struct rxe_qp *qp, enum rc_fault fault)
{
	uint8_t code = qp->attr.min_rnr_timer;

	if (fault == RC_FAULT_DEFERRED &&
	    rc_rnr_timer_ns(code) < rc_rnr_timer_ns(DEFERRED_RNR_TIMER))
		return DEFERRED_RNR_TIMER;
	return code;
}

static enum output_result output_nak(struct rxe_engine *engine, struct rxe_qp *qp,
				     struct wire_train *train)
{
	struct rc_reply *reply = &qp->rc.reply;
	const struct rc_nak *nak = rc_nak_for(reply->fault);
	uint8_t syndrome = nak->syndrome;
	struct wire_packet packet;

	assert(reply->pending == RC_PENDING_NAK);
	if (syndrome == AETH_RNR_NAK)
		syndrome |= rnr_timer_for(qp, reply->fault);
	describe(qp, OP_ACKNOWLEDGE, reply->nak_psn, syndrome, qp->rc.resp.msn, &packet);
	if (!emit(engine, qp, train, &packet))
		return OUTPUT_TRAIN_FULL;
	reply->pending = RC_PENDING_NONE;
	all_acknowledged(engine, qp);
	if (nak->is_fatal)
		enter_error(engine, qp);
	return OUTPUT_IDLE;
}

static bool send_ack(struct rxe_engine *engine, struct rxe_qp *qp, struct wire_train *train)
{
	struct rc_reply *reply = &qp->rc.reply;
	struct wire_packet packet;

	assert(reply->pending == RC_PENDING_ACK && reply->head == reply->tail);
	describe(qp, OP_ACKNOWLEDGE, psn_add(qp->attr.rq_psn, PSN_MASK), AETH_ACK, qp->rc.resp.msn,
		 &packet);
	if (!emit(engine, qp, train, &packet))
		return false;
	reply->pending = RC_PENDING_NONE;
	reply->is_overdue = false;
	reply->ack_delay_until_ns = RXE_NEVER;
	all_acknowledged(engine, qp);
	return true;
}

enum output_result rc_reply_output(struct rxe_engine *engine, struct rxe_qp *qp,
				   struct wire_train *train)
{
	struct rc_reply *reply = &qp->rc.reply;
	enum output_result result = output_answers(engine, qp, train);

	if (result != OUTPUT_IDLE || reply->head != reply->tail)
		return result;
	switch (reply->pending) {
	case RC_PENDING_NONE:
		if (!reply->is_unasked)
			all_acknowledged(engine, qp);
		return OUTPUT_IDLE;
	case RC_PENDING_NAK: return output_nak(engine, qp, train);
	case RC_PENDING_ACK:
		/* After a long response an ACK would come late: the local program sees its
		 * request complete before the peer has the ACK. */
		if (rc_reply_ack_may_piggyback(reply, train) &&
		    !(reply->ack_record && rc_requester_is_long(qp)))
			return OUTPUT_IDLE;
		return send_ack(engine, qp, train) ? OUTPUT_IDLE : OUTPUT_TRAIN_FULL;
	}
	return OUTPUT_IDLE;
}

bool rc_reply_ack_may_piggyback(const struct rc_reply *reply, const struct wire_train *train)
{
	return reply->pending == RC_PENDING_ACK && reply->head == reply->tail &&
	       !reply->is_overdue && train->max_segs > 1;
}

/* Learns whether requests follow ACKs: in the same train, or soon after the ACK was sent. */
static void count_piggyback(struct rc_reply *reply, uint32_t requests, bool acks, uint64_t now_ns)
{
	if (requests > 0 && (acks || now_ns - reply->last_ack_ns < reply->ack_delay_ns)) {
		if (reply->piggybacks < PIGGYBACKS_MAX)
			reply->piggybacks++;
		if (acks && reply->ack_delay_until_ns != RXE_NEVER)
			lower_threshold(reply);
	} else if (acks && reply->ack_delay_until_ns != RXE_NEVER) {
		raise_threshold(reply, 2); /* delayed in vain */
	}
	if (acks)
		reply->last_ack_ns = now_ns;
}

static bool delays_ack(const struct rc_reply *reply, uint64_t now_ns)
{
	return reply->ack_delay_until_ns != RXE_NEVER && now_ns < reply->ack_delay_until_ns;
}

enum output_result rc_reply_output_ack(struct rxe_engine *engine, struct rxe_qp *qp,
				       struct wire_train *train, uint32_t requests)
{
	struct rc_reply *reply = &qp->rc.reply;
	bool acks = rc_reply_ack_may_piggyback(reply, train) &&
		    (requests > 0 || !delays_ack(reply, engine->now_ns));

	if (reply->ack_delay_ns)
		count_piggyback(reply, requests, acks, engine->now_ns);
	if (!acks || send_ack(engine, qp, train))
		return OUTPUT_IDLE;
	reply->is_overdue = true;
	return OUTPUT_TRAIN_FULL;
}

/* An ACK follows the responses: while one of them pauses, the end of the delay has no effect. */
uint64_t rc_reply_next_ns(const struct rc_reply *reply)
{
	if (reply->resume_ns != RXE_NEVER)
		return reply->resume_ns;
	return reply->pending == RC_PENDING_ACK ? reply->ack_delay_until_ns : RXE_NEVER;
}
