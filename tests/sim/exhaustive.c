/* SPDX-License-Identifier: MIT */
/* Small scripts with every fate of their first packets: each subset of them is dropped, duplicated,
 * or delayed after the next. All must finish with the right bytes and each atomic executed once;
 * the oracle checks every step.
 *
 *     exhaustive [SCRIPT FATE SUBSET]     one of them alone, with its trace */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/oracle.h"

#define FIRST_PACKETS 12 /* The link decides their fate: 4096 subsets of each kind. */
#define SWAP_NS	      7000

struct script {
	const char *name;
	enum {
		HAS_ALL,
		LACKS_RECEIVES, /* at first: RNR */
		/* The responder is destroyed once it has received everything. */
		LEAVES,
		XRC,
	} how;
	struct op op[4];
	uint32_t num_ops;
};

#define LEN3 600u /* three packets at MTU 256 */

static const struct script scripts[] = {
	{ "send",
	  HAS_ALL,
	  { { .opcode = RXE_WR_SEND, .len = LEN3 }, { .opcode = RXE_WR_SEND, .len = 8 } },
	  2 },
	{ "write",
	  HAS_ALL,
	  { { .opcode = RXE_WR_RDMA_WRITE, .len = LEN3 },
	    { .opcode = RXE_WR_RDMA_WRITE, .len = LEN3, .to = 300 } },
	  2 },
	{ "read",
	  HAS_ALL,
	  { { .opcode = RXE_WR_RDMA_READ, .len = LEN3 }, { .opcode = RXE_WR_RDMA_READ, .len = 9 } },
	  2 },
	{ "atomic",
	  HAS_ALL,
	  { { .opcode = RXE_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .from = 5 },
	    { .opcode = RXE_WR_ATOMIC_CMP_AND_SWP, .len = 8, .from = 6, .imm = 1 },
	    { .opcode = RXE_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .from = 7 } },
	  3 },
	{ "write_imm",
	  HAS_ALL,
	  { { .opcode = RXE_WR_RDMA_WRITE_WITH_IMM, .len = LEN3, .imm = 3 },
	    { .opcode = RXE_WR_RDMA_WRITE_WITH_IMM, .len = 8, .imm = 4 } },
	  2 },
	{ "rnr",
	  LACKS_RECEIVES,
	  { { .opcode = RXE_WR_SEND, .len = LEN3 }, { .opcode = RXE_WR_SEND, .len = 8 } },
	  2 },
	{ "mixed",
	  HAS_ALL,
	  { { .opcode = RXE_WR_RDMA_WRITE, .len = 300 },
	    { .opcode = RXE_WR_RDMA_READ, .len = 300 },
	    { .opcode = RXE_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .from = 5 },
	    { .opcode = RXE_WR_SEND, .len = 8 } },
	  4 },
	{ "leaves",
	  LEAVES,
	  { { .opcode = RXE_WR_SEND, .len = LEN3 },
	    { .opcode = RXE_WR_RDMA_WRITE, .len = 300 },
	    { .opcode = RXE_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .from = 5 },
	    { .opcode = RXE_WR_SEND, .len = 8 } },
	  4 },
	{ "xrc",
	  XRC,
	  { { .opcode = RXE_WR_SEND, .len = LEN3 },
	    { .opcode = RXE_WR_RDMA_WRITE_WITH_IMM, .len = 300, .imm = 3, .srq = 1 },
	    { .opcode = RXE_WR_RDMA_READ, .len = 300, .srq = 1 },
	    { .opcode = RXE_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .from = 5 } },
	  4 },
};

#define NUM_SCRIPTS (sizeof(scripts) / sizeof(scripts[0]))
#define NUM_FATES   (sizeof(fates) / sizeof(fates[0]))

static const enum link_act fates[] = { LINK_DROP, LINK_DUP, LINK_DELAY };
static const char *const fate_names[] = { "drop", "double", "swap" };

static struct world world;
static struct oracle oracle;
static const struct script *script;
static size_t fate;
static uint32_t subset;

