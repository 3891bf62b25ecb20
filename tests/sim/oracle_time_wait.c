/* SPDX-License-Identifier: MIT */
/* Destroyed QPs. A duplicate of what one has received is answered at once, each time, as the QP
 * would have answered; nothing else is answered, and nothing is executed a second time. What is
 * expected follows from the model's requests, not from the engine's records. */
#include "net/wire/opcode.h"
#include "tests/sim/oracle.h"

#define TOO_LATE_NS (RXE_TIME_WAIT_MAX_NS + 1000000000ull)

static struct oracle_time_wait *at(struct oracle *o, uint32_t number)
{
	return &o->time_wait[number % ORACLE_MAX_TIME_WAIT];
}

static uint32_t oldest(const struct oracle *o)
{
	return o->num_time_wait < ORACLE_MAX_TIME_WAIT ? 0
						       : o->num_time_wait - ORACLE_MAX_TIME_WAIT;
}

/* The newest QP of that number on the node. */
static struct oracle_time_wait *find(struct oracle *o, const struct node *node, uint32_t qpn)
{
	uint32_t i;

	for (i = o->num_time_wait; i > oldest(o); i--) {
		struct oracle_time_wait *record = at(o, i - 1);

		if (record->node == node && record->qpn == qpn)
			return record;
	}
	return NULL;
}

bool oracle_is_receiving(const struct rxe_qp *qp)
{
	return qp->state == RXE_QPS_RTR || qp->state == RXE_QPS_RTS || qp->state == RXE_QPS_SQD;
}

void oracle_time_wait_note(struct oracle *o, const struct party *party)
{
	const struct rxe_qp *qp = &party->end->qp;
	const struct party *from = party->peer;
	struct oracle_time_wait *record = at(o, o->num_time_wait++);
	uint32_t i;

	*record = (struct oracle_time_wait){ .node = party->end->node,
					     .peer = from->end,
					     .qpn = qp->qpn,
					     .dest_qpn = qp->attr.dest_qp_num,
					     .psn = qp->attr.rq_psn,
					     .left_ns = o->w->now_ns,
					     .is_xrc = oracle_is_target(party),
					     .is_forged = party->is_forged };
	record->answers = oracle_is_reliable(party) && oracle_is_receiving(qp) &&
			  qp->attr.rq_psn != from->first_psn && !rc_reply_is_fatal(&qp->rc.reply);
	for (i = 0; i < from->num_ops; i++) {
		const struct op *op = &from->ops[i];
		uint32_t place = record->num_atomics % RXE_MAX_RD_ATOMIC;

		if (!oracle_is_answered(op) || op->opcode == RXE_WR_RDMA_READ)
			continue;
		if (psn_diff(op->psn_last, record->psn) >= 0)
			continue;
		record->atomic[place].psn = op->psn_last;
		record->atomic[place].is_atomic = oracle_uses_slot(op);
		record->atomic[place].is_open = op->opcode == RXE_WR_FLUSH && !op->answer_sent;
		record->atomic[place].orig = op->orig;
		record->num_atomics++;
	}
}

/* The place of the packet's request in the record; RXE_MAX_RD_ATOMIC: it has none. */
static uint32_t find_atomic(const struct oracle_time_wait *record, const struct wire_packet *packet)
{
	uint32_t i = 0;

	while (i < RXE_MAX_RD_ATOMIC &&
	       (i >= record->num_atomics || record->atomic[i].psn != packet->bth.psn ||
		record->atomic[i].is_atomic != !!(packet->shape & SHAPE_ATOMIC)))
		i++;
	return i;
}

static bool is_open(const struct oracle_time_wait *record, const struct wire_packet *packet)
{
	const uint32_t place = find_atomic(record, packet);

	return (packet->shape & SHAPE_ANSWERED) && place < RXE_MAX_RD_ATOMIC &&
	       record->atomic[place].is_open;
}

static bool must_answer(const struct oracle *o, const struct oracle_time_wait *record,
			const struct wire_packet *packet)
{
	enum wire_service service = record->is_xrc ? WIRE_XRC : WIRE_RC;

	return record->answers && (packet->shape & SHAPE_REQUEST) &&
	       !(packet->shape & SHAPE_READ) && opcode_service(packet->bth.opcode) == service &&
	       psn_diff(packet->bth.psn, record->psn) < 0 &&
	       o->w->now_ns < record->left_ns + RXE_TIME_WAIT_MIN_NS &&
	       (!(packet->shape & SHAPE_ANSWERED) ||
		find_atomic(record, packet) < RXE_MAX_RD_ATOMIC);
}

