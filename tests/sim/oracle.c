/* SPDX-License-Identifier: MIT */
/* The oracle: what must happen is known from what was posted. */
#include "tests/sim/oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void oracle_fail(const struct oracle *o, const char *format, ...)
{
	va_list args;

	if (o->shows_trace && o->w->trace.text)
		(void)fputs(o->w->trace.text, stdout);
	(void)printf("at %.1f us: ", (double)o->w->now_ns / 1000);
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)printf("\nreplay: tests/sim/sim --seed %llu --trace\n", (unsigned long long)o->seed);
	exit(EXIT_FAILURE);
}

static uint8_t *mem(const struct party *party, uint32_t at)
{
	return party->end->node->mem + party->base + at;
}

static const uint8_t *source(const struct party *party, uint32_t at)
{
	return mem(party, AREA_SOURCE + at);
}

static struct party *party_of(struct oracle *o, const struct end *end)
{
	uint32_t i;

	for (i = 0; i < o->num_parties; i++) {
		if (o->party[i].end == end)
			return &o->party[i];
	}
	oracle_fail(o, "a completion of a QP that is nobody's");
}

static bool needs_recv(const struct op *op)
{
	switch (op->opcode) {
	case RXE_WR_SEND:
	case RXE_WR_SEND_WITH_IMM:
	case RXE_WR_SEND_WITH_INV:
	case RXE_WR_RDMA_WRITE_WITH_IMM: return true;
	case RXE_WR_RDMA_WRITE:
	case RXE_WR_RDMA_READ:
	case RXE_WR_ATOMIC_CMP_AND_SWP:
	case RXE_WR_ATOMIC_FETCH_AND_ADD: return false;
	}
	return false;
}

static bool uses_slot(const struct op *op)
{
	return op->opcode == RXE_WR_RDMA_READ || op->opcode == RXE_WR_ATOMIC_CMP_AND_SWP ||
	       op->opcode == RXE_WR_ATOMIC_FETCH_AND_ADD;
}

/* A request is over, well: what it brought back is there. */
static void check_result(struct oracle *o, struct party *party, const struct op *op)
{
	const uint8_t *slot = mem(party, AREA_READS + op->slot * ORACLE_SLOT_BYTES);
	uint64_t orig;

	if (!uses_slot(op))
		return;
	party->slot_taken[op->slot] = false;
	if (party->is_forged)
		return;
	if (op->opcode == RXE_WR_RDMA_READ) {
		if (memcmp(slot, source(party->peer, op->from), op->len) != 0)
			oracle_fail(o, "%c: a read of %u bytes brought others", party->end->letter,
				    op->len);
		return;
	}
	memcpy(&orig, slot, sizeof(orig));
	if (orig != op->orig)
		oracle_fail(o, "%c: an atomic returned %llu, not %llu", party->end->letter,
			    (unsigned long long)orig, (unsigned long long)op->orig);
}

static void sent_well(struct oracle *o, struct party *party, uint32_t index)
{
	if (party->failed)
		oracle_fail(o, "%c: request %u succeeded after one that failed", party->end->letter,
			    index + 1);
	for (; party->done < index; party->done++) {
		if (party->ops[party->done].signalled)
			oracle_fail(o, "%c: request %u has no completion", party->end->letter,
				    party->done + 1);
		check_result(o, party, &party->ops[party->done]);
	}
	check_result(o, party, &party->ops[index]);
	party->done = index + 1;
}

