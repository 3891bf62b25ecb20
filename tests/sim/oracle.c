/* SPDX-License-Identifier: MIT */
/* The oracle's model: parties, the requests that they post, and the required final state. */
#include "tests/sim/oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_LINES 40

/* The last lines of a trace, which lead to the failure. */
static void tell(const char *text, uint32_t most)
{
	const char *from = text + strlen(text);
	uint32_t lines = 0;

	while (from > text && lines <= most)
		lines += *--from == '\n';
	(void)fputs(from > text ? from + 1 : text, stdout);
}

void oracle_fail(const struct oracle *o, const char *format, ...)
{
	va_list args;

	if (!o->shows_trace && o->retell)
		o->retell();
	if (o->shows_trace && o->w->trace.text)
		tell(o->w->trace.text, o->retell ? UINT32_MAX : LAST_LINES);
	(void)printf("at %.1f us: ", (double)o->w->now_ns / 1000);
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)printf("\nseed %llu; replay: %s\n", (unsigned long long)o->seed, o->replay);
	exit(EXIT_FAILURE);
}

uint8_t *oracle_mem(const struct party *party, uint32_t at)
{
	return party->end->node->mem + party->base + at;
}

const uint8_t *oracle_source(const struct party *party, uint32_t at)
{
	return oracle_mem(party, AREA_SOURCE + at);
}

struct party *oracle_party_of(struct oracle *o, const struct end *end)
{
	uint32_t i;

	for (i = 0; i < o->num_parties; i++) {
		if (o->party[i].end == end)
			return &o->party[i];
	}
	oracle_fail(o, "something of a QP that is nobody's");
}

bool oracle_is_reliable(const struct party *party)
{
	return party->opts.type == RXE_QPT_RC || oracle_is_xrc(party);
}

bool *oracle_recv_taken(struct oracle *o, uint64_t wr_id)
{
	const struct recv_place *place = &o->recv_place[wr_id % ORACLE_RECVS];

	return &o->party[place->party].recv_taken[place->slot];
}

bool oracle_is_local(const struct op *op)
{
	return op->opcode == RXE_WR_LOCAL_INV || op->opcode == RXE_WR_BIND_MW;
}

bool oracle_needs_recv(const struct op *op)
{
	switch (op->opcode) {
	case RXE_WR_SEND:
	case RXE_WR_SEND_WITH_IMM:
	case RXE_WR_SEND_WITH_INV:
	case RXE_WR_RDMA_WRITE_WITH_IMM: return true;
	case RXE_WR_RDMA_WRITE:
	case RXE_WR_RDMA_READ:
	case RXE_WR_ATOMIC_CMP_AND_SWP:
	case RXE_WR_LOCAL_INV:
	case RXE_WR_BIND_MW:
	case RXE_WR_ATOMIC_FETCH_AND_ADD:
	case RXE_WR_FLUSH:
	case RXE_WR_ATOMIC_WRITE: return false;
	}
	return false;
}

bool oracle_is_awaited(const struct op *op)
{
	return oracle_needs_recv(op) && !op->arrived;
}

bool oracle_uses_slot(const struct op *op)
{
	return op->opcode == RXE_WR_RDMA_READ || op->opcode == RXE_WR_ATOMIC_CMP_AND_SWP ||
	       op->opcode == RXE_WR_ATOMIC_FETCH_AND_ADD;
}

bool oracle_is_answered(const struct op *op)
{
	return oracle_uses_slot(op) || op->opcode == RXE_WR_FLUSH ||
	       op->opcode == RXE_WR_ATOMIC_WRITE;
}

void oracle_init(struct oracle *o, struct world *w, uint64_t seed)
{
	memset(o, 0, sizeof(*o));
	o->w = w;
	o->seed = seed;
	w->watch.context = o;
	oracle_watch_packets(o);
	oracle_watch_completions(o);
}

