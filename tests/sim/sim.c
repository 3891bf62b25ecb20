/* SPDX-License-Identifier: MIT */
/* Many short lives of a small world, a seed each: random connections, requests and faults of the network, with the oracle looking
 * on. sim [--seed N] [--count N] [--trace]: from seed N on, so many; one seed with its trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/opcode.h"
#include "tests/sim/oracle.h"

#define STEPS	     40
#define HEALED_UNTIL (20ull * 1000 * 1000 * 1000)

static uint32_t dice(struct world *w, uint32_t limit)
{
	return link_random(&w->link, limit);
}

/* Four kinds of network: perfect, one that loses, one that shuffles, one that does it all. */
static void choose_network(struct world *w, struct oracle *o)
{
	uint32_t kind = dice(w, 4);
	uint32_t bad = 10u << dice(w, 4);

	w->link.delay_ns = 200 + dice(w, 20000);
	w->link.dice.max_delay_ns = 1000 + dice(w, 60000);
	if (kind & 1)
		w->link.dice.drop = bad;
	if (kind & 2) {
		w->link.dice.delay = bad;
		w->link.dice.dup = bad / 2;
		w->link.dice.corrupt = bad / 8;
	}
	o->lossy = kind != 0;
}

static struct node_qp_opts choose_opts(struct world *w)
{
	struct node_qp_opts opts = world_opts();

	opts.mtu = 256u << dice(w, 3);
	opts.psn = dice(w, 2) ? PSN_MASK - dice(w, 20) : dice(w, PSN_MASK);
	opts.timeout = (uint8_t)(5 + dice(w, 4));
	opts.rnr_timer = (uint8_t)(1 + dice(w, 8));
	opts.rd_atomic = (uint8_t)(1u << dice(w, 5));
	return opts;
}

static void populate(struct world *w, struct oracle *o)
{
	uint32_t pairs = 1 + dice(w, 3), i;

	world_add_node(w);
	world_add_node(w);
	for (i = 0; i < 2; i++)
		w->node[i]->max_segs = dice(w, 3) ? TRAIN_MAX_SEGS : 1 + dice(w, 6);
	for (i = 0; i < pairs; i++) {
		struct node_qp_opts opts = choose_opts(w);
		struct end *x, *y;

		/* Sometimes a QP talks to its own host. */
		world_pair(w, w->node[0], w->node[dice(w, 8) > 0], &opts, &x, &y);
		if (dice(w, 3) == 0)
			x->qp.rc.reply.hold_ns = y->qp.rc.reply.hold_ns = 3000;
		oracle_add_pair(o, x, y);
	}
}

static enum rxe_wr_opcode choose_opcode(struct world *w, const struct party *party,
					uint32_t *ret_slot)
{
	static const enum rxe_wr_opcode opcodes[] = {
		RXE_WR_SEND,
		RXE_WR_SEND_WITH_IMM,
		RXE_WR_RDMA_WRITE,
		RXE_WR_RDMA_WRITE,
		RXE_WR_RDMA_WRITE_WITH_IMM,
		RXE_WR_RDMA_READ,
		RXE_WR_ATOMIC_CMP_AND_SWP,
		RXE_WR_ATOMIC_FETCH_AND_ADD,
	};

	return opcodes[dice(w, oracle_find_slot(party, ret_slot) ? 8 : 5)];
}

static void post_something(struct oracle *o, struct party *party, uint32_t sabotage)
{
	struct world *w = o->w;
	struct op op = { .signalled = dice(w, 3) > 0 };

	if (party->num_ops == ORACLE_MAX_OPS ||
	    rxe_ring_used(&party->end->qp.sq) >= party->end->qp.sq.limit)
		return;
	op.opcode = choose_opcode(w, party, &op.slot);
	op.len = dice(w, 4) ? dice(w, ORACLE_SLOT_BYTES) : dice(w, 100);
	if (op.opcode == RXE_WR_ATOMIC_CMP_AND_SWP || op.opcode == RXE_WR_ATOMIC_FETCH_AND_ADD)
		op.len = 8;
	op.from = dice(w, AREA_SOURCE_LEN - ORACLE_SLOT_BYTES);
	op.to = dice(w, AREA_TARGET_LEN - ORACLE_SLOT_BYTES);
	op.imm = op.opcode == RXE_WR_SEND ? 0 : dice(w, 1u << 30);
	oracle_post(o, party, op, sabotage);
}

