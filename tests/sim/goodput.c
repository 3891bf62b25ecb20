/* SPDX-License-Identifier: MIT */
/* Throughput of a lossy network: one pair, 16 posted requests, a link of 10 Gbit/s and 5 us one
 * way; three or ten seeds each. "alone": the peer drops what arrives after a missing request, as
 * rdma_rxe does. Virtual time makes the table the same on every machine. goodput.txt keeps it, so a
 * review sees changes.
 *
 *     goodput                    prints the table
 *     goodput --compare FILE     prints the differences from the table in the file */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

#define TOTAL_BYTES (25u << 20)
#define POSTED	    16u
#define NS_PER_KB   819 /* 10 Gbit/s */

struct kind {
	const char *name;
	enum rxe_wr_opcode opcode;
	uint32_t bytes; /* of a request */
	bool peer_drops;
	bool all_faults; /* others: losses alone */
	uint32_t seeds;
};

static const struct kind kinds[] = {
	{ "write", RXE_WR_RDMA_WRITE, 65536, false, true, 10 },
	{ "send", RXE_WR_SEND, 65536, false, true, 10 },
	{ "read", RXE_WR_RDMA_READ, 65536, false, true, 10 },
	{ "alone", RXE_WR_RDMA_WRITE, 65536, true, false, 3 },
	{ "write", RXE_WR_RDMA_WRITE, 4096, false, false, 3 },
	{ "send", RXE_WR_SEND, 4096, false, false, 3 },
	{ "read", RXE_WR_RDMA_READ, 4096, false, false, 3 },
	{ "write", RXE_WR_RDMA_WRITE, 1 << 20, false, false, 3 },
	{ "send", RXE_WR_SEND, 1 << 20, false, false, 3 },
	{ "read", RXE_WR_RDMA_READ, 1 << 20, false, false, 3 },
};

/* Losses in 1000. */
static const struct link_dice faults[] = {
	{ 0 },
	{ .drop = 1 },
	{ .drop = 5 },
	{ .drop = 10 },
	{ .drop = 20 },
	{ .drop = 50 },
	{ .drop = 100 },
	{ .dup = 10 },
	{ .delay = 10, .max_delay_ns = 20000 },
	{ .delay = 50, .max_delay_ns = 20000 },
	{ .corrupt = 1 },
};
/* Of them, those without a loss and with losses come first. */
#define NUM_LOSSES 7

struct flow {
	struct world *w;
	const struct kind *kind;
	struct end *from, *to;
	uint32_t posted, done;
	uint64_t last_ns;
};

static void post_one(struct flow *flow)
{
	const struct post post = { .op = flow->kind->opcode, .len = flow->kind->bytes };

	if (flow->posted == TOTAL_BYTES / flow->kind->bytes)
		return;
	flow->posted++;
	if (flow->kind->opcode == RXE_WR_SEND &&
	    world_recv(flow->w, flow->to, 0, flow->kind->bytes) != POST_OK)
		abort();
	if (world_post(flow->w, flow->from, post) != POST_OK)
		abort();
}

static void completed(void *context, struct end *end, const struct rxe_cq *cq,
		      const struct rxe_cqe *cqe)
{
	struct flow *flow = context;

	(void)cq;
	if (cqe->status != RXE_WC_SUCCESS) {
		(void)printf("a request failed: %s\n", trace_status_str(cqe->status));
		exit(EXIT_FAILURE);
	}
	if (end != flow->from)
		return;
	flow->done++;
	flow->last_ns = flow->w->now_ns;
	post_one(flow);
}

struct sums {
	double mbit; /* goodput */
	uint64_t packets, retries, timeouts;
};

static uint64_t timeouts_in(const char *text)
{
	uint64_t n = 0;

	while (text && (text = strstr(text, "  timeout,"))) {
		n++;
		text++;
	}
	return n;
}

static void run(const struct kind *kind, const struct link_dice *dice, uint64_t seed,
		struct sums *sums)
{
	static struct world w;
	struct node_qp_opts opts = world_opts();
	struct flow flow = { .w = &w, .kind = kind };
	uint32_t i;