static uint64_t iova_of(const struct party *party, uint32_t area)
{
	return party->is_device_memory ? 0 : party->end->node->base + party->base + area;
}

static uint32_t reg(const struct party *party, uint32_t area, uint32_t len, uint32_t rights)
{
	enum rxe_mr_kind kind = party->is_device_memory ? RXE_MR_ARENA : RXE_MR_PLAIN;

	return node_reg_at(party->end->node, party->base + area, len, rights, kind,
			   iova_of(party, area));
}

static void reg_all(const struct party *party, uint32_t pd, struct party_keys *ret)
{
	struct node *node = party->end->node;
	uint32_t base = party->base, first = node->num_mrs + 1;

	ret->source = node_reg(node, base + AREA_SOURCE, AREA_SOURCE_LEN, RXE_REMOTE_READ);
	ret->target =
		reg(party, AREA_TARGET, AREA_TARGET_LEN,
		    RXE_LOCAL_WRITE | RXE_REMOTE_WRITE | RXE_FLUSH_GLOBAL | RXE_FLUSH_PERSISTENT);
	ret->words = reg(party, AREA_WORDS, ORACLE_WORDS * 8,
			 RXE_LOCAL_WRITE | RXE_REMOTE_WRITE | RXE_REMOTE_ATOMIC);
	ret->recvs = node_reg(node, base + AREA_RECVS, ORACLE_SLOTS * ORACLE_SLOT_BYTES,
			      RXE_LOCAL_WRITE);
	for (; first <= node->num_mrs; first++)
		node->mrs->entry[first].pd = pd;
}

void oracle_lose_memory(const struct party *party)
{
	struct node *node = party->end->node;

	node->unmapped_at = node->base + party->base + AREA_SOURCE;
	node->unmapped_end = node->unmapped_at + AREA_SOURCE_LEN;
}

static void find_memory(const struct party *party)
{
	struct node *node = party->end->node;

	if (node->unmapped_at != node->base + party->base + AREA_SOURCE)
		return;
	node->unmapped_at = UINT64_MAX;
	node->unmapped_end = 0;
}

/* A new life of the party, with the memory as it is. */
static void begin(struct party *party, struct end *end)
{
	struct node *node = end->node;
	uint32_t base = party->base;

	party->end = end;
	end->next_send_id = 0;
	find_memory(party);
	party->num_ops = party->done = party->delivered = 0;
	party->first_psn = party->next_psn = party->opts.psn;
	party->acked_psn = psn_add(party->opts.psn, PSN_MASK);
	party->ack_sent_psn = party->received_psn = party->acked_psn;
	party->num_early = 0;
	party->failed = party->may_fail = party->vanished = party->is_forged = false;
	party->has_left = party->deserted = false;
	memset(party->last_recv, 0, sizeof(party->last_recv));
	memset(party->slot_taken, 0, sizeof(party->slot_taken));
	reg_all(party, NODE_PD, &party->keys[0]);
	if (oracle_is_target(party))
		reg_all(party, NODE_OTHER_PD, &party->keys[1]);
	party->key_reads = node_reg(node, base + AREA_READS, ORACLE_SLOTS * ORACLE_SLOT_BYTES,
				    RXE_LOCAL_WRITE);
	oracle_mw_begin(party);
	memcpy(party->target, oracle_mem(party, AREA_TARGET), AREA_TARGET_LEN);
	memset(party->written_by, 0, sizeof(party->written_by));
	memcpy(party->word, oracle_mem(party, AREA_WORDS), sizeof(party->word));
}

