/* SPDX-License-Identifier: MIT */
/* Random lives: networks, hosts, queue pairs and accidents, and how the random numbers choose
 * them. */
#include "tests/sim/life.h"

#include "lib/unkind/plan.h"
#include "net/wire/opcode.h"

#define HEALED_UNTIL (20ull * 1000 * 1000 * 1000)

static uint32_t dice(struct world *w, uint32_t limit)
{
	return link_random(&w->link, limit);
}

/* Perfect, with losses, with reordering, with both; each of them wide or narrow. */
static void choose_network(struct oracle *o)
{
	struct link *link = &o->w->link;
	uint32_t kind = dice(o->w, 4);
	uint32_t bad = 10u << dice(o->w, 4);

	link->delay_ns = 200 + dice(o->w, 20000);
	link->dice.max_delay_ns = 1000 + dice(o->w, 60000);
	if (kind & 1)
		link->dice.drop = bad;
	if (kind & 2) {
		link->dice.delay = bad;
		link->dice.dup = bad / 2;
		link->dice.corrupt = bad / 8;
	}
	o->shuffles = kind & 2;
	o->lossy = kind != 0;
	if (dice(o->w, 4) == 0) {
		link->ns_per_kb = 100 + dice(o->w, 1000);
		link->queue_kb = dice(o->w, 2) ? 8 + dice(o->w, 64) : 0;
		o->lossy = true; /* a long delay counts as a loss */
	}
}

/* In every third life, accesses to some nodes' memory are deferred, up to every eighth. */
static void choose_lateness(struct oracle *o, struct node *node)
{
	uint32_t mixed = (uint32_t)(o->seed * 2654435761u) >> 8 ^ node->index * 77u;

	if (o->seed % 3 || mixed % 2)
		return;
	node->deferred_rate = 1u << (4 + mixed / 2 % 10);
	node->deferred_random = mixed;
	/* A requester cannot tell a deferred READ from a lost one. */
	o->lossy = true;
}

/* In every tenth life some nodes are unkind. */
static void choose_unkindness(struct oracle *o, struct node *node)
{
	const struct unkind_plan plan = {
		.seed = o->seed,
		.switches = (uint32_t)(o->seed * 2654435761u) >> 7 ^ node->index * 77u,
	};

	if (o->seed % 10 != 9)
		return;
	node_be_unkind(node, &plan);
	/* A requester cannot tell a READ that is answered late from a lost one. */
	o->lossy = true;
}

/* In every fourth life the nodes share a machine, and processes are stopped in it. */
static bool has_stops(const struct oracle *o)
{
	return o->seed % 4 == 1;
}

static void choose_stops(struct oracle *o)
{
	if (!has_stops(o))
		return;
	o->stop_random = (uint32_t)(o->seed * 2654435761u) | 1;
	world_share_machine(o->w);
}

/* For up to a second, thousands of times the timeout; one in eight for up to an hour. No retry may
 * run out: oracle.lossy stays. */
static void stop_sometimes(struct oracle *o, struct node *node)
{
	uint64_t ns;

	if (!o->stop_random)
		return;
	o->stop_random = o->stop_random * 1664525u + 1013904223u;
	if (o->stop_random >> 28)
		return;
	ns = 1 + (uint64_t)(o->stop_random >> 8 & 0xffff) * 15000;
	if ((o->stop_random >> 24 & 7) == 0)
		ns *= 3600;
	o->stops += node->asleep_until_ns == 0;
	world_stop(o->w, node, o->w->now_ns + ns);
}

static enum rxe_qp_type choose_type(struct world *w)
{
	static const enum rxe_qp_type others[] = { RXE_QPT_UC, RXE_QPT_UD };

	return dice(w, 6) ? RXE_QPT_RC : others[dice(w, 2)];
}

/* In every fifth life, most pairs are of XRC, their targets on one host. */
static struct node_qp_opts choose_opts(struct world *w, bool with_xrc)
{
	struct node_qp_opts opts = world_opts();

