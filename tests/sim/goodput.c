/* SPDX-License-Identifier: MIT */
/* Throughput of a lossy network: one pair, 16 posted requests of 64 KiB, a link of 10 Gbit/s and 5
 * us one way; ten seeds each. Virtual time makes the table the same on every machine. goodput.txt
 * keeps it, so a review sees changes.
 *
 *     goodput                    prints the table
 *     goodput --compare FILE     prints the differences from the table in the file */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

#define REQUEST_BYTES 65536u
#define POSTED	      16u
#define REQUESTS      400u
#define SEEDS	      10u
#define NS_PER_KB     819 /* 10 Gbit/s */

struct kind {
	const char *name;
	enum rxe_wr_opcode opcode;
};

static const struct kind kinds[] = {
	{ "write", RXE_WR_RDMA_WRITE },
	{ "send", RXE_WR_SEND },
	{ "read", RXE_WR_RDMA_READ },
};

/* Losses in 1000. */
static const struct link_dice faults[] = {
	{ 0 },
	{ .drop = 1 },
	{ .drop = 5 },
	{ .drop = 10 },
	{ .drop = 20 },
	{ .drop = 50 },
	{ .dup = 10 },
	{ .delay = 10, .max_delay_ns = 20000 },
	{ .delay = 50, .max_delay_ns = 20000 },
	{ .corrupt = 1 },
};

struct flow {
	struct world *w;
	const struct kind *kind;
	struct end *from, *to;
	uint32_t posted, done;
	uint64_t last_ns;
};

static void post_one(struct flow *flow)
{
	const struct post post = { .op = flow->kind->opcode, .len = REQUEST_BYTES };

	if (flow->posted == REQUESTS)
		return;
	flow->posted++;
	if (flow->kind->opcode == RXE_WR_SEND &&
	    world_recv(flow->w, flow->to, 0, REQUEST_BYTES) != POST_OK)
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
	w.mem_len = REQUEST_BYTES;
	world_pair(&w, world_add_node(&w), world_add_node(&w), &opts, &flow.from, &flow.to);
	flow.from->qp.rc.retry.probe_after_ns = flow.from->qp.rc.retry.probe_max_ns = 8000000;
	w.link.ns_per_kb = NS_PER_KB;
	w.link.dice = *dice;
	w.watch.completion = completed;
	w.watch.context = &flow;
	for (i = 0; i < POSTED; i++)
		post_one(&flow);
	world_run(&w);
	if (flow.done != REQUESTS)
		abort();
	sums->mbit += (double)REQUESTS * REQUEST_BYTES * 8e3 / (double)flow.last_ns / SEEDS;
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

	for (seed = 1; seed <= SEEDS; seed++)
		run(kind, dice, seed, &sums);
	if (*best == 0)
		*best = sums.mbit;
	name_fault(dice, fault, sizeof(fault));
	(void)fprintf(to, "%-6s %-13s %8.0f %6.2f %9.1f %9.1f %9.1f\n", kind->name, fault,
		      sums.mbit, sums.mbit / *best, (double)sums.packets / SEEDS,
		      (double)sums.retries / SEEDS, (double)sums.timeouts / SEEDS);
}

static void table(FILE *to)
{
	size_t k, f;

	(void)fprintf(to, "%-6s %-13s %8s %6s %9s %9s %9s\n", "op", "fault", "Mbit/s", "ratio",
		      "packets", "retries", "timeouts");
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		double best = 0;

		for (f = 0; f < sizeof(faults) / sizeof(faults[0]); f++)
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
