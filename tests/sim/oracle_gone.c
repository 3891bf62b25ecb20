/* SPDX-License-Identifier: MIT */
/* QPs that have gone, and what is said for them afterwards: a peer that asks again for what was received is answered, each time, at
 * once, as the QP would have answered; anything else is not, and nothing is carried out a second time. What is expected follows from
 * the model's requests, not from what the engine wrote down. */
#include "net/wire/opcode.h"
#include "tests/sim/oracle.h"

#define TOO_LATE_NS (RXE_TIME_WAIT_MAX_NS + 1000000000ull)

static struct oracle_gone *at(struct oracle *o, uint32_t number)
{
	return &o->gone[number % ORACLE_MAX_GONE];
}

static uint32_t oldest(const struct oracle *o)
{
	return o->num_gone < ORACLE_MAX_GONE ? 0 : o->num_gone - ORACLE_MAX_GONE;
}

/* The newest of that number, here or there. */
static struct oracle_gone *find(struct oracle *o, const struct node *node, uint32_t qpn)
{
	uint32_t i;

	for (i = o->num_gone; i > oldest(o); i--) {
		struct oracle_gone *gone = at(o, i - 1);

		if (gone->node == node && gone->qpn == qpn)
			return gone;
	}
	return NULL;
}

static bool is_in_touch(const struct rxe_qp *qp)
{
	return qp->state == RXE_QPS_RTR || qp->state == RXE_QPS_RTS || qp->state == RXE_QPS_SQD;
}

void oracle_gone_note(struct oracle *o, const struct party *party)
{
	const struct rxe_qp *qp = &party->end->qp;
	const struct party *from = party->peer;
	struct oracle_gone *gone = at(o, o->num_gone++);
	uint32_t i;

	*gone = (struct oracle_gone){ .node = party->end->node,
				      .peer = from->end,
				      .qpn = qp->qpn,
				      .dest_qpn = qp->attr.dest_qp_num,
				      .psn = qp->attr.rq_psn,
				      .left_ns = o->w->now_ns,
				      .is_xrc = oracle_is_target(party),
				      .is_forged = party->is_forged };
	gone->answers = oracle_is_reliable(party) && is_in_touch(qp) &&
			qp->attr.rq_psn != from->first_psn && !rc_reply_is_fatal(&qp->rc.reply);
	for (i = 0; i < from->num_ops; i++) {
		const struct op *op = &from->ops[i];
		uint32_t place = gone->num_atomics % RXE_MAX_RD_ATOMIC;

		if (op->opcode != RXE_WR_ATOMIC_CMP_AND_SWP &&
		    op->opcode != RXE_WR_ATOMIC_FETCH_AND_ADD)
			continue;
		if (psn_diff(op->psn_last, gone->psn) >= 0)
			continue;
		gone->atomic[place].psn = op->psn_last;
		gone->atomic[place].orig = op->orig;
		gone->num_atomics++;
	}
}

static bool find_atomic(const struct oracle_gone *gone, uint32_t psn, uint64_t *ret_orig)
{
	uint32_t i;

	for (i = 0; i < gone->num_atomics && i < RXE_MAX_RD_ATOMIC; i++) {
		if (gone->atomic[i].psn == psn) {
			*ret_orig = gone->atomic[i].orig;
			return true;
		}
	}
	return false;
}

static bool must_answer(const struct oracle *o, const struct oracle_gone *gone,
			const struct wire_packet *packet)
{
	enum wire_service service = gone->is_xrc ? WIRE_XRC : WIRE_RC;
	uint64_t orig;

	return gone->answers && (packet->shape & SHAPE_REQUEST) && !(packet->shape & SHAPE_READ) &&
	       opcode_service(packet->bth.opcode) == service &&
	       psn_diff(packet->bth.psn, gone->psn) < 0 &&
	       o->w->now_ns < gone->left_ns + RXE_TIME_WAIT_MIN_NS &&
	       (!(packet->shape & SHAPE_ATOMIC) || find_atomic(gone, packet->bth.psn, &orig));
}