	opts.type = with_xrc && dice(w, 5) ? RXE_QPT_XRC_SEND : choose_type(w);
	opts.mtu = 256u << dice(w, dice(w, 3) ? 3 : 5);
	opts.psn = dice(w, 2) ? PSN_MASK - dice(w, 20) : dice(w, PSN_MASK);
	opts.timeout = (uint8_t)(5 + dice(w, 4));
	opts.retry_cnt = dice(w, 6) ? 7 : (uint8_t)dice(w, 7);
	opts.rnr_timer = (uint8_t)(1 + dice(w, 8));
	opts.rnr_retry = dice(w, 6) ? 7 : (uint8_t)dice(w, 7);
	opts.rd_atomic = (uint8_t)(1u << dice(w, 8));
	opts.use_srq = dice(w, 5) == 0 && opts.type != RXE_QPT_XRC_SEND;
	opts.xrcd = NODE_XRCD + (dice(w, 3) == 0);
	opts.rearms = opts.type != RXE_QPT_UD && dice(w, 4) == 0;
	opts.rate_kbps = dice(w, 8) ? 0 : 100000 + dice(w, 900000);
	return opts;
}

void life_begin(struct oracle *o)
{
	struct world *w = o->w;
	bool with_xrc = dice(w, 5) == 0;
	uint32_t nodes = 2 + (dice(w, 3) ? 0 : dice(w, 4)), pairs = 1 + dice(w, 3 + with_xrc), i;
	uint32_t host = dice(w, nodes); /* of XRC targets */
	struct node_qp_opts opts[ORACLE_MAX_PARTIES];
	uint32_t from[ORACLE_MAX_PARTIES] = { 0 }, used[WORLD_MAX_NODES] = { 0 };
	uint32_t base[ORACLE_MAX_PARTIES];

	choose_network(o);
	for (i = 0; i < 2 * pairs; i += 2) {
		opts[i] = choose_opts(w, with_xrc);
		/* Others may back off for as long as a process is stopped. */
		if (has_stops(o))
			opts[i].rnr_timer = (uint8_t)(opts[i].rnr_timer + 16);
		/* Sometimes a QP talks to its own host. */
		from[i] = dice(w, nodes);
		from[i + 1] = dice(w, 8) ? (from[i] + 1 + dice(w, nodes - 1)) % nodes : from[i];
		if (opts[i].type == RXE_QPT_XRC_SEND)
			from[i + 1] = host;
		base[i] = AREA_BYTES * used[from[i]]++;
		base[i + 1] = AREA_BYTES * used[from[i + 1]]++;
	}
	for (i = 0; i < nodes; i++) {
		w->mem_len = AREA_BYTES * (used[i] ? used[i] : 1);
		world_add_node(w)->max_segs = dice(w, 3) ? TRAIN_MAX_SEGS : 1 + dice(w, 6);
		choose_lateness(o, w->node[i]);
		choose_unkindness(o, w->node[i]);
		if (dice(w, 3))
			node_hold(w->node[i]);
		w->node[i]->engine.cfg.probe_ns =
			dice(w, 2) ? 20000 + dice(w, dice(w, 2) ? 200000 : 4000000) : 0;
	}
	choose_stops(o);
	/* Processes of one machine, which leave AckReq out. */
	if (!has_stops(o) && dice(w, 2))
		world_share_machine(w);
	if (with_xrc)
		oracle_xrc_begin(o, w->node[host]);
	for (i = 0; i < 2 * pairs; i += 2) {
		oracle_add_pair(o, w->node[from[i]], w->node[from[i + 1]], base + i, &opts[i]);
		if (dice(w, 3) == 0 && opts[i].type != RXE_QPT_XRC_SEND)
			o->party[i].end->qp.rc.reply.ack_delay_ns =
				o->party[i + 1].end->qp.rc.reply.ack_delay_ns = 3000;
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
		RXE_WR_FLUSH,
		RXE_WR_ATOMIC_WRITE,
		RXE_WR_BIND_MW,
		RXE_WR_RDMA_READ,
		RXE_WR_ATOMIC_CMP_AND_SWP,
		RXE_WR_ATOMIC_FETCH_AND_ADD,
	};

	return opcodes[dice(w, oracle_find_slot(party, ret_slot) ? 11 : 8)];
}