void oracle_add_pair(struct oracle *o, struct node *x, struct node *y, const uint32_t base[2],
		     const struct node_qp_opts *opts)
{
	struct party *party = &o->party[o->num_parties];
	struct end *end[2];
	uint32_t i;

	oracle_watch_node(o, x);
	oracle_watch_node(o, y);
	world_pair(o->w, x, y, opts, &end[0], &end[1]);
	for (i = 0; i < 2; i++) {
		party[i].index = o->num_parties++;
		party[i].peer = &party[1 - i];
		party[i].base = base[i];
		party[i].opts = *opts;
		party[i].is_device_memory = opts->psn >> i & 1;
		party[i].has_window = opts->psn >> (2 + i) & 1 && opts->type == RXE_QPT_RC;
		party[i].opts.psn = i ? 500 : opts->psn;
		party[i].opts.type = end[i]->qp.type;
		begin(&party[i], end[i]);
	}
}

/* Drops the model of its own receives; of a shared queue, the claimed one. */
static void forget_recvs(struct oracle *o, struct party *party)
{
	const struct rxe_qp *qp = &party->end->qp;
	uint32_t which;

	for (which = 0; which < NODE_XSRQS; which++) {
		if (oracle_xrc_holds(party, which))
			*oracle_recv_taken(o, qp->claim.wr_id) = false;
	}
	if (oracle_is_xrc(party))
		return;
	if (!qp->srq)
		memset(party->recv_taken, 0, sizeof(party->recv_taken));
	else if (qp->claim.held)
		*oracle_recv_taken(o, qp->claim.wr_id) = false;
}

static void to_reset(struct oracle *o, struct party *party)
{
	forget_recvs(o, party);
	world_modify(o->w, party->end, RXE_QPS_RESET);
	rxe_cq_clean(&party->end->node->cq, party->end->qp.qpn);
}

void oracle_vanish(struct oracle *o, struct party *party)
{
	if (party->vanished)
		return;
	party->vanished = true;
	to_reset(o, party);
}

/* The party's peer is destroyed, and nothing else fails: what the peer has received is
 * acknowledged. */
static void desert(struct party *party)
{
	party->deserted = !party->may_fail && !party->is_forged;
	party->may_fail = true;
}

/* The ACKs of the QP are sent; packets on their way to it find no QP. */
static void destroy(struct oracle *o, struct party *party)
{
	forget_recvs(o, party);
	oracle_time_wait_note(o, party);
	node_retire_qp(party->end);
}

/* The receives of an XRC target complete in a CQ that outlives it: its program polls first, also
 * what its host withholds. The caller flushes. */
static void poll_of_target(struct oracle *o, const struct party *party)
{
	struct node *node = party->end->node;

	if (!oracle_is_target(party))
		return;
	world_wait(o->w, node);
	node_release_completions(node);
}

void oracle_leave(struct oracle *o, struct party *party, bool ends)
{
	struct node *node = party->end->node;
	uint32_t i;

	if (party->vanished)
		return;
	world_wait(o->w, node);
	poll_of_target(o, party);
	rxe_qp_flush_delayed_ack(&node->engine, &party->end->qp);
	world_flush(o->w);
	desert(party->peer);
	party->may_fail = party->vanished = party->has_left = true;
	destroy(o, party);
	if (!ends || node->num_ends > 0)
		return;
	oracle_xrc_forget(o, node);
	node_restart(node);
	for (i = 0; i < o->num_parties; i++) {
		if (o->party[i].end->node == node)
			memset(o->party[i].recv_taken, 0, sizeof(party->recv_taken));
	}
}

/* PSNs begin far from the old ones, so that packets of the former life are not taken for this
 * one's. An unreliable QP accepts any PSN as a beginning, and an old READ may find its key freed:
 * these get a new QPN. */
static void leave(struct oracle *o, struct party *party, bool reset)
{
	struct end *end = party->end;

	party->opts.psn = psn_add(party->next_psn, 0x400000 + link_random(&o->w->link, 0x1000));
	if (reset) {
		to_reset(o, party);
		return;
	}
	node_dereg(end->node, party->keys[0].target);
	if (oracle_is_target(party))
		node_dereg(end->node, party->keys[1].target);
	if (!party->has_left)
		destroy(o, party);
	if (oracle_is_target(party))
		oracle_xrc_begin(o, end->node);
	party->end = node_add_qp(end->node, end->letter, &party->opts);
}