	opts.mtu = 4096;
	opts.timeout = 12; /* 17 ms */
	world_init(&w, seed);
	w.mem_len = kind->bytes;
	node_hold(world_add_node(&w));
	world_add_node(&w);
	if (!kind->peer_drops)
		node_hold(w.node[1]);
	world_pair(&w, w.node[0], w.node[1], &opts, &flow.from, &flow.to);
	flow.from->qp.rc.retry.probe_after_ns = flow.from->qp.rc.retry.probe_max_ns = 8000000;
	w.link.ns_per_kb = NS_PER_KB;
	w.link.dice = *dice;
	w.watch.completion = completed;
	w.watch.context = &flow;
	for (i = 0; i < POSTED; i++)
		post_one(&flow);
	world_run(&w);
	if (flow.done != TOTAL_BYTES / kind->bytes)
		abort();
	sums->mbit += (double)TOTAL_BYTES * 8e3 / (double)flow.last_ns / kind->seeds;
	sums->packets += w.sent;
	sums->retries += flow.from->node->counters.completer_retry_err;
	sums->timeouts += timeouts_in(w.trace.text);
	world_fini(&w);
}

static void name_fault(const struct link_dice *dice, char *to, size_t room)
{
	if (dice->drop)
		(void)snprintf(to, room, "%.1f%% lost", dice->drop / 10.0);
	else if (dice->dup)
		(void)snprintf(to, room, "%.1f%% doubled", dice->dup / 10.0);
	else if (dice->delay)
		(void)snprintf(to, room, "%.1f%% delayed", dice->delay / 10.0);
	else if (dice->corrupt)
		(void)snprintf(to, room, "%.1f%% corrupt", dice->corrupt / 10.0);
	else
		(void)snprintf(to, room, "none");
}

static void row(FILE *to, const struct kind *kind, const struct link_dice *dice, double *best)
{
	struct sums sums = { 0 };
	char fault[32];
	uint64_t seed;

	for (seed = 1; seed <= kind->seeds; seed++)
		run(kind, dice, seed, &sums);
	if (*best == 0)
		*best = sums.mbit;
	name_fault(dice, fault, sizeof(fault));
	(void)fprintf(to, "%-6s %7u %-13s %8.0f %6.2f %9.1f %9.1f %9.1f\n", kind->name, kind->bytes,
		      fault, sums.mbit, sums.mbit / *best, (double)sums.packets / kind->seeds,
		      (double)sums.retries / kind->seeds, (double)sums.timeouts / kind->seeds);
}

static void table(FILE *to)
{
	size_t k, f;

	(void)fprintf(to, "%-6s %7s %-13s %8s %6s %9s %9s %9s\n", "op", "bytes", "fault", "Mbit/s",
		      "ratio", "packets", "retries", "timeouts");
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		size_t num = kinds[k].all_faults ? sizeof(faults) / sizeof(faults[0]) : NUM_LOSSES;
		double best = 0;

		for (f = 0; f < num; f++)
			row(to, &kinds[k], &faults[f], &best);
	}
}

/* Compares line by line. Returns the number of lines that differ. */
static int compare(FILE *is, FILE *was)
{
	char now[128], then[128];
	int differ = 0;

	for (;;) {
		const char *a = fgets(now, sizeof(now), is);
		const char *b = fgets(then, sizeof(then), was);

		if (!a && !b)
			return differ;
		if (a && b && strcmp(a, b) == 0)
			continue;
		(void)printf("was: %sis:  %s", b ? b : "nothing\n", a ? a : "nothing\n");
		differ++;
	}
}

static int compare_with(const char *path)
{
	FILE *was = fopen(path, "r"), *is = tmpfile();
	int differ;

	if (!was || !is) {
		(void)fprintf(stderr, "cannot open %s\n", path);
		return EXIT_FAILURE;
	}
	table(is);
	rewind(is);
	differ = compare(is, was);
	(void)fclose(is);
	(void)fclose(was);
	if (differ > 0)
		(void)printf("%d lines differ: if that is meant, write the new table to %s\n",
			     differ, path);
	return differ > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--compare") == 0)
		return compare_with(argv[2]);
	table(stdout);
	return EXIT_SUCCESS;
}