/* Answers of a host that wait to be sent: their number is bounded. */
static uint32_t num_due(const struct oracle *o, const struct node *node)
{
	uint32_t i, ret = 0;

	for (i = oldest(o); i < o->num_time_wait; i++) {
		const struct oracle_time_wait *record = &o->time_wait[i % ORACLE_MAX_TIME_WAIT];

		if (record->node == node)
			ret += record->ack_due + record->atomics_due;
	}
	return ret;
}

void oracle_time_wait_arrives(struct oracle *o, const struct node *node,
			      const struct wire_packet *packet)
{
	struct oracle_time_wait *record = find(o, node, packet->bth.dest_qpn);

	o->seen[node->index].is_for_time_wait = record && must_answer(o, record, packet);
}

/* saw_write() checks that no memory changes. */
void oracle_time_wait_arrived(struct oracle *o, const struct node *node,
			      const struct wire_packet *packet)
{
	const struct sightings *seen = &o->seen[node->index];
	bool answers = node->counters.duplicate_request != seen->before.duplicate_request;
	struct oracle_time_wait *record = find(o, node, packet->bth.dest_qpn);

	if (record && record->is_forged)
		return;
	if (answers != seen->is_for_time_wait && (answers || !is_open(record, packet)))
		oracle_fail(o, "node %u: %s %u for a destroyed QP is %s", node->index,
			    trace_op(packet), packet->bth.psn,
			    answers ? "answered" : "not answered");
	if (!answers || num_due(o, node) >= RXE_TIME_WAIT_ANSWERS)
		return;
	if (packet->shape & SHAPE_ANSWERED)
		record->atomics_due++;
	else
		record->ack_due = true;
}

static bool is_right(struct oracle_time_wait *record, const struct wire_packet *packet)
{
	uint32_t place;

	if (opcode_service(packet->bth.opcode) != (record->is_xrc ? WIRE_XRC : WIRE_RC) ||
	    rc_syndrome_class(packet->aeth.syndrome) != RC_AETH_ACK)
		return false;
	if (packet->shape & (SHAPE_ATOMIC | SHAPE_READ)) {
		place = find_atomic(record, packet);
		if (record->atomics_due == 0 || place == RXE_MAX_RD_ATOMIC)
			return false;
		record->atomics_due--;
		return packet->payload_len == 0 &&
		       (!(packet->shape & SHAPE_ATOMIC) ||
			record->atomic[place].orig == packet->atomic_orig);
	}
	if (!(packet->shape & SHAPE_ACK) || !record->ack_due)
		return false;
	record->ack_due = false;
	return packet->bth.psn == psn_add(record->psn, PSN_MASK);
}

void oracle_time_wait_answered(struct oracle *o, const struct node *node,
			       const struct wire_packet *packet)
{
	uint32_t i;

	for (i = o->num_time_wait; i > oldest(o); i--) {
		struct oracle_time_wait *record = at(o, i - 1);

		if (record->node == node && record->dest_qpn == packet->bth.dest_qpn &&
		    (record->is_forged || is_right(record, packet)))
			return;
	}
	oracle_fail(o, "node %u: %s %u leaves for a destroyed QP without a duplicate of it",
		    node->index, trace_op(packet), packet->bth.psn);
}

void oracle_time_wait_check(const struct oracle *o)
{
	uint32_t i;

	for (i = oldest(o); i < o->num_time_wait; i++) {
		const struct oracle_time_wait *record = &o->time_wait[i % ORACLE_MAX_TIME_WAIT];

		if (!record->node->asleep_until_ns && (record->ack_due || record->atomics_due))
			oracle_fail(o, "node %u: nobody answered for destroyed QP 0x%x",
				    record->node->index, record->qpn);
	}
}

/* A duplicate of the last packet received, as a SEND: its ACK means as much as that packet's
 * own. */
static void ask_again(struct oracle *o, struct party *party)
{
	static const uint8_t payload[8];
	const struct end *end = party->peer->end;
	const struct oracle_time_wait *record = find(o, end->node, end->qp.qpn);
	enum wire_service service = oracle_is_target(party->peer) ? WIRE_XRC : WIRE_RC;
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(service, OP_SEND_ONLY),
			 .psn = record ? psn_add(record->psn, PSN_MASK) : 0,
			 .ack_req = true },
		.payload_len = sizeof(payload),
	};

	if (party->end->qp.state == RXE_QPS_RTS)
		world_inject(o->w, party->end, &packet, payload);
}

static void ask_all(struct oracle *o)
{
	uint32_t i;

	for (i = 0; i < o->num_parties; i++) {
		struct party *party = &o->party[i];

		if (party->peer->has_left && !party->has_left && oracle_is_reliable(party))
			ask_again(o, party);
	}
	world_run_until(o->w, (double)o->w->now_ns / 1000 + 1000);
}

void oracle_time_wait_final(struct oracle *o)
{
	ask_all(o);
	world_run_until(o->w, (double)(o->w->now_ns + TOO_LATE_NS) / 1000);
	ask_all(o);
}
