/* SPDX-License-Identifier: MIT */
/* TIME_WAIT records: written when a queue pair is destroyed or delays an ACK, searched only when a
 * packet finds no queue pair, so a linear search is fast enough. Another process, dead or hostile,
 * may have written the table: each record is copied before it is checked. */
#include "emu/rc/time_wait.h"

#include <assert.h>
#include <string.h>

#include "emu/emit.h"
#include "emu/engine.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/rc/requester_retry.h"
#include "emu/rc/responder_reply.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

/* A peer may wait up to four times its timeout (IBTA 9.7.6.1.3). The peer's timeout is unknown;
 * ours stands for it. */
#define PEER_TIMEOUT_FACTOR 4u

#define FEW_DELAYED ((1u << RXE_FEW_DELAYED_ACKS) - 1)
#define ALL_DELAYED UINT32_MAX

static uint32_t used(const struct rxe_time_wait_table *table)
{
	uint32_t count = atomic_load_explicit(&table->count, memory_order_relaxed);

	return count < RXE_MAX_TIME_WAIT ? count : RXE_MAX_TIME_WAIT;
}

static uint32_t qpn_of(const struct rxe_time_wait *record)
{
	/* Pairs with the releases in write_record and rxe_time_wait_trains_sent, in the process
	 * that had the slot. */
	return atomic_load_explicit(&record->qpn, memory_order_acquire);
}