static void choose_reliable(struct world *w, const struct party *party, struct op *op)
{
	bool writes, is_long;

	op->opcode = choose_opcode(w, party, &op->slot);
	if (op->opcode == RXE_WR_BIND_MW) {
		bool signalled = op->signalled;

		*op = oracle_mw_turn(party);
		op->signalled = signalled;
		return;
	}
	writes = op->opcode == RXE_WR_RDMA_WRITE || op->opcode == RXE_WR_RDMA_WRITE_WITH_IMM;
	is_long = writes && dice(w, 8) == 0;
	op->len = dice(w, 4) ? dice(w, is_long ? ORACLE_WRITE_BYTES : ORACLE_SLOT_BYTES)
			     : dice(w, 100);
	if (op->opcode == RXE_WR_ATOMIC_CMP_AND_SWP || op->opcode == RXE_WR_ATOMIC_FETCH_AND_ADD ||
	    op->opcode == RXE_WR_ATOMIC_WRITE)
		op->len = 8;
	op->to = dice(w, AREA_TARGET_LEN - (is_long ? ORACLE_WRITE_BYTES : ORACLE_SLOT_BYTES));
	op->imm = op->opcode == RXE_WR_SEND ? 0 : dice(w, 1u << 30);
	if (op->opcode != RXE_WR_FLUSH)
		return;
	op->flush_len = op->len;
	op->len = 0;
	op->feth = (struct feth){ (uint8_t)(1 + dice(w, 3)),
				  dice(w, 4) == 0 ? FETH_REGION : FETH_RANGE };
}

/* The immediate names the request. */
static void choose_unreliable(struct world *w, const struct party *party, struct op *op)
{
	bool writes = party->opts.type == RXE_QPT_UC && dice(w, 2);

	op->opcode = writes ? RXE_WR_RDMA_WRITE_WITH_IMM : RXE_WR_SEND_WITH_IMM;
	op->imm = party->num_ops;
	op->len = dice(w, ORACLE_SLOT_BYTES - 40);
	if (writes)
		op->len %= ORACLE_UC_BYTES;
	else if (party->opts.type == RXE_QPT_UD)
		op->len %= 1 + party->end->qp.attr.path_mtu;
	op->to = party->num_ops % 16 * ORACLE_UC_BYTES;
}

static void post_something(struct oracle *o, struct party *party, uint32_t sabotage)
{
	struct world *w = o->w;
	struct op op = { .signalled = dice(w, 3) > 0 };

	if (oracle_is_target(party))
		party = party->peer;
	if (party->num_ops == ORACLE_MAX_OPS || party->vanished || party->peer->has_left ||
	    !rxe_qp_has_send_slot(&party->end->qp))
		return;
	if (oracle_is_reliable(party))
		choose_reliable(w, party, &op);
	else
		choose_unreliable(w, party, &op);
	if (oracle_is_xrc(party) && !oracle_xrc_choose(o, party, &op.srq))
		return;
	op.from = dice(w, AREA_SOURCE_LEN - ORACLE_WRITE_BYTES);
	oracle_post(o, party, op, sabotage);
}

