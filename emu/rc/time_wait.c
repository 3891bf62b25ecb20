/* SPDX-License-Identifier: MIT */
/* TIME_WAIT records: written when a queue pair is destroyed, searched only when a packet finds no queue pair, so a linear search
 * is fast enough. Another process, dead or hostile, may have written the table: each record is copied before it is checked. */
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

/* A peer may wait up to four times its timeout (IBTA 9.7.6.1.3). The peer's timeout is unknown; ours stands for it. */
#define PEER_TIMEOUT_FACTOR 4u

static uint32_t used(const struct rxe_time_wait_table *table)
{
	uint32_t count = atomic_load_explicit(&table->count, memory_order_relaxed);

	return count < RXE_MAX_TIME_WAIT ? count : RXE_MAX_TIME_WAIT;
}

static uint32_t qpn_of(const struct rxe_time_wait *record)
{
	/* Pairs with the release in rxe_time_wait_note, where another process was the writer. */
	return atomic_load_explicit(&record->qpn, memory_order_acquire);
}

/* The record's index; RXE_MAX_TIME_WAIT: there is none. */
static uint32_t find(const struct rxe_time_wait_table *table, uint32_t qpn)
{
	uint32_t i, n = used(table);

	for (i = 0; i < n; i++) {
		if (qpn_of(&table->at[i]) == qpn)
			return i;
	}
	return RXE_MAX_TIME_WAIT;
}

static uint64_t duration_ns(const struct rxe_qp_attr *attr)
{
	uint64_t timeout_ns = rc_timeout_ns(attr->timeout), ns;

	if (timeout_ns > RXE_TIME_WAIT_MAX_NS)
		return RXE_TIME_WAIT_MAX_NS;
	ns = PEER_TIMEOUT_FACTOR * timeout_ns * (attr->retry_cnt + 1u);
	if (ns < RXE_TIME_WAIT_MIN_NS)
		return RXE_TIME_WAIT_MIN_NS;
	return ns < RXE_TIME_WAIT_MAX_NS ? ns : RXE_TIME_WAIT_MAX_NS;
}

/* Only a queue pair that has received something answers. One with a fatal NAK pending counts as in error. */
static bool needs_record(const struct rxe_qp *qp)
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
	struct rxe_time_wait_table *table = engine->cfg.time_wait;
	struct rxe_time_wait *record;
	uint32_t place;

	if (!table || !needs_record(qp))
		return;
	place = find(table, qp->qpn);
	if (place == RXE_MAX_TIME_WAIT)
		place = atomic_fetch_add_explicit(&table->count, 1, memory_order_relaxed) %
			RXE_MAX_TIME_WAIT;
	record = &table->at[place];
	atomic_exchange(&record->qpn, 0); /* orders the stores below after this one */
	record->dest_qpn = qp->attr.dest_qp_num;
	record->psn = qp->attr.rq_psn;
	record->msn = qp->rc.resp.msn;
	record->until_ns = engine->now_ns + duration_ns(&qp->attr);
	record->src = qp->flow.src;
	record->dst = qp->flow.dst;
	record->flow_label = qp->attr.av.flow_label;
	record->traffic_class = qp->attr.av.traffic_class;
	record->hop_limit = qp->attr.av.hop_limit;
	record->is_xrc = qp->type == RXE_QPT_XRC_RECV;
	record->replay = qp->rc.replay;
	atomic_store_explicit(&record->qpn, qp->qpn, memory_order_release);
}

void rxe_time_wait_forget(struct rxe_engine *engine, uint32_t qpn)
{
	struct rxe_time_wait_table *table = engine->cfg.time_wait;
	uint32_t place = table ? find(table, qpn) : RXE_MAX_TIME_WAIT;

	if (place < RXE_MAX_TIME_WAIT)
		atomic_store(&table->at[place].qpn, 0);
}

bool rxe_time_wait_is_known(const struct rxe_engine *engine, uint32_t qpn)
{
	const struct rxe_time_wait_table *table = engine->cfg.time_wait;
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
		const struct rxe_time_wait *record = &table->at[i];

		if (record->dest_qpn == dest_qpn && gid_equal(&record->dst, peer) && qpn_of(record))
			return qpn_of(record);
	}
	return 0;
}

/* The same check as in input.c for a queue pair that exists, and TIME_WAIT has not ended. */
static bool is_for(const struct rxe_time_wait *record, const struct wire_arrival *arrival,
		   uint64_t now_ns)
{
	return now_ns < record->until_ns && gid_equal(&arrival->src, &record->dst) &&
	       gid_equal(&arrival->dst, &record->src);
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
	const struct rxe_time_wait_table *table = engine->cfg.time_wait;
	uint32_t place = table ? find(table, packet->bth.dest_qpn) : RXE_MAX_TIME_WAIT;
	struct rxe_time_wait_answer answer = { 0 };
	struct rxe_time_wait record;

	if (place == RXE_MAX_TIME_WAIT || !(packet->shape & SHAPE_REQUEST) ||
	    (packet->shape & SHAPE_READ))
		return false;
	memcpy(&record, &table->at[place], sizeof(record));
	if (opcode_service(packet->bth.opcode) != (record.is_xrc ? WIRE_XRC : WIRE_RC))
		return false;
	if (!is_for(&record, arrival, now_ns) || psn_diff(packet->bth.psn, record.psn) >= 0)
		return false;
	answer.is_atomic = packet->shape & SHAPE_ATOMIC;
	answer.is_xrc = record.is_xrc;
	answer.psn = answer.is_atomic ? packet->bth.psn : psn_add(record.psn, PSN_MASK);
	if (answer.is_atomic && !rc_replay_find(&record.replay, answer.psn, &answer.orig))
		return false;
	answer.msn = record.msn & PSN_MASK;
	answer.dest_qpn = record.dest_qpn & QPN_MASK;
	answer.src = record.src;
	answer.dst = record.dst;
	answer.flow_label = record.flow_label & 0xfffffu;
	answer.traffic_class = record.traffic_class;
	answer.hop_limit = record.hop_limit;
	engine->cfg.counters->duplicate_request++;
	push(&engine->time_wait, &answer);
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
		.aeth = { .syndrome = AETH_ACK, .msn = answer->msn },
		.atomic_orig = answer->orig,
	};
	struct rxe_emit emit;

	rxe_train_take(engine, train, &flow, tx_index, &av, answer->dest_qpn);
	if (rxe_emit_start(&emit, train, &packet))
		rxe_emit_finish(engine, &emit, &flow);
}

bool rxe_time_wait_output(struct rxe_engine *engine, struct wire_train *train)
{
	struct rxe_time_wait_answers *answers = &engine->time_wait;

	if (answers->head == answers->tail)
		return false;
	emit(engine, train, &answers->at[answers->head++ % RXE_TIME_WAIT_ANSWERS]);
	return true;
}