/* Answers that wait to leave a host: their number is bounded. */
static uint32_t owed(const struct oracle *o, const struct node *node)
{
	uint32_t i, ret = 0;

	for (i = oldest(o); i < o->num_gone; i++) {
		const struct oracle_gone *gone = &o->gone[i % ORACLE_MAX_GONE];

		if (gone->node == node)
			ret += gone->owes_ack + gone->owed_atomics;
	}
	return ret;
}

void oracle_gone_arrives(struct oracle *o, const struct node *node,
			 const struct wire_packet *packet)
{
	struct oracle_gone *gone = find(o, node, packet->bth.dest_qpn);

	o->seen[node->index].is_for_gone = gone && must_answer(o, gone, packet);
}

/* Memory has no part in it: see saw_write(), and the words in the end. */
void oracle_gone_arrived(struct oracle *o, const struct node *node,
			 const struct wire_packet *packet)
{
	const struct sightings *seen = &o->seen[node->index];
	bool answers = node->counters.duplicate_request != seen->before.duplicate_request;
	struct oracle_gone *gone = find(o, node, packet->bth.dest_qpn);

	if (gone && gone->is_forged)
		return;
	if (answers != seen->is_for_gone)
		oracle_fail(o, "node %u: %s %u for a QP that has gone is %s", node->index,
			    trace_op(packet), packet->bth.psn,
			    answers ? "answered" : "not answered");
	if (!answers || owed(o, node) >= RXE_TIME_WAIT_ANSWERS)
		return;
	if (packet->shape & SHAPE_ATOMIC)
		gone->owed_atomics++;
	else
		gone->owes_ack = true;
}

static bool is_right(struct oracle_gone *gone, const struct wire_packet *packet)
{
	uint64_t orig;

	if (opcode_service(packet->bth.opcode) != (gone->is_xrc ? WIRE_XRC : WIRE_RC) ||
	    rc_syndrome_class(packet->aeth.syndrome) != RC_AETH_ACK)
		return false;
	if (packet->shape & SHAPE_ATOMIC) {
		if (gone->owed_atomics == 0 || !find_atomic(gone, packet->bth.psn, &orig))
			return false;
		gone->owed_atomics--;
		return orig == packet->atomic_orig;
	}
	if (!(packet->shape & SHAPE_ACK) || !gone->owes_ack)
		return false;
	gone->owes_ack = false;
	return packet->bth.psn == psn_add(gone->psn, PSN_MASK);
}

void oracle_gone_answered(struct oracle *o, const struct node *node,
			  const struct wire_packet *packet)
{
	uint32_t i;

	for (i = o->num_gone; i > oldest(o); i--) {
		struct oracle_gone *gone = at(o, i - 1);

		if (gone->node == node && gone->dest_qpn == packet->bth.dest_qpn &&
		    (gone->is_forged || is_right(gone, packet)))
			return;
	}
	oracle_fail(o, "node %u: %s %u leaves for a QP that has gone, which owes no such thing",
		    node->index, trace_op(packet), packet->bth.psn);
}

void oracle_gone_check(const struct oracle *o)
{
	uint32_t i;

	for (i = oldest(o); i < o->num_gone; i++) {
		const struct oracle_gone *gone = &o->gone[i % ORACLE_MAX_GONE];

		if (!gone->node->asleep_until_ns && (gone->owes_ack || gone->owed_atomics))
			oracle_fail(o, "node %u: nobody answered for QP 0x%x, which has gone",
				    gone->node->index, gone->qpn);
	}
}

/* A duplicate of the last packet that was received, as a send: its ACK means as much as that packet's own. */
static void ask_again(struct oracle *o, struct party *party)
{
	static const uint8_t payload[8];
	const struct end *end = party->peer->end;
	const struct oracle_gone *gone = find(o, end->node, end->qp.qpn);
	enum wire_service service = oracle_is_target(party->peer) ? WIRE_XRC : WIRE_RC;
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(service, OP_SEND_ONLY),
			 .psn = gone ? psn_add(gone->psn, PSN_MASK) : 0,
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

void oracle_gone_final(struct oracle *o)
{
	ask_all(o);
	world_run_until(o->w, (double)(o->w->now_ns + TOO_LATE_NS) / 1000);
	ask_all(o);
}
