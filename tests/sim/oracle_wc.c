/* SPDX-License-Identifier: MIT */
/* The oracle's checks of completions and events: each request once, in order, successful or with a
 * cause, and with its bytes. */
#include <string.h>

#include "lib/unkind/host.h"
#include "tests/sim/oracle.h"

/* A request completed with success: its result is stored. */
void oracle_check_result(const struct oracle *o, struct party *party, const struct op *op)
{
	const uint8_t *slot = oracle_mem(party, AREA_READS + op->slot * ORACLE_SLOT_BYTES);
	uint64_t orig;

	if (!oracle_uses_slot(op))
		return;
	party->slot_taken[op->slot] = false;
	if (party->is_forged)
		return;
	if (op->opcode == RXE_WR_RDMA_READ) {
		if (memcmp(slot, oracle_source(party->peer, op->from), op->len) != 0)
			oracle_fail(o, "%c: a read of %u bytes brought others", party->end->letter,
				    op->len);
		return;
	}
	memcpy(&orig, slot, sizeof(orig));
	if (orig != op->orig)
		oracle_fail(o, "%c: an atomic returned %llu, not %llu", party->end->letter,
			    (unsigned long long)orig, (unsigned long long)op->orig);
}

/* What was written before is in place, and persistent if asked for. Bytes that a later request also
 * writes may have either value. */
void oracle_check_flush(const struct oracle *o, const struct party *party, uint32_t index)
{
	const struct op *op = &party->ops[index];
	const struct party *peer = party->peer;
	const struct node *node = peer->end->node;
	bool whole = op->feth.selectivity == FETH_REGION;
	uint32_t from = whole ? 0 : op->to, len = whole ? AREA_TARGET_LEN : op->flush_len, i;

	if (op->opcode != RXE_WR_FLUSH || party->is_forged)
		return;
	for (i = from; i < from + len; i++) {
		const uint8_t *there = oracle_mem(peer, AREA_TARGET + i);

		if (peer->written_by[i] > index)
			continue;
		if (*there != peer->target[i])
			oracle_fail(o, "%c: flush %u is done, and byte 0x%x is not in place",
				    party->end->letter, index + 1, i);
		if ((op->feth.placement & FETH_PERSISTENT) &&
		    (!node->durable || node->durable[there - node->mem] != peer->target[i]))
			oracle_fail(o, "%c: flush %u is done, and byte 0x%x is not persistent",
				    party->end->letter, index + 1, i);
	}
}

/* A request completes after a response that covers it; a READ, an atomic, a FLUSH and an ATOMIC
 * WRITE after its own. */
static void check_answered(const struct oracle *o, const struct party *party, uint32_t index)
{
	const struct op *op = &party->ops[index];

	if (party->is_forged || !oracle_is_reliable(party))
		return;
	if (psn_diff(party->acked_psn, op->psn_last) < 0 ||
	    (oracle_is_answered(op) && !op->answered))
		oracle_fail(o, "%c: request %u, up to PSN %u, is done before it was answered",
			    party->end->letter, index + 1, op->psn_last);
}

/* A message that completed was received: its receive's completion was visible before the ACK was
 * sent, unless the peer's host withholds completions. */
static void check_delivered(const struct oracle *o, const struct party *party, uint32_t index)
{
	uint32_t i;

	if (party->peer->end->node->unkind)
		return;
	if (party->may_fail || party->is_forged || !oracle_is_reliable(party))
		return;
	for (i = party->delivered; i <= index; i++) {
		if (oracle_is_awaited(&party->ops[i]))
			oracle_fail(o, "%c: request %u is done, and was not received",
				    party->end->letter, i + 1);
	}
}

/* When all requests have completed, all bytes are stored. */
static void check_target(const struct oracle *o, const struct party *party)
{
	const struct party *peer = party->peer;

	if (party->done < party->num_ops || party->may_fail || party->is_forged ||
	    !oracle_is_reliable(party))
		return;
	if (memcmp(oracle_mem(peer, AREA_TARGET), peer->target, AREA_TARGET_LEN) != 0 ||
	    memcmp(oracle_mem(peer, AREA_WORDS), peer->word, sizeof(peer->word)) != 0)
		oracle_fail(o,
			    "%c: all requests are done, and the peer's memory is not the model's",
			    party->end->letter);
}