static void sent_badly(struct oracle *o, struct party *party, uint32_t index, uint32_t status)
{
	if (party->failed && (status != RXE_WC_WR_FLUSH_ERR || index != party->done))
		oracle_fail(o, "%c: after an error, request %u says %s", party->end->letter,
			    index + 1, trace_status_str(status));
	if (status == RXE_WC_RETRY_EXC_ERR && !party->may_fail)
		o->given_up++;
	if (!party->may_fail && !(o->lossy && status == RXE_WC_RETRY_EXC_ERR))
		oracle_fail(o, "%c: request %u failed with %s, for no reason", party->end->letter,
			    index + 1, trace_status_str(status));
	for (; party->done < index; party->done++) {
		if (party->ops[party->done].signalled)
			oracle_fail(o, "%c: request %u has no completion", party->end->letter,
				    party->done + 1);
	}
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

static void check_message(struct oracle *o, const struct party *to, const struct op *op,
			  const struct rxe_cqe *cqe)
{
	uint32_t slot = (uint32_t)cqe->wr_id % ORACLE_SLOTS;
	bool has_imm = op->opcode != RXE_WR_SEND;

	if (cqe->byte_len != op->len || !!(cqe->flags & RXE_WC_WITH_IMM) != has_imm ||
	    (has_imm && cqe->imm_or_rkey != op->imm))
		oracle_fail(o, "%c: a message of %u bytes was announced as %u", to->end->letter,
			    op->len, cqe->byte_len);
	if (op->opcode == RXE_WR_RDMA_WRITE_WITH_IMM)
		return;
	if (memcmp(mem(to, AREA_RECVS + slot * ORACLE_SLOT_BYTES), source(to->peer, op->from),
		   op->len) != 0)
		oracle_fail(o, "%c: a message of %u bytes brought others", to->end->letter,
			    op->len);
}

static void received(struct oracle *o, struct party *party, const struct rxe_cqe *cqe)
{
	struct party *from = party->peer;

	if (cqe->wr_id <= party->last_recv)
		oracle_fail(o, "%c: receive %llu is completed after %llu", party->end->letter,
			    (unsigned long long)cqe->wr_id, (unsigned long long)party->last_recv);
	party->last_recv = cqe->wr_id;
	party->recvs_done++;
	party->recv_taken[cqe->wr_id % ORACLE_SLOTS] = false;
	if (cqe->status != RXE_WC_SUCCESS) {
		if (!party->may_fail)
			oracle_fail(o, "%c: receive %llu failed with %s, for no reason",
				    party->end->letter, (unsigned long long)cqe->wr_id,
				    trace_status_str(cqe->status));
		return;
	}
	if (party->is_forged)
		return;
	while (from->delivered < from->num_ops && !needs_recv(&from->ops[from->delivered]))
		from->delivered++;
	if (from->delivered == from->num_ops)
		oracle_fail(o, "%c: a message that nobody sent", party->end->letter);
	check_message(o, party, &from->ops[from->delivered++], cqe);
}

static void saw_completion(void *context, struct end *end, const struct rxe_cqe *cqe)
{
	struct oracle *o = context;

	if (cqe->opcode & RXE_WC_RECV)
		received(o, party_of(o, end), cqe);
	else
		sent(o, party_of(o, end), cqe);
}

static void saw_packet(void *context, struct end *from, const struct wire_packet *packet)
{
	const struct oracle *o = context;

	switch (from->seen_state) {
	case RXE_QPS_RTR:
	case RXE_QPS_RTS:
	case RXE_QPS_SQD: return;
	case RXE_QPS_RESET:
	case RXE_QPS_INIT:
	case RXE_QPS_SQE:
	case RXE_QPS_ERR:
		oracle_fail(o, "%c: %s %u left in a state that does not talk", from->letter,
			    trace_op(packet), packet->bth.psn);
	}
}

/* Nobody's bytes, and those that never change. */
static void check_untouched(const struct oracle *o, const struct party *party)
{
	static const struct {
		uint32_t at, len;
	} still[] = {
		{ 0, AREA_TARGET },
		{ AREA_TARGET + AREA_TARGET_LEN, AREA_WORDS - AREA_TARGET - AREA_TARGET_LEN },
		{ AREA_WORDS + ORACLE_WORDS * 8, AREA_RECVS - AREA_WORDS - ORACLE_WORDS * 8 },
		{ AREA_RECVS + ORACLE_SLOTS * ORACLE_SLOT_BYTES,
		  AREA_READS - AREA_RECVS - ORACLE_SLOTS * ORACLE_SLOT_BYTES },
		{ AREA_READS + ORACLE_SLOTS * ORACLE_SLOT_BYTES,
		  AREA_BYTES - AREA_READS - ORACLE_SLOTS * ORACLE_SLOT_BYTES },
	};
	size_t i;

	for (i = 0; i < sizeof(still) / sizeof(still[0]); i++) {
		uint32_t at;

		for (at = still[i].at; at < still[i].at + still[i].len; at++) {
			if (*mem(party, at) != node_byte(party->end->node, party->base + at))
				oracle_fail(o, "%c: byte 0x%x, which is nobody's, was touched",
					    party->end->letter, at);
		}
	}
}

void oracle_init(struct oracle *o, struct world *w, uint64_t seed)
{
	memset(o, 0, sizeof(*o));
	o->w = w;
	o->seed = seed;
	w->watch = (struct world_watch){
		.completion = saw_completion,
		.packet = saw_packet,
		.context = o,
	};
}

static void add_party(struct oracle *o, struct end *end, struct party *peer)
{
	struct party *party = &o->party[o->num_parties++];
	struct node *node = end->node;
	uint32_t base = 0, i;

	for (i = 0; i + 1 < o->num_parties; i++)
		base += o->party[i].end->node == node ? AREA_BYTES : 0;
	party->end = end;
	party->peer = peer;
	party->base = base;
	party->key_source = node_reg(node, base + AREA_SOURCE, AREA_SOURCE_LEN, RXE_REMOTE_READ);
	party->key_target = node_reg(node, base + AREA_TARGET, AREA_TARGET_LEN,
				     RXE_LOCAL_WRITE | RXE_REMOTE_WRITE);
	party->key_words = node_reg(node, base + AREA_WORDS, ORACLE_WORDS * 8,
				    RXE_LOCAL_WRITE | RXE_REMOTE_ATOMIC);
	party->key_recvs = node_reg(node, base + AREA_RECVS, ORACLE_SLOTS * ORACLE_SLOT_BYTES,
				    RXE_LOCAL_WRITE);
	party->key_reads = node_reg(node, base + AREA_READS, ORACLE_SLOTS * ORACLE_SLOT_BYTES,
				    RXE_LOCAL_WRITE);
	memcpy(party->target, mem(party, AREA_TARGET), AREA_TARGET_LEN);
	memcpy(party->word, mem(party, AREA_WORDS), sizeof(party->word));
}

void oracle_add_pair(struct oracle *o, struct end *x, struct end *y)
{
	struct party *first = &o->party[o->num_parties];

	add_party(o, x, first + 1);
	add_party(o, y, first);
}

bool oracle_find_slot(const struct party *party, uint32_t *ret_slot)
{
	uint32_t i;

	for (i = 0; i < ORACLE_SLOTS; i++) {
		if (!party->slot_taken[i]) {
			*ret_slot = i;
			return true;
		}
	}
	return false;
}

/* The request as the engine wants it; and the model changes as if it had been carried out. */
static struct post prepare(struct party *party, struct op *op)
{
	struct party *peer = party->peer;
	struct post post = { .op = op->opcode,
			     .len = op->len,
			     .from = party->base + AREA_SOURCE + op->from,
			     .lkey = party->key_source,
			     .imm = op->imm,
			     .quiet = !op->signalled };
	uint64_t *word = &peer->word[op->to % ORACLE_WORDS];

	switch (op->opcode) {
	case RXE_WR_SEND:
	case RXE_WR_SEND_WITH_IMM:
	case RXE_WR_SEND_WITH_INV: return post;
	case RXE_WR_RDMA_WRITE:
	case RXE_WR_RDMA_WRITE_WITH_IMM:
		post.to = peer->base + AREA_TARGET + op->to;
		post.rkey = peer->key_target;
		memcpy(peer->target + op->to, source(party, op->from), op->len);
		return post;
	case RXE_WR_RDMA_READ:
		post.to = peer->base + AREA_SOURCE + op->from;
		post.rkey = peer->key_source;
		break;
	case RXE_WR_ATOMIC_CMP_AND_SWP:
		post.compare_add = op->imm & 1 ? *word : *word + 1;
		post.swap = op->from * 0x10001ull;
		op->orig = *word;
		*word = op->imm & 1 ? post.swap : *word;
		break;
	case RXE_WR_ATOMIC_FETCH_AND_ADD:
		post.compare_add = op->from;
		op->orig = *word;
		*word += op->from;
		break;
	}
	if (op->opcode != RXE_WR_RDMA_READ) {
		post.to = peer->base + AREA_WORDS + op->to % ORACLE_WORDS * 8;
		post.rkey = peer->key_words;
	}
	post.from = party->base + AREA_READS + op->slot * ORACLE_SLOT_BYTES;
	post.lkey = party->key_reads;
	party->slot_taken[op->slot] = true;
	return post;
}

void oracle_post(struct oracle *o, struct party *party, struct op op, uint32_t sabotage)
{
	struct post post = prepare(party, &op);

	if (sabotage && op.len > 0) {
		party->may_fail = true;
		party->peer->may_fail = true;
		post.lkey = sabotage == 1 ? 0x7777 : post.lkey;
		post.rkey = sabotage == 2 ? 0x7777 : post.rkey;
	}
	post.flags = link_random(&o->w->link, 8) == 0 ? (uint32_t)RXE_SEND_FENCE : 0;
	post.pieces = 1 + link_random(&o->w->link, 4);
	party->ops[party->num_ops++] = op;
	if (world_post(o->w, party->end, post) != POST_OK)
		oracle_fail(o, "%c: a request was refused", party->end->letter);
}

bool oracle_recv(struct oracle *o, struct party *party, uint32_t len)
{
	uint32_t slot = (uint32_t)(party->end->next_recv_id + 1) % ORACLE_SLOTS;

	if (party->recv_taken[slot] || party->end->qp.state == RXE_QPS_ERR)
		return false;
	party->recv_taken[slot] = true;
	party->num_recvs++;
	if (world_recv_key(o->w, party->end, party->base + AREA_RECVS + slot * ORACLE_SLOT_BYTES,
			   len, party->key_recvs) != POST_OK)
		oracle_fail(o, "%c: a receive was refused", party->end->letter);
	return true;
}

uint32_t oracle_missing_recvs(const struct party *party)
{
	const struct party *from = party->peer;
	uint32_t missing = 0, i;

	for (i = from->delivered; i < from->num_ops; i++)
		missing += needs_recv(&from->ops[i]);
	return missing;
}

static void check_party(struct oracle *o, struct party *party)
{
	check_untouched(o, party);
	for (; party->done < party->num_ops; party->done++) {
		if (party->ops[party->done].signalled || party->failed)
			oracle_fail(o, "%c: request %u never came to an end", party->end->letter,
				    party->done + 1);
		check_result(o, party, &party->ops[party->done]);
	}
	if (rxe_ring_used(&party->end->qp.sq) != 0)
		oracle_fail(o, "%c: the send queue is not empty", party->end->letter);
	if (party->end->qp.rc.req.in_flight != 0 || party->end->qp.rc.req.peer->in_flight != 0)
		oracle_fail(o, "%c: bytes are in flight for ever", party->end->letter);
	if (party->may_fail)
		return;
	if (oracle_missing_recvs(party) != 0)
		oracle_fail(o, "%c: a message did not arrive", party->end->letter);
	if (memcmp(mem(party, AREA_TARGET), party->target, AREA_TARGET_LEN) != 0)
		oracle_fail(o, "%c: the writes' target is not the model's", party->end->letter);
	if (memcmp(mem(party, AREA_WORDS), party->word, sizeof(party->word)) != 0)
		oracle_fail(o, "%c: a word is not the model's", party->end->letter);
}

void oracle_final(struct oracle *o)
{
	uint32_t i;

	for (i = 0; i < o->num_parties; i++)
		check_party(o, &o->party[i]);
	for (i = 0; i < o->w->num_nodes; i++) {
		const struct node *node = o->w->node[i];

		if (node->counters.sent_pkts != node->sent ||
		    node->counters.rcvd_pkts != node->arrived)
			oracle_fail(o, "node %u: counters say %llu sent, %llu received", i,
				    (unsigned long long)node->counters.sent_pkts,
				    (unsigned long long)node->counters.rcvd_pkts);
	}
}