static void forge_one(struct oracle *o, struct party *party)
{
	static const uint8_t payload[4096];
	struct world *w = o->w;
	const struct rxe_qp *qp = &party->end->qp;
	uint32_t base = dice(w, 2) ? qp->attr.sq_psn : party->peer->end->qp.rc.req.una_psn;
	const struct party *target = oracle_is_target(party) ? party : party->peer;
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(rxe_qp_service(qp), (enum wire_op)dice(w, 32)),
			 .psn = psn_add(base, PSN_MASK - 3 + dice(w, 8)),
			 .ack_req = dice(w, 2) },
		.feth = { (uint8_t)dice(w, 16), (uint8_t)dice(w, 4) },
		.reth = { .va = dice(w, AREA_TARGET_LEN),
			  .rkey = dice(w, 4) ? party->peer->keys[0].target : dice(w, 1u << 20),
			  .len = dice(w, 3) ? dice(w, 3000) : dice(w, UINT32_MAX) },
		.aeth = { .syndrome = (uint8_t)dice(w, 128), .msn = dice(w, 100) },
		.imm = dice(w, UINT32_MAX),
		.xrc_srqn = target->end->node->xsrq[dice(w, NODE_XSRQS)].srq.srqn + !dice(w, 8),
	};

	if (!party->peer->is_device_memory)
		packet.reth.va += party->peer->end->node->base + party->peer->base + AREA_TARGET;
	packet.atomic = (struct atomic_eth){ .va = packet.reth.va & ~(uint64_t)dice(w, 8),
					     .rkey = party->peer->keys[0].words };
	packet.shape = wire_shape(packet.bth.opcode);
	if (packet.shape == 0)
		return;
	if (packet.shape & SHAPE_PAYLOAD)
		packet.payload_len = dice(w, 2) ? qp->attr.path_mtu : dice(w, 2000);
	world_inject(w, party->end, &packet, payload);
}

void life_forge(struct oracle *o, struct party *party)
{
	uint32_t n = 1 + dice(o->w, 40);

	if (!oracle_is_reliable(party) || party->vanished || party->peer->vanished)
		return;
	party->is_forged = party->peer->is_forged = true;
	while (n-- > 0)
		forge_one(o, party);
}

/* The party closes the window of its target, whatever the peer is about to write there. */
static void close_window(struct oracle *o, struct party *party)
{
	if (party->has_window && !party->vanished && !party->has_left &&
	    party->num_ops < ORACLE_MAX_OPS && rxe_qp_has_send_slot(&party->end->qp))
		oracle_post(o, party, oracle_mw_close(party), 0);
}

/* An accident that ends the pair, and sometimes a new connection after it. */
static void wreck(struct oracle *o, struct party *party)
{
	struct world *w = o->w;

	party->may_fail = party->peer->may_fail = true;
	party->deserted = party->peer->deserted = false;
	switch (dice(w, oracle_is_xrc(party) ? 13 : 10)) {
	case 0:
		if (!party->vanished)
			world_modify(w, party->end, RXE_QPS_ERR);
		break;
	case 1: node_dereg(party->end->node, party->keys[0].target); break;
	case 2:
		if (!party->opts.use_srq && !oracle_is_xrc(party)) /* others might use it */
			oracle_recv(o, party, 1);
		break;
	case 3: post_something(o, party, 1); break;
	case 4: post_something(o, party, 2); break;
	case 5: life_forge(o, party); break;
	case 6: oracle_vanish(o, party); break;
	case 7: oracle_lose_memory(party); break;
	case 8: node_dereg(party->end->node, party->keys[0].source); break;
	case 9: close_window(o, party); break;
	case 10: post_something(o, party, 3); break;
	case 11: post_something(o, party, 4); break;
	case 12:
		oracle_xrc_destroy(o, (oracle_is_target(party) ? party : party->peer)->end->node);
		break;
	}
	world_run_until(w, (double)(w->now_ns + dice(w, 100000)) / 1000);
	if (dice(w, 2))
		oracle_renew_pair(o, party, dice(w, 2));
}

/* The program is done or exits: a peer that waits for an ACK must still get it. */
static void leave(struct oracle *o, struct party *party)
{
	struct world *w = o->w;

	oracle_leave(o, party, dice(w, 2));
	world_run_until(w, (double)(w->now_ns + dice(w, 1000000)) / 1000);
	if (dice(w, 2))
		oracle_renew_pair(o, party, false);
}

/* Drains a send queue, or resumes it. */
static void drain_or_resume(struct oracle *o, struct party *party)
{
	if (oracle_is_target(party))
		return;
	switch (party->end->qp.state) {
	case RXE_QPS_RTS: world_modify(o->w, party->end, RXE_QPS_SQD); return;
	case RXE_QPS_SQD: world_modify(o->w, party->end, RXE_QPS_RTS); return;
	case RXE_QPS_RESET:
	case RXE_QPS_INIT:
	case RXE_QPS_RTR:
	case RXE_QPS_SQE:
	case RXE_QPS_ERR: return;
	}
}