static void skip_unsignalled(const struct oracle *o, struct party *party, uint32_t index)
{
	for (; party->done < index; party->done++) {
		if (party->ops[party->done].signalled)
			oracle_fail(o, "%c: request %u has no completion", party->end->letter,
				    party->done + 1);
	}
}

static void sent_well(struct oracle *o, struct party *party, uint32_t index)
{
	uint32_t was = party->done, i;

	if (party->ops[index].unpermitted && !party->is_forged)
		oracle_fail(o, "%c: request %u used what it has no right to, and succeeded",
			    party->end->letter, index + 1);
	if (party->failed)
		oracle_fail(o, "%c: request %u succeeded after one that failed", party->end->letter,
			    index + 1);
	skip_unsignalled(o, party, index);
	for (i = was; i <= index; i++) {
		oracle_check_result(o, party, &party->ops[i]);
		oracle_check_flush(o, party, i);
		oracle_mw_done(party, &party->ops[i]);
	}
	check_answered(o, party, index);
	check_delivered(o, party, index);
	party->done = index + 1;
	check_target(o, party);
}

/* The peer was destroyed: TIME_WAIT acknowledges what it received, except READs, and FLUSHes
 * that were not carried out. */
static bool is_out_of_reach(const struct oracle *o, const struct party *party, uint32_t index)
{
	const struct op *op = &party->ops[index];
	uint32_t i;

	for (i = o->num_time_wait; i > 0; i--) {
		const struct oracle_time_wait *record =
			&o->time_wait[(i - 1) % ORACLE_MAX_TIME_WAIT];

		if (record->peer == party->end)
			return op->opcode == RXE_WR_RDMA_READ || op->opcode == RXE_WR_FLUSH ||
			       !record->answers || psn_diff(op->psn_last, record->psn) >= 0;
	}
	return false;
}

static bool has_reason(struct oracle *o, const struct party *party, uint32_t index, uint32_t status)
{
	bool out_of_retries = status == RXE_WC_RETRY_EXC_ERR && o->lossy;
	bool out_of_rnr_retries = status == RXE_WC_RNR_RETRY_EXC_ERR && party->opts.rnr_retry < 7;

	if (party->may_fail && !party->deserted)
		return true;
	if (party->deserted && status == RXE_WC_RETRY_EXC_ERR && is_out_of_reach(o, party, index))
		return true;
	o->given_up += out_of_retries;
	return out_of_retries || out_of_rnr_retries;
}

static void sent_badly(struct oracle *o, struct party *party, uint32_t index, uint32_t status)
{
	if (party->failed && (status != RXE_WC_WR_FLUSH_ERR || index != party->done))
		oracle_fail(o, "%c: after an error, request %u says %s", party->end->letter,
			    index + 1, trace_status_str(status));
	if (!party->failed && !has_reason(o, party, index, status))
		oracle_fail(o, "%c: request %u failed with %s, for no reason", party->end->letter,
			    index + 1, trace_status_str(status));
	skip_unsignalled(o, party, index);
	party->done = index + 1;
	party->failed = true;
	party->may_fail = true;
	party->peer->may_fail = true;
}

static void sent(struct oracle *o, struct party *party, const struct rxe_cqe *cqe)
{
	uint32_t index = (uint32_t)cqe->wr_id - 1;

	if (index >= party->num_ops || index < party->done)
		oracle_fail(o, "%c: request %u is completed again", party->end->letter, index + 1);
	if (cqe->status != RXE_WC_SUCCESS) {
		sent_badly(o, party, index, cqe->status);
		return;
	}
	if (!party->ops[index].signalled)
		oracle_fail(o, "%c: request %u was not signalled", party->end->letter, index + 1);
	sent_well(o, party, index);
}