/* The record's index; RXE_MAX_TIME_WAIT: there is none. */
static uint32_t find(const struct rxe_time_wait_table *table, uint32_t qpn)
{
	uint32_t n = used(table);

	for (uint32_t i = 0; i < n; i++) {
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

/* Only a queue pair that has received something answers. One with a fatal NAK pending counts as in
 * error. */
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

/* Once it has migrated, the other path is the one before; else its alternate one. */
static struct icrc_flow other_path(const struct rxe_qp *qp)
{
	const struct rxe_migration *migration = &qp->migration;

	if (migration->has_before)
		return migration->before;
	return migration->is_loaded ? migration->alt : (struct icrc_flow){ .src_port = 0 };
}

/* One store: the process may be killed at any instruction. */
static void write_received(struct rxe_time_wait *record, const struct rxe_qp *qp)
{
	const struct rxe_time_wait now = { .psn = qp->attr.rq_psn, .msn = qp->rc.resp.msn };

	atomic_store_explicit(&record->received, now.received, memory_order_release);
}

/* record: of the engine's table. */
static void write_record(const struct rxe_engine *engine, struct rxe_time_wait *record,
			 const struct rxe_qp *qp)
{
	const struct icrc_flow other = other_path(qp);

	assert(qp->qpn != 0 && rxe_qp_is_reliable(qp));
	/* Empty until all of it is written: the process may be killed at any instruction. The
	 * fence orders the stores below after this one; pairs with the acquire in qpn_of. */
	atomic_store_explicit(&record->qpn, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	record->dest_qpn = qp->attr.dest_qp_num;
	write_received(record, qp);
	record->until_ns = engine->now_ns + duration_ns(&qp->attr);
	record->src = qp->flow.src;
	record->dst = qp->flow.dst;
	record->other_src = other.src;
	record->other_dst = other.dst;
	record->flow_label = qp->attr.av.flow_label;
	record->traffic_class = qp->attr.av.traffic_class;
	record->hop_limit = qp->attr.av.hop_limit;
	record->is_xrc = qp->type == RXE_QPT_XRC_RECV;
	record->is_armed = !rxe_qp_mig_req(qp);
	rc_replay_copy(rxe_time_wait_replay(engine->cfg.time_wait, record), &qp->rc.replay);
	atomic_store_explicit(&record->qpn, qp->qpn, memory_order_release);
}

static uint32_t newest_place(struct rxe_time_wait_table *table)
{
	return atomic_fetch_add_explicit(&table->count, 1, memory_order_relaxed) %
	       RXE_MAX_TIME_WAIT;
}

void rxe_time_wait_note(struct rxe_engine *engine, const struct rxe_qp *qp)
{
	struct rxe_time_wait_table *table = engine->cfg.time_wait;
	uint32_t place;

	if (!table || !needs_record(qp))
		return;
	place = find(table, qp->qpn);
	if (place == RXE_MAX_TIME_WAIT)
		place = newest_place(table);
	write_record(engine, &table->at[place], qp);
}

/* A record is never written again while its ACK may be needed. So none is made while the link has
 * not taken the ACKs emitted before. */
static bool may_record(const struct rxe_engine *engine)
{
	return engine->cfg.time_wait && !engine->delayed_acks.emitted;
}

static void record(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t place)
{
	assert(place < RXE_MAX_DELAYED_ACKS);
	write_record(engine, &engine->cfg.time_wait->delayed[place], qp);
	engine->delayed_acks.recorded |= 1u << place;
	qp->rc.reply.ack_record = place + 1;
}

static void bring_up_to_date(struct rxe_engine *engine, const struct rxe_qp *qp)
{
	write_received(&engine->cfg.time_wait->delayed[qp->rc.reply.ack_record - 1], qp);
}

bool rxe_time_wait_delay_ack(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rxe_delayed_acks *acks = &engine->delayed_acks;
	const uint32_t unused = (acks->are_many ? ALL_DELAYED : FEW_DELAYED) & ~acks->recorded;

	if (qp->rc.reply.ack_record) {
		if (qp->rc.reply.is_unasked)
			bring_up_to_date(engine, qp);
		return qp->rc.reply.is_unasked;
	}
	if (!may_record(engine) || !unused)
		return false;
	record(engine, qp, (uint32_t)__builtin_ctz(unused));
	return true;
}

/* From the other end of the table: the ACKs that are delayed come and go, and find their few places
 * unused. */
bool rxe_time_wait_leave_ack(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const uint32_t unused = ~engine->delayed_acks.recorded;

	if (qp->rc.reply.ack_record) {
		bring_up_to_date(engine, qp);
		return true;
	}
	if (!may_record(engine) || !unused)
		return false;
	record(engine, qp, RXE_MAX_DELAYED_ACKS - 1 - (uint32_t)__builtin_clz(unused));
	return true;
}

const struct rxe_time_wait_table *rxe_time_wait_of_peer(const struct rxe_engine *engine,
							const struct rxe_qp *qp)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;

	return ops->time_wait_of ? ops->time_wait_of(engine->cfg.host, &qp->flow.dst,
						     qp->attr.dest_qp_num >> RXE_SLOT_SHIFT)
				 : NULL;
}

bool rxe_time_wait_received(const struct rxe_engine *engine, const struct rxe_qp *qp,
			    uint32_t *ret_psn)
{
	const struct rxe_time_wait_table *table = rxe_time_wait_of_peer(engine, qp);

	for (uint32_t i = 0; table && i < RXE_MAX_DELAYED_ACKS; i++) {
		const struct rxe_time_wait *record = &table->delayed[i];
		struct rxe_time_wait now;

		if (qpn_of(record) != qp->attr.dest_qp_num)
			continue;
		atomic_init(&now.received, atomic_load(&record->received));
		/* It was not written again meanwhile. */
		if (record->dest_qpn != qp->qpn || qpn_of(record) != qp->attr.dest_qp_num)
			return false;
		*ret_psn = now.psn & PSN_MASK;
		return true;
	}
	return false;
}

void rxe_time_wait_ack_emitted(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_reply *reply = &qp->rc.reply;

	assert(reply->ack_record);
	assert(engine->delayed_acks.recorded & 1u << (reply->ack_record - 1));
	engine->delayed_acks.emitted |= 1u << (reply->ack_record - 1);
	reply->ack_record = 0;
}

void rxe_time_wait_trains_sent(struct rxe_engine *engine)
{
	struct rxe_delayed_acks *acks = &engine->delayed_acks;

	assert((acks->emitted & ~acks->recorded) == 0);
	for (; acks->emitted; acks->emitted &= acks->emitted - 1) {
		const uint32_t place = (uint32_t)__builtin_ctz(acks->emitted);

		/* Pairs with the acquire in qpn_of. */
		atomic_store_explicit(&engine->cfg.time_wait->delayed[place].qpn, 0,
				      memory_order_release);
		acks->recorded &= ~(1u << place);
	}
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

static uint64_t latest(uint64_t until_ns, const struct rxe_time_wait *record)
{
	return qpn_of(record) && record->until_ns > until_ns ? record->until_ns : until_ns;
}

uint64_t rxe_time_wait_until(const struct rxe_time_wait_table *table)
{
	uint32_t n = used(table);
	uint64_t until_ns = 0;

	for (uint32_t i = 0; i < n; i++)
		until_ns = latest(until_ns, &table->at[i]);
	for (uint32_t i = 0; i < RXE_MAX_DELAYED_ACKS; i++)
		until_ns = latest(until_ns, &table->delayed[i]);
	return until_ns;
}

uint32_t rxe_time_wait_connected_to(const struct rxe_time_wait_table *table, const struct gid *peer,
				    uint32_t dest_qpn)
{
	uint32_t n = used(table);

	for (uint32_t i = 0; i < n; i++) {
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
	return now_ns < record->until_ns && ((gid_equal(&arrival->src, &record->dst) &&
					      gid_equal(&arrival->dst, &record->src)) ||
					     (gid_equal(&arrival->src, &record->other_dst) &&
					      gid_equal(&arrival->dst, &record->other_src)));
}

static void push(struct rxe_time_wait_answers *answers, const struct rxe_time_wait_answer *answer)
{
	/* One ACK answers all requests that arrived together. */
	for (uint32_t i = answers->head; i != answers->tail && answer->op == OP_ACKNOWLEDGE; i++) {
		const struct rxe_time_wait_answer *other = &answers->at[i % RXE_TIME_WAIT_ANSWERS];

		if (other->op == OP_ACKNOWLEDGE && other->dest_qpn == answer->dest_qpn &&
		    gid_equal(&other->dst, &answer->dst))
			return;
	}
	assert(answers->tail - answers->head <= RXE_TIME_WAIT_ANSWERS);
	if (answers->tail - answers->head < RXE_TIME_WAIT_ANSWERS)
		answers->at[answers->tail++ % RXE_TIME_WAIT_ANSWERS] = *answer;
}

/* An ACK of everything that the queue pair has received. */
static struct rxe_time_wait_answer ack_of(const struct rxe_time_wait *record)
{
	return (struct rxe_time_wait_answer){
		.src = record->src,
		.dst = record->dst,
		.flow_label = record->flow_label & 0xfffffu,
		.traffic_class = record->traffic_class,
		.hop_limit = record->hop_limit,
		.is_xrc = record->is_xrc,
		.is_armed = record->is_armed,
		.op = OP_ACKNOWLEDGE,
		.dest_qpn = record->dest_qpn & QPN_MASK,
		.psn = psn_add(record->psn, PSN_MASK),
		.msn = record->msn & PSN_MASK,
	};
}

/* Whether the record's queue pair had executed the request. */
static bool find_result(struct rxe_time_wait_table *table, uint32_t place, enum rc_replay_kind kind,
			uint32_t psn, uint64_t *ret_orig)
{
	struct rc_replay replay;

	memcpy(&replay, rxe_time_wait_replay(table, &table->at[place]), sizeof(replay));
	return rc_replay_find(&replay, kind, psn, ret_orig);
}

bool rxe_time_wait_input(struct rxe_engine *engine, const struct wire_packet *packet,
			 const struct wire_arrival *arrival)
{
	struct rxe_time_wait_table *table = engine->cfg.time_wait;
	uint32_t place = table ? find(table, packet->bth.dest_qpn) : RXE_MAX_TIME_WAIT;
	struct rxe_time_wait_answer answer;
	struct rxe_time_wait record;

	if (place == RXE_MAX_TIME_WAIT || !(packet->shape & SHAPE_REQUEST) ||
	    (packet->shape & SHAPE_READ))
		return false;
	memcpy(&record, &table->at[place], sizeof(record));
	if (opcode_service(packet->bth.opcode) != (record.is_xrc ? WIRE_XRC : WIRE_RC))
		return false;
	if (!is_for(&record, arrival, engine->now_ns) || psn_diff(packet->bth.psn, record.psn) >= 0)
		return false;
	answer = ack_of(&record);
	/* The answer takes the path of the request. */
	answer.src = arrival->dst;
	answer.dst = arrival->src;
	if (packet->shape & SHAPE_ANSWERED) {
		const enum rc_replay_kind kind = rc_replay_kind(packet->shape);

		answer.op = kind == RC_REPLAY_ATOMIC ? OP_ATOMIC_ACK : OP_READ_RESP_ONLY;
		answer.psn = packet->bth.psn;
		if (!find_result(table, place, kind, answer.psn, &answer.orig))
			return false;
	}
	engine->cfg.counters->duplicate_request++;
	push(&engine->time_wait, &answer);
	return true;
}

/* No packet of the peer has shown the addresses to be right. */
static bool may_send(const struct rxe_engine *engine, const struct rxe_time_wait *record)
{
	return gid_equal(&record->src, &engine->cfg.gids[0]) && engine->now_ns < record->until_ns &&
	       !gid_is_multicast(&record->dst) &&
	       gid_is_v4(&record->src) == gid_is_v4(&record->dst);
}

static void adopt(struct rxe_engine *engine, const struct rxe_time_wait *delayed)
{
	struct rxe_time_wait_table *table = engine->cfg.time_wait;
	uint32_t place = find(table, qpn_of(delayed));
	struct rxe_time_wait_answer ack;
	struct rxe_time_wait record;

	/* A record that was written when the process exited is the newer one. */
	memcpy(&record, place < RXE_MAX_TIME_WAIT ? &table->at[place] : delayed, sizeof(record));
	if (!may_send(engine, &record))
		return;
	if (place == RXE_MAX_TIME_WAIT) {
		place = newest_place(table);
		memcpy(rxe_time_wait_replay(table, &table->at[place]),
		       rxe_time_wait_replay(table, delayed), sizeof(struct rc_replay));
		memcpy(&table->at[place], &record, sizeof(record));
	}
	ack = ack_of(&record);
	push(&engine->time_wait, &ack);
}

void rxe_time_wait_adopt_delayed(struct rxe_engine *engine, uint64_t now_ns)
{
	struct rxe_time_wait *delayed = engine->cfg.time_wait->delayed;

	assert(engine->num_qp == 0);
	engine->now_ns = now_ns;
	for (uint32_t i = 0; i < RXE_MAX_DELAYED_ACKS; i++) {
		if (qpn_of(&delayed[i]))
			adopt(engine, &delayed[i]);
		atomic_store(&delayed[i].qpn, 0);
	}
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
		.bth = { .opcode = opcode_make(answer->is_xrc ? WIRE_XRC : WIRE_RC, answer->op),
			 .mig_req = !answer->is_armed,
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