/* Packets that a peer with ill will might send: of every operation, near the PSNs in use, with keys good and bad. */
static void forge(struct oracle *o, struct party *party)
{
	static const uint8_t payload[4096];
	struct world *w = o->w;
	uint32_t n = 1 + dice(w, 40);

	party->is_forged = party->peer->is_forged = true;
	while (n-- > 0) {
		const struct rxe_qp *qp = &party->end->qp;
		uint32_t base = dice(w, 2) ? qp->attr.sq_psn : party->peer->end->qp.rc.req.una_psn;
		struct wire_packet packet = {
			.bth = { .opcode = opcode_make(WIRE_RC, (enum wire_op)dice(w, 24)),
				 .psn = psn_add(base, PSN_MASK - 3 + dice(w, 8)),
				 .ack_req = dice(w, 2) },
			.reth = { .va = party->peer->end->node->base + party->peer->base +
					AREA_TARGET + dice(w, AREA_TARGET_LEN),
				  .rkey = dice(w, 4) ? party->peer->key_target : dice(w, 1u << 20),
				  .len = dice(w, 3) ? dice(w, 3000) : dice(w, UINT32_MAX) },
			.aeth = { .syndrome = (uint8_t)dice(w, 128), .msn = dice(w, 100) },
			.imm = dice(w, UINT32_MAX),
		};

		packet.atomic = (struct atomic_eth){ .va = packet.reth.va & ~(uint64_t)dice(w, 8),
						     .rkey = party->peer->key_words };
		packet.shape = wire_shape(packet.bth.opcode);
		if (packet.shape == 0)
			continue;
		if (packet.shape & SHAPE_PAYLOAD)
			packet.payload_len = dice(w, 2) ? qp->attr.path_mtu : dice(w, 2000);
		world_inject(w, party->end, &packet, payload);
	}
}

/* Something that no pair survives. */
static void wreck(struct oracle *o, struct party *party)
{
	struct world *w = o->w;

	party->may_fail = true;
	party->peer->may_fail = true;
	switch (dice(w, 6)) {
	case 0: world_modify(w, party->end, RXE_QPS_ERR); break;
	case 1: node_dereg(party->end->node, party->key_target); break;
	case 2: oracle_recv(o, party, 1); break;
	case 3: post_something(o, party, 1); break;
	case 4: post_something(o, party, 2); break;
	case 5: forge(o, party); break;
	}
}

static void live(struct oracle *o)
{
	struct world *w = o->w;
	bool rough = dice(w, 3) == 0;
	uint32_t step;

	for (step = 0; step < STEPS; step++) {
		struct party *party = &o->party[dice(w, o->num_parties)];
		uint32_t n = dice(w, 5);

		while (n-- > 0)
			post_something(o, party, 0);
		for (n = dice(w, 6); n > 0; n--)
			oracle_recv(o, party->peer, ORACLE_SLOT_BYTES);
		if (rough && dice(w, 20) == 0)
			wreck(o, party);
		world_run_until(w, (double)(w->now_ns + dice(w, 40000)) / 1000);
	}
}

/* The network heals, and everybody has receives. */
static void heal(struct oracle *o)
{
	struct world *w = o->w;
	uint64_t until_ns = w->now_ns + HEALED_UNTIL;
	uint32_t i;

	w->link.dice = (struct link_dice){ 0 };
	world_flush(w);
	do {
		for (i = 0; i < o->num_parties; i++) {
			struct party *party = &o->party[i];

			while (party->num_recvs - party->recvs_done < oracle_missing_recvs(party) &&
			       oracle_recv(o, party, ORACLE_SLOT_BYTES))
				;
		}
	} while (world_step(w, until_ns));
	if (link_next_ns(&w->link) != UINT64_MAX)
		oracle_fail(o, "packets are still under way after %.1f s of a good network",
			    (double)HEALED_UNTIL / 1e9);
}

static uint64_t run_seed(uint64_t seed, bool shows_trace)
{
	static struct world w;
	static struct oracle o;

	world_init(&w, seed);
	w.mem_len = AREA_BYTES * 6;
	w.trace.quiet = !shows_trace;
	oracle_init(&o, &w, seed);
	o.shows_trace = shows_trace;
	choose_network(&w, &o);
	populate(&w, &o);
	live(&o);
	heal(&o);
	oracle_final(&o);
	if (shows_trace && w.trace.text)
		(void)fputs(w.trace.text, stdout);
	world_fini(&w);
	return o.given_up;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, count = 2000, given_up = 0, i;
	bool shows_trace = false;
	int arg;

	for (arg = 1; arg < argc; arg++) {
		if (strcmp(argv[arg], "--trace") == 0) {
			shows_trace = true;
		} else if (strcmp(argv[arg], "--seed") == 0 && arg + 1 < argc) {
			seed = strtoull(argv[++arg], NULL, 0);
			count = 1;
		} else if (strcmp(argv[arg], "--count") == 0 && arg + 1 < argc) {
			count = strtoull(argv[++arg], NULL, 0);
		} else {
			(void)fprintf(stderr, "usage: sim [--seed N] [--count N] [--trace]\n");
			return EXIT_FAILURE;
		}
	}
	for (i = 0; i < count; i++) {
		uint64_t n = run_seed(seed + i, shows_trace);

		if (n > 0)
			(void)printf("seed %llu: %llu out of retries\n",
				     (unsigned long long)(seed + i), (unsigned long long)n);
		given_up += n;
	}
	(void)printf("%llu schedules from seed %llu, %llu requests out of retries\n",
		     (unsigned long long)count, (unsigned long long)seed,
		     (unsigned long long)given_up);
	return EXIT_SUCCESS;
}