static uint32_t grh_len(const struct party *party)
{
	return party->opts.type == RXE_QPT_UD ? 40 : 0;
}

/* recv: where the bytes are. */
static void check_message(const struct oracle *o, const struct party *to, const struct op *op,
			  const struct rxe_cqe *cqe, const uint8_t *recv)
{
	bool has_imm = op->opcode != RXE_WR_SEND;

	if (cqe->byte_len != op->len + grh_len(to) || !!(cqe->flags & RXE_WC_WITH_IMM) != has_imm ||
	    (has_imm && cqe->imm_or_rkey != op->imm))
		oracle_fail(o, "%c: a message of %u bytes was announced as %u", to->end->letter,
			    op->len, cqe->byte_len);
	if (op->opcode == RXE_WR_RDMA_WRITE_WITH_IMM)
		return;
	if (memcmp(recv + grh_len(to), oracle_source(to->peer, op->from), op->len) != 0)
		oracle_fail(o, "%c: a message of %u bytes brought others", to->end->letter,
			    op->len);
}

/* In order; for XRC in the order of each SRQ, because SRQs may complete in different CQs. */
static void received_reliably(struct oracle *o, struct party *party, const struct rxe_cqe *cqe,
			      const uint8_t *recv, uint32_t srq)
{
	struct party *from = party->peer;
	uint32_t i = from->delivered;

	while (i < from->num_ops && (!oracle_is_awaited(&from->ops[i]) || from->ops[i].srq != srq))
		i++;
	if (i == from->num_ops)
		oracle_fail(o, "%c: a message that nobody sent", party->end->letter);
	from->ops[i].arrived++;
	if (psn_diff(from->ops[i].psn_last, from->received_psn) > 0)
		from->received_psn = from->ops[i].psn_last;
	check_message(o, party, &from->ops[i], cqe, recv);
	while (from->delivered < from->num_ops && !oracle_is_awaited(&from->ops[from->delivered]))
		from->delivered++;
}

/* Each byte is the request's; where packets are reordered, it may be an earlier request's for the
 * same place. */
static bool is_in_place(const struct oracle *o, const struct party *party, uint32_t index)
{
	const struct party *from = party->peer;
	const struct op *op = &from->ops[index];
	const uint8_t *place = oracle_mem(party, AREA_TARGET + op->to);
	/* By a duplicate that the host deferred halfway: the peer does not repeat it. */
	const bool may_be_filled = o->shuffles && party->end->node->unkind;
	uint32_t i, before;

	for (i = 0; i < op->len; i++) {
		bool fits = place[i] == *oracle_source(from, op->from + i) ||
			    (may_be_filled && place[i] == UNKIND_FILL_BYTE);

		for (before = index; o->shuffles && !fits && before >= 16;) {
			const struct op *other = &from->ops[before -= 16];

			fits = i < other->len && place[i] == *oracle_source(from, other->from + i);
		}
		if (!fits)
			return false;
	}
	return true;
}

/* The immediate identifies the request. Where the network neither reorders nor duplicates, messages
 * arrive in order and once. */
static void received_unreliably(struct oracle *o, struct party *party, const struct rxe_cqe *cqe,
				const uint8_t *recv)
{
	struct party *from = party->peer;
	uint32_t index = cqe->imm_or_rkey;
	struct op *op = &from->ops[index];

	if (!(cqe->flags & RXE_WC_WITH_IMM) || index >= from->num_ops)
		oracle_fail(o, "%c: a message that nobody sent: %u of %u", party->end->letter,
			    index, from->num_ops);
	if (!o->shuffles && (op->arrived || index < from->delivered))
		oracle_fail(o, "%c: message %u arrived again, or late", party->end->letter,
			    index + 1);
	op->arrived++;
	from->delivered = index + 1;
	check_message(o, party, op, cqe, recv);
	/* The sixteenth request after this one writes the same place again. */
	if (op->opcode == RXE_WR_RDMA_WRITE_WITH_IMM && index + 16 >= from->num_ops &&
	    !is_in_place(o, party, index))
		oracle_fail(o, "%c: a write of %u bytes brought others", party->end->letter,
			    op->len);
}

