/* SPDX-License-Identifier: MIT */
/* Answering for queue pairs that have gone. Looked into only when a packet finds no QP, so it may be slow; and what it says may be
 * another process's, dead or hostile, so each entry is copied before it is judged. */
#include "emu/rc/time_wait.h"

#include <string.h>

#include "emu/counters.h"
#include "emu/emit.h"
#include "emu/engine.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/rc/nak.h"
#include "emu/rc/requester_retry.h"
#include "emu/rc/responder_reply.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

/* A peer waits up to four times as long as its timeout says (IBTA 9.7.6.1.3). Its timer is not known, so it is taken for ours. */
#define PEER_PATIENCE 4u

static uint32_t used(const struct rxe_time_wait_table *table)
{
	uint32_t count = atomic_load_explicit(&table->count, memory_order_relaxed);

	return count < RXE_MAX_TIME_WAIT ? count : RXE_MAX_TIME_WAIT;
}

static uint32_t qpn_of(const struct rxe_time_wait *gone)
{
	/* Pairs with the release in rxe_time_wait_note, where another process was the writer. */
	return atomic_load_explicit(&gone->qpn, memory_order_acquire);
}

/* Where it stands in the table; RXE_MAX_TIME_WAIT: it does not. */
static uint32_t find(const struct rxe_time_wait_table *table, uint32_t qpn)
{
	uint32_t i, n = used(table);

	for (i = 0; i < n; i++) {
		if (qpn_of(&table->at[i]) == qpn)
			return i;
	}
	return RXE_MAX_TIME_WAIT;
}

static uint64_t patience_ns(const struct rxe_qp_attr *attr)
{
	uint64_t timeout_ns = rc_timeout_ns(attr->timeout), ns;

	if (timeout_ns > RXE_TIME_WAIT_MAX_NS)
		return RXE_TIME_WAIT_MAX_NS;
	ns = PEER_PATIENCE * timeout_ns * (attr->retry_cnt + 1u);
	if (ns < RXE_TIME_WAIT_MIN_NS)
		return RXE_TIME_WAIT_MIN_NS;
	return ns < RXE_TIME_WAIT_MAX_NS ? ns : RXE_TIME_WAIT_MAX_NS;
}

/* A QP that was about to refuse a request for good goes in error, as one does that has done so. */
static bool is_worth_it(const struct rxe_qp *qp)
{
	if (!rxe_qp_is_reliable(qp) || rc_reply_is_fatal(&qp->rc.reply))
		return false;
	switch (qp->state) {
	case RXE_QPS_RTR:
	case RXE_QPS_RTS:
	case RXE_QPS_SQD: return qp->attr.rq_psn != qp->first_rq_psn;
	case RXE_QPS_RESET:
	case RXE_QPS_INIT:
	case RXE_QPS_SQE:
	case RXE_QPS_ERR: return false;
	}
	return false;
}

void rxe_time_wait_note(struct rxe_engine *engine, const struct rxe_qp *qp)
{
	struct rxe_time_wait_table *table = engine->cfg.gone;
	struct rxe_time_wait *gone;
	uint32_t place;

	if (!table || !is_worth_it(qp))
		return;
	place = find(table, qp->qpn);
	if (place == RXE_MAX_TIME_WAIT)
		place = atomic_fetch_add_explicit(&table->count, 1, memory_order_relaxed) %
			RXE_MAX_TIME_WAIT;
	gone = &table->at[place];
	atomic_exchange(&gone->qpn, 0); /* what follows stays behind it */
	gone->dest_qpn = qp->attr.dest_qp_num;
	gone->psn = qp->attr.rq_psn;
	gone->msn = qp->rc.resp.msn;
	gone->until_ns = engine->now_ns + patience_ns(&qp->attr);
	gone->src = qp->flow.src;
	gone->dst = qp->flow.dst;
	gone->flow_label = qp->attr.av.flow_label;
	gone->traffic_class = qp->attr.av.traffic_class;
	gone->hop_limit = qp->attr.av.hop_limit;
	gone->is_xrc = qp->type == RXE_QPT_XRC_RECV;
	gone->replay = qp->rc.replay;
	atomic_store_explicit(&gone->qpn, qp->qpn, memory_order_release);
}

void rxe_time_wait_forget(struct rxe_engine *engine, uint32_t qpn)
{
	struct rxe_time_wait_table *table = engine->cfg.gone;
	uint32_t place = table ? find(table, qpn) : RXE_MAX_TIME_WAIT;

	if (place < RXE_MAX_TIME_WAIT)
		atomic_store(&table->at[place].qpn, 0);
}

bool rxe_time_wait_is_known(const struct rxe_engine *engine, uint32_t qpn)
{
	const struct rxe_time_wait_table *table = engine->cfg.gone;
	uint32_t place = table ? find(table, qpn) : RXE_MAX_TIME_WAIT;

	return place < RXE_MAX_TIME_WAIT && table->at[place].until_ns > engine->now_ns;
}

uint64_t rxe_time_wait_until(const struct rxe_time_wait_table *table)
{
	uint32_t i, n = used(table);
	uint64_t until_ns = 0;

	for (i = 0; i < n; i++) {
		if (qpn_of(&table->at[i]) && table->at[i].until_ns > until_ns)
			until_ns = table->at[i].until_ns;
	}
	return until_ns;
}