/* A program migrates, or names the other path as alternate again. Or one path loses everything. A
 * peer that has just named another path is not armed, and refuses packets by the old one until it
 * gets a packet; where processes are stopped, that takes longer than all retries. */
static void change_path(struct oracle *o, struct party *party)
{
	const struct rxe_qp_attr migrated = { .path_mig_state = RXE_MIG_MIGRATED };
	struct end *end = party->end;
	struct world *w = o->w;

	if (dice(w, 3) == 0) {
		w->link.cut = dice(w, 3);
		o->lossy = true;
		return;
	}
	if (has_stops(o) || !party->opts.rearms || party->vanished || end->qp.state != RXE_QPS_RTS)
		return;
	if (dice(w, 2))
		node_rearm(end, party->opts.timeout);
	else if (end->qp.attr.path_mig_state == RXE_MIG_ARMED)
		(void)rxe_qp_modify(&end->node->engine, &end->qp, &migrated, RXE_QP_PATH_MIG_STATE,
				    w->now_ns);
}

/* Events without effect on any pair. */
static void happen(struct oracle *o, struct party *party)
{
	struct world *w = o->w;
	struct node *node = party->end->node;

	switch (dice(w, 4)) {
	case 0: drain_or_resume(o, party); break;
	case 1:
		o->lossy = true;
		node->socket_bytes = dice(w, 2) ? 20000 : 0;
		world_sleep(w, node, w->now_ns + 1 + dice(w, 300000));
		break;
	case 2: oracle_renew_pair(o, party, dice(w, 2)); break;
	case 3: change_path(o, party); break;
	}
}

static void live(struct oracle *o)
{
	struct world *w = o->w;
	uint32_t accidents = dice(w, 3), steps = 5u << dice(w, 4), step, n;

	for (step = 0; step < steps; step++) {
		struct party *party = &o->party[dice(w, o->num_parties)];

		for (n = dice(w, 5); n > 0; n--)
			post_something(o, party, 0);
		for (n = dice(w, 6); n > 0; n--)
			oracle_recv(o, party->peer, ORACLE_SLOT_BYTES);
		stop_sometimes(o, party->end->node);
		if (accidents > 0 && dice(w, 12) == 0)
			happen(o, party);
		if (accidents > 1 && dice(w, 20) == 0)
			wreck(o, party);
		if (accidents > 1 && dice(w, 25) == 0)
			leave(o, party);
		world_run_until(w, (double)(w->now_ns + dice(w, 40000)) / 1000);
	}
}

static void heal(struct oracle *o)
{
	struct world *w = o->w;
	uint64_t until_ns;
	uint32_t i;

	w->link.dice = (struct link_dice){ 0 };
	w->link.queue_kb = 0;
	w->link.cut = 0;
	for (i = 0; i < o->num_parties; i++) {
		struct party *party = &o->party[i];

		party->end->node->deferred_rate = 0;
		party->end->node->socket_bytes = 0;
		if (party->end->qp.state == RXE_QPS_SQD)
			world_modify(w, party->end, RXE_QPS_RTS);
	}
	world_flush(w);
	until_ns = w->now_ns;
	for (i = 0; i < w->num_nodes; i++)
		if (w->node[i]->asleep_until_ns > until_ns)
			until_ns = w->node[i]->asleep_until_ns;
	until_ns += HEALED_UNTIL;
	do {
		for (i = 0; i < o->num_parties; i++)
			oracle_recv_missing(o, &o->party[i]);
	} while (world_step(w, until_ns));
	if (link_next_ns(&w->link) != UINT64_MAX)
		oracle_fail(o, "packets are still under way after %.1f s of a good network",
			    (double)HEALED_UNTIL / 1e9);
}

void life_run(struct oracle *o)
{
	live(o);
	heal(o);
	oracle_final(o);
}