/* An unkind host may show a flushed receive before the send that failed. */
static bool is_shown_early(const struct party *party, const struct rxe_cqe *cqe)
{
	return party->end->node->unkind && party->end->qp.state == RXE_QPS_ERR &&
	       cqe->status == RXE_WC_WR_FLUSH_ERR;
}

static void received(struct oracle *o, struct party *party, const struct rxe_cq *cq,
		     const struct rxe_cqe *cqe)
{
	const struct recv_place *place = &o->recv_place[cqe->wr_id % ORACLE_RECVS];
	const uint8_t *recv =
		oracle_mem(&o->party[place->party], AREA_RECVS + place->slot * ORACLE_SLOT_BYTES);
	bool *taken = oracle_recv_taken(o, cqe->wr_id);
	uint32_t srq = oracle_is_target(party) ? place->slot % NODE_XSRQS : 0;
	uint64_t *last = &party->last_recv[srq];

	if (cqe->wr_id <= *last)
		oracle_fail(o, "%c: receive %llu is completed after %llu", party->end->letter,
			    (unsigned long long)cqe->wr_id, (unsigned long long)*last);
	if (!*taken)
		oracle_fail(o, "%c: receive %llu is completed again", party->end->letter,
			    (unsigned long long)cqe->wr_id);
	*last = cqe->wr_id;
	*taken = false;
	if (cqe->status != RXE_WC_SUCCESS) {
		if (!party->may_fail && !is_shown_early(party, cqe))
			oracle_fail(o, "%c: receive %llu failed with %s, for no reason",
				    party->end->letter, (unsigned long long)cqe->wr_id,
				    trace_status_str(cqe->status));
		return;
	}
	if (party->is_forged)
		return;
	if (oracle_is_reliable(party)) {
		received_reliably(o, party, cqe, recv, srq);
		if (oracle_is_target(party))
			oracle_xrc_check_cq(o, party, srq, cq);
	} else {
		received_unreliably(o, party, cqe, recv);
	}
}

static void saw_completion(void *context, struct end *end, const struct rxe_cq *cq,
			   const struct rxe_cqe *cqe)
{
	struct oracle *o = context;
	struct sightings *seen = &o->seen[end->node->index];

	if (cqe->opcode & RXE_WC_RECV) {
		seen->recvs += cqe->status == RXE_WC_SUCCESS;
		received(o, oracle_party_of(o, end), cq, cqe);
	} else {
		sent(o, oracle_party_of(o, end), cqe);
	}
}

static void saw_event(void *context, struct node *node, const struct rxe_event *event)
{
	struct oracle *o = context;
	const struct end *end = event->qp ? event->qp->owner : NULL;
	struct party *party;

	switch (event->type) {
	case RXE_EVENT_SQ_DRAINED:
	case RXE_EVENT_COMM_EST:
	case RXE_EVENT_SRQ_LIMIT_REACHED: return;
	case RXE_EVENT_QP_FATAL:
	case RXE_EVENT_QP_REQ_ERR:
	case RXE_EVENT_QP_ACCESS_ERR:
	case RXE_EVENT_QP_LAST_WQE_REACHED:
		if (oracle_party_of(o, end)->may_fail)
			return;
		break;
	case RXE_EVENT_PATH_MIG_ERR:
	case RXE_EVENT_PATH_MIG:
		party = oracle_party_of(o, end);
		/* The peer left for a path that this end has not armed: neither receives from the
		 * other. */
		if (event->type == RXE_EVENT_PATH_MIG_ERR)
			party->may_fail = party->peer->may_fail = true;
		if (party->opts.rearms)
			return;
		break;
	case RXE_EVENT_CQ_ERR:
	case RXE_EVENT_SRQ_ERR: break;
	}
	oracle_fail(o, "node %u: event %s for no reason", node->index,
		    trace_event_str(event->type));
}

void oracle_watch_completions(struct oracle *o)
{
	o->w->watch.completion = saw_completion;
	o->w->watch.event = saw_event;
}