static void post_all(void)
{
	struct party *party = &oracle.party[0];
	uint32_t i;

	for (i = 0; i < script->num_ops; i++) {
		struct op op = script->op[i];

		op.signalled = true;
		op.slot = i;
		oracle_post(&oracle, party, op, 0);
	}
	for (i = 0; i < script->num_ops && script->how != LACKS_RECEIVES; i++)
		oracle_recv(&oracle, party->peer, ORACLE_SLOT_BYTES);
}

static void build(void)
{
	const uint32_t base[2] = { 0, 0 };
	struct node_qp_opts opts = world_opts();

	opts.mtu = 256;
	world_init(&world, 1);
	world.mem_len = AREA_BYTES;
	oracle_init(&oracle, &world, 1);
	oracle.shuffles = true;
	/* All losses on one packet exhaust the retry budget. */
	oracle.lossy = fates[fate] == LINK_DROP && __builtin_popcount(subset) > opts.retry_cnt;
	(void)snprintf(oracle.replay, sizeof(oracle.replay), "tests/sim/exhaustive %s %s %u",
		       script->name, fate_names[fate], subset);
	world_add_node(&world);
	world_add_node(&world);
	/* Both repeat less in two thirds of the schedules. */
	if (subset % 3) {
		node_hold(world.node[0]);
		node_hold(world.node[1]);
	}
	if (script->how == XRC) {
		opts.type = RXE_QPT_XRC_SEND;
		opts.xrcd = NODE_XRCD;
		oracle_xrc_begin(&oracle, world.node[1]);
	}
	oracle_add_pair(&oracle, world.node[0], world.node[1], base, &opts);
	link_fate(&world.link, fates[fate], subset, SWAP_NS);
}

/* Whether everything sent to it was received. */
static bool may_leave(void)
{
	const struct party *party = &oracle.party[1];

	return script->how == LEAVES && !party->has_left &&
	       party->end->qp.attr.rq_psn == party->peer->next_psn;
}

/* Missing receives are posted at the end. */
static void run(bool shows_trace, void (*retell)(void))
{
	const uint64_t until_ns = 60ull * 1000 * 1000 * 1000;

	build();
	world.trace.quiet = !shows_trace;
	oracle.shows_trace = shows_trace;
	oracle.retell = retell;
	post_all();
	world_run_until(&world, 40);
	do {
		oracle_recv_missing(&oracle, &oracle.party[1]);
		if (may_leave())
			oracle_leave(&oracle, &oracle.party[1], subset & 1);
	} while (world_step(&world, until_ns));
	oracle_final(&oracle);
}

static void retell(void)
{
	run(true, NULL);
}

static int run_one(const char *script_name, const char *fate_name)
{
	size_t i;

	for (i = 0; i < NUM_SCRIPTS; i++) {
		if (strcmp(script_name, scripts[i].name) == 0)
			script = &scripts[i];
	}
	while (fate < NUM_FATES && strcmp(fate_name, fate_names[fate]) != 0)
		fate++;
	if (!script || fate == NUM_FATES) {
		(void)fprintf(stderr, "no such script or fate\n");
		return EXIT_FAILURE;
	}
	run(true, retell);
	(void)fputs(world.trace.text, stdout);
	world_fini(&world);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	uint32_t total = 0;

	/* 110,000 fixtures are created and freed: keep their memory, mapped once. */
	(void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);

	if (argc == 4) {
		subset = (uint32_t)strtoul(argv[3], NULL, 0);
		return run_one(argv[1], argv[2]);
	}
	for (script = scripts; script < scripts + NUM_SCRIPTS; script++) {
		for (fate = 0; fate < NUM_FATES; fate++) {
			for (subset = 0; subset < 1u << FIRST_PACKETS; subset++, total++) {
				run(false, retell);
				world_fini(&world);
			}
		}
	}
	(void)printf("%u schedules of %zu scripts\n", total, NUM_SCRIPTS);
	return EXIT_SUCCESS;
}