void oracle_renew_pair(struct oracle *o, struct party *party, bool reset)
{
	struct party *both[2] = { party, party->peer };
	bool clean;
	uint32_t i;

	for (i = 0; i < 2; i++)
		poll_of_target(o, both[i]);
	clean = oracle_is_reliable(party) && !party->may_fail && !party->peer->may_fail;
	for (i = 0; i < 2; i++) {
		if (!both[i]->has_left)
			rxe_qp_flush_delayed_ack(&both[i]->end->node->engine, &both[i]->end->qp);
	}
	world_flush(o->w);
	for (i = 0; i < 2; i++)
		leave(o, both[i], reset && clean);
	for (i = 0; i < 2; i++) {
		node_connect(both[i]->end, both[1 - i]->end, &both[i]->opts, both[1 - i]->opts.psn);
		begin(both[i], both[i]->end);
	}
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

static void aim(struct post *post, const struct party *peer, uint32_t area, uint32_t at,
		uint32_t key)
{
	post->has_va = true;
	post->va = iova_of(peer, area) + at;
	post->rkey = key;
}

static void model_write(struct party *party, const struct op *op)
{
	struct party *peer = party->peer;
	uint32_t i;

	memcpy(peer->target + op->to, oracle_source(party, op->from), op->len);
	for (i = 0; i < op->len; i++)
		peer->written_by[op->to + i] = (uint16_t)(party->num_ops + 1);
}

/* Makes the engine's request, and changes the model as if it was executed. */
static struct post prepare(struct party *party, struct op *op)
{
	struct party *peer = party->peer;
	struct post post = { .op = op->opcode,
			     .len = op->len,
			     .from = party->base + AREA_SOURCE + op->from,
			     .lkey = party->keys[0].source,
			     .imm = op->imm,
			     .quiet = !op->signalled };
	const struct party_keys *keys = oracle_keys_for(peer, op);
	uint64_t *word = &peer->word[op->to % ORACLE_WORDS];

	switch (op->opcode) {
	case RXE_WR_LOCAL_INV:
	case RXE_WR_BIND_MW: oracle_mw_prepare(party, op, &post); return post;
	case RXE_WR_SEND:
	case RXE_WR_SEND_WITH_IMM:
	case RXE_WR_SEND_WITH_INV: return post;
	case RXE_WR_RDMA_WRITE:
	case RXE_WR_RDMA_WRITE_WITH_IMM:
		aim(&post, peer, AREA_TARGET, op->to, keys->target);
		model_write(party, op);
		return post;
	case RXE_WR_FLUSH:
		aim(&post, peer, AREA_TARGET, op->to, keys->target);
		post.feth = op->feth;
		post.flush_len = op->flush_len;
		return post;
	case RXE_WR_ATOMIC_WRITE:
		aim(&post, peer, AREA_WORDS, op->to % ORACLE_WORDS * 8, keys->words);
		memcpy(word, oracle_source(party, op->from), sizeof(*word));
		return post;
	case RXE_WR_RDMA_READ:
		post.to = peer->base + AREA_SOURCE + op->from;
		post.rkey = keys->source;
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
	if (op->opcode != RXE_WR_RDMA_READ)
		aim(&post, peer, AREA_WORDS, op->to % ORACLE_WORDS * 8, keys->words);
	post.from = party->base + AREA_READS + op->slot * ORACLE_SLOT_BYTES;
	post.lkey = party->key_reads;
	party->slot_taken[op->slot] = true;
	return post;
}

static uint32_t packets_of(const struct party *party, uint32_t len)
{
	return len > 0 ? (len - 1) / party->opts.mtu + 1 : 1;
}

/* A key that does not exist; or one of the same memory, in a protection domain other than the
 * SRQ's. */
static uint32_t wrong_key(struct oracle *o, const struct party *party, const struct op *op)
{
	const struct party *peer = party->peer;
	const struct party_keys *right = oracle_keys_for(peer, op);
	const struct party_keys *wrong = &peer->keys[right == &peer->keys[0]];

	if (!oracle_is_target(peer) || link_random(&o->w->link, 2))
		return 0x7777;
	if (op->opcode == RXE_WR_RDMA_READ)
		return wrong->source;
	return oracle_uses_slot(op) || op->opcode == RXE_WR_ATOMIC_WRITE ? wrong->words
									 : wrong->target;
}

void oracle_post(struct oracle *o, struct party *party, struct op op, uint32_t sabotage)
{
	struct post post;
	uint32_t srqn;

	/* Binds and invalidations name neither an SRQ nor memory. */
	if (oracle_is_local(&op))
		sabotage = 0;
	srqn = oracle_is_xrc(party) ? oracle_xrc_number(o, party, &op, sabotage) : 0;
	post = prepare(party, &op);
	post.srqn = srqn;
	if (sabotage && (op.len > 0 || op.opcode == RXE_WR_FLUSH || sabotage > 2)) {
		party->may_fail = true;
		party->peer->may_fail = true;
		post.lkey = sabotage == 1 ? 0x7777 : post.lkey;
		op.unpermitted |= sabotage == 2 && post.rkey && oracle_is_reliable(party);
		post.rkey = sabotage == 2 ? wrong_key(o, party, &op) : post.rkey;
	}
	if (oracle_is_reliable(party) && link_random(&o->w->link, 8) == 0)
		post.flags = RXE_SEND_FENCE;
	if (!oracle_uses_slot(&op) && op.opcode != RXE_WR_FLUSH && !oracle_is_local(&op) &&
	    op.len <= NODE_MAX_INLINE && link_random(&o->w->link, 4) == 0)
		post.flags |= RXE_SEND_INLINE;
	post.pieces = 1 + link_random(&o->w->link, 4);
	if (!oracle_is_local(&op))
		party->next_psn = psn_add(party->next_psn, packets_of(party, op.len));
	op.psn_last = psn_add(party->next_psn, PSN_MASK);
	party->ops[party->num_ops++] = op;
	if (world_post(o->w, party->end, post) != POST_OK)
		oracle_fail(o, "%c: a request was refused", party->end->letter);
}

struct rxe_sge oracle_take_slot(struct oracle *o, struct party *party, uint32_t slot, uint32_t len,
				uint32_t lkey)
{
	party->recv_taken[slot] = true;
	o->recv_place[++o->recv_number % ORACLE_RECVS] =
		(struct recv_place){ (uint8_t)party->index, (uint8_t)slot };
	return (struct rxe_sge){ .addr = party->end->node->base + party->base + AREA_RECVS +
					 slot * ORACLE_SLOT_BYTES,
				 .length = len,
				 .lkey = lkey };
}

bool oracle_recv(struct oracle *o, struct party *party, uint32_t len)
{
	const struct rxe_qp *qp = &party->end->qp;
	uint32_t slot;

	if (party->has_left || party->opts.type == RXE_QPT_XRC_SEND)
		return false;
	if (oracle_is_target(party))
		return oracle_xrc_recv(o, party, len);
	for (slot = 0; slot < ORACLE_SLOTS && party->recv_taken[slot]; slot++)
		;
	if (slot == ORACLE_SLOTS || qp->state == RXE_QPS_ERR || qp->state == RXE_QPS_RESET)
		return false;
	(void)oracle_take_slot(o, party, slot, len, party->keys[0].recvs);
	if (world_recv_as(o->w, party->end, o->recv_number,
			  party->base + AREA_RECVS + slot * ORACLE_SLOT_BYTES, len,
			  party->keys[0].recvs) != POST_OK)
		oracle_fail(o, "%c: a receive was refused", party->end->letter);
	return true;
}

static uint32_t missing(const struct party *party)
{
	const struct party *from = party->peer;
	uint32_t ret = 0, i;

	if (!oracle_is_reliable(party))
		return 0;
	for (i = from->delivered; i < from->num_ops; i++)
		ret += oracle_is_awaited(&from->ops[i]);
	return ret;
}

static uint32_t posted(const struct party *party)
{
	const struct rxe_qp *qp = &party->end->qp;

	return rxe_ring_used(qp->srq ? &qp->srq->rq : &qp->rq) + qp->claim.held;
}

void oracle_recv_missing(struct oracle *o, struct party *party)
{
	uint32_t wanted = missing(party), i;

	if (oracle_is_target(party)) {
		oracle_xrc_recv_missing(o, party->end->node);
		return;
	}
	/* Messages to the same queue may take them first. */
	for (i = 0; i < o->num_parties; i++) {
		const struct party *other = &o->party[i];

		if (party->opts.use_srq && other != party && other->opts.use_srq &&
		    other->end->node == party->end->node)
			wanted += missing(other);
	}
	while (posted(party) < wanted && oracle_recv(o, party, ORACLE_SLOT_BYTES))
		;
}

/* Bytes outside of granted regions. */
static void check_still(const struct oracle *o, const struct party *party, uint32_t at,
			uint32_t len)
{
	const struct node *node = party->end->node;

	if (node_is_untouched(node, party->base + at, len))
		return;
	while (*oracle_mem(party, at) == node_byte(node, party->base + at))
		at++;
	oracle_fail(o, "%c: byte 0x%x, which is nobody's, was touched", party->end->letter, at);
}

static void check_untouched(const struct oracle *o, const struct party *party)
{
	const uint32_t words_end = AREA_WORDS + ORACLE_WORDS * 8;
	const uint32_t recvs_end = AREA_RECVS + ORACLE_SLOTS * ORACLE_SLOT_BYTES;
	const uint32_t reads_end = AREA_READS + ORACLE_SLOTS * ORACLE_SLOT_BYTES;

	check_still(o, party, 0, AREA_TARGET);
	check_still(o, party, AREA_TARGET + AREA_TARGET_LEN,
		    AREA_WORDS - AREA_TARGET - AREA_TARGET_LEN);
	check_still(o, party, words_end, AREA_RECVS - words_end);
	check_still(o, party, recvs_end, AREA_READS - recvs_end);
	check_still(o, party, reads_end, AREA_BYTES - reads_end);
}

static void check_ends(const struct oracle *o, struct party *party)
{
	for (; party->done < party->num_ops; party->done++) {
		if (party->ops[party->done].signalled || party->failed)
			oracle_fail(o, "%c: request %u never came to an end", party->end->letter,
				    party->done + 1);
		oracle_check_result(o, party, &party->ops[party->done]);
	}
	if (rxe_ring_used(&party->end->qp.sq) != 0)
		oracle_fail(o, "%c: the send queue is not empty", party->end->letter);
}

static void check_party(const struct oracle *o, struct party *party)
{
	check_untouched(o, party);
	if (party->vanished)
		return;
	check_ends(o, party);
	if (party->may_fail || !oracle_is_reliable(party))
		return;
	if (missing(party) != 0)
		oracle_fail(o, "%c: a message did not arrive", party->end->letter);
	if (memcmp(oracle_mem(party, AREA_TARGET), party->target, AREA_TARGET_LEN) != 0)
		oracle_fail(o, "%c: the writes' target is not the model's", party->end->letter);
	if (memcmp(oracle_mem(party, AREA_WORDS), party->word, sizeof(party->word)) != 0)
		oracle_fail(o, "%c: a word is not the model's", party->end->letter);
}

void oracle_final(struct oracle *o)
{
	uint32_t i;

	for (i = 0; i < o->num_parties; i++)
		check_party(o, &o->party[i]);
	oracle_xrc_final(o);
	oracle_time_wait_final(o);
}