uint32_t rxe_time_wait_connected_to(const struct rxe_time_wait_table *table, const struct gid *peer,
				    uint32_t dest_qpn)
{
	uint32_t i, n = used(table);

	for (i = 0; i < n; i++) {
		const struct rxe_time_wait *gone = &table->at[i];

		if (gone->dest_qpn == dest_qpn && gid_equal(&gone->dst, peer) && qpn_of(gone))
			return qpn_of(gone);
	}
	return 0;
}

/* As input.c asks of a QP that is there: connected to whoever this comes from; and it is not too late. */
static bool is_for(const struct rxe_time_wait *gone, const struct wire_arrival *arrival,
		   uint64_t now_ns)
{
	return now_ns < gone->until_ns && gid_equal(&arrival->src, &gone->dst) &&
	       gid_equal(&arrival->dst, &gone->src);
}

static void push(struct rxe_time_wait_answers *answers, const struct rxe_time_wait_answer *answer)
{
	uint32_t i;

	/* One ACK answers all requests that arrived together. */
	for (i = answers->head; i != answers->tail && !answer->is_atomic; i++) {
		const struct rxe_time_wait_answer *other = &answers->at[i % RXE_TIME_WAIT_ANSWERS];

		if (!other->is_atomic && other->dest_qpn == answer->dest_qpn &&
		    gid_equal(&other->dst, &answer->dst))
			return;
	}
	if (answers->tail - answers->head < RXE_TIME_WAIT_ANSWERS)
		answers->at[answers->tail++ % RXE_TIME_WAIT_ANSWERS] = *answer;
}

bool rxe_time_wait_input(struct rxe_engine *engine, const struct wire_packet *packet,
			 const struct wire_arrival *arrival, uint64_t now_ns)
{
	const struct rxe_time_wait_table *table = engine->cfg.gone;
	uint32_t place = table ? find(table, packet->bth.dest_qpn) : RXE_MAX_TIME_WAIT;
	struct rxe_time_wait_answer answer = { 0 };
	struct rxe_time_wait gone;

	if (place == RXE_MAX_TIME_WAIT || !(packet->shape & SHAPE_REQUEST) ||
	    (packet->shape & SHAPE_READ))
		return false;
	memcpy(&gone, &table->at[place], sizeof(gone));
	if (opcode_service(packet->bth.opcode) != (gone.is_xrc ? WIRE_XRC : WIRE_RC))
		return false;
	if (!is_for(&gone, arrival, now_ns) || psn_diff(packet->bth.psn, gone.psn) >= 0)
		return false;
	answer.is_atomic = packet->shape & SHAPE_ATOMIC;
	answer.is_xrc = gone.is_xrc;
	answer.psn = answer.is_atomic ? packet->bth.psn : psn_add(gone.psn, PSN_MASK);
	if (answer.is_atomic && !rc_replay_find(&gone.replay, answer.psn, &answer.orig))
		return false;
	answer.msn = gone.msn & PSN_MASK;
	answer.dest_qpn = gone.dest_qpn & QPN_MASK;
	answer.src = gone.src;
	answer.dst = gone.dst;
	answer.flow_label = gone.flow_label & 0xfffffu;
	answer.traffic_class = gone.traffic_class;
	answer.hop_limit = gone.hop_limit;
	engine->cfg.counters->duplicate_request++;
	push(&engine->gone, &answer);
	return true;
}

static void emit(struct rxe_engine *engine, struct wire_train *train,
		 const struct rxe_time_wait_answer *answer)
{
	const uint8_t tx_index = rxe_tx_index(engine, &answer->dst, answer->dest_qpn);
	const struct rxe_av av = { .traffic_class = answer->traffic_class,
				   .hop_limit = answer->hop_limit,
				   .flow_label = answer->flow_label };
	const struct icrc_flow flow = { .src = answer->src,
					.dst = answer->dst,
					.src_port = engine->cfg.tx_ports[tx_index] };
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(answer->is_xrc ? WIRE_XRC : WIRE_RC,
					       answer->is_atomic ? OP_ATOMIC_ACK : OP_ACKNOWLEDGE),
			 .mig_req = true,
			 .pkey = 0xffff,
			 .dest_qpn = answer->dest_qpn,
			 .psn = answer->psn },
		.aeth = { .syndrome = RC_ACK_NO_CREDITS, .msn = answer->msn },
		.atomic_orig = answer->orig,
	};
	struct rxe_emit emit;

	rxe_train_take(engine, train, &flow, tx_index, &av, answer->dest_qpn);
	if (rxe_emit_start(&emit, train, &packet))
		rxe_emit_finish(engine, &emit, &flow);
}

bool rxe_time_wait_output(struct rxe_engine *engine, struct wire_train *train)
{
	struct rxe_time_wait_answers *answers = &engine->gone;

	if (answers->head == answers->tail)
		return false;
	emit(engine, train, &answers->at[answers->head++ % RXE_TIME_WAIT_ANSWERS]);
	return true;
}
