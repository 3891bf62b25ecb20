/* SPDX-License-Identifier: MIT */
/* What a conversation moves on machines of all kinds: messages per millisecond of virtual time, by
 * machine, programs and policy. Slow and fast processors, one to eight of them, strangers that
 * never sleep, a hypervisor that takes processors away, one that sets the timers, sends the
 * interrupts and wakes the processors, a clock that costs a microsecond, more
 * programs than processors, a server of many, the ranks of a collective operation; run queues as
 * CFS and EEVDF have them (fair.h). Each figure is the mean of VARIANTS machines, each 1 % slower
 * than the last and with other time slices: on one machine threads of the same pace may lock into
 * one another. The policies are those of programs.h. "ratio" is ours divided by the best of the
 * simple ones. Ranks that sleep do not count among those: real ones move 0.56 to 0.72 of what ranks
 * that yield do, because a wake-up costs more there than here.
 *
 *     machines                    prints the table
 *     machines --only CELL        the cells alone whose names begin so
 *     machines --trace CELL       each decision of ours there
 *     machines --compare FILE     computes our column alone, and fails where a cell is below four
 *                                 fifths of that in the file, or below two thirds of the best
 *                                 simple policy there; prints the cells above six fifths
 *
 * Virtual time makes the table the same on every machine. machines.txt keeps it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/programs.h"

#define US(n) ((uint64_t)(n)*1000)
#define MS(n) ((uint64_t)(n)*1000000)

/* 0 is no time for the schedule. */
#define BEGIN_NS MS(1000)
#define SLICE_NS MS(3)
#define SLACK_NS US(50)
#define VARIANTS 10
#define WORSE	 0.8
#define BETTER	 1.2
/* The least part of what the best simple policy moves. */
#define FAR (1 / 1.5)

struct machine {
	const char *name;
	int cpus;
	uint32_t scale_percent, hogs, pairs;
	uint64_t stolen_ns, stolen_every_ns, clock_ns, exit_ns;
	bool pinned;
	/* In place of pairs: clients of one server, or ranks. */
	uint32_t crowd;
	/* Virtual time. */
	uint32_t run_ms;
};

static const struct machine machines[] = {
	{ .name = "quiet", .cpus = 4, .pairs = 1, .run_ms = 20 },
	{ .name = "2 processors", .cpus = 2, .pairs = 1, .run_ms = 20 },
	{ .name = "1 processor", .cpus = 1, .pairs = 1, .run_ms = 50 },
	{ .name = "pinned to 1 of 4", .cpus = 4, .pairs = 1, .pinned = true, .run_ms = 50 },
	{ .name = "8, fast", .cpus = 8, .scale_percent = 10, .pairs = 1, .run_ms = 10 },
	{ .name = "2, fast", .cpus = 2, .scale_percent = 10, .pairs = 1, .run_ms = 10 },
	{ .name = "2, clock of 1 us", .cpus = 2, .pairs = 1, .clock_ns = 1000, .run_ms = 20 },
	{ .name = "4, slow 20", .cpus = 4, .scale_percent = 2000, .pairs = 1, .run_ms = 200 },
	{ .name = "2, slow 20", .cpus = 2, .scale_percent = 2000, .pairs = 1, .run_ms = 200 },
	{ .name = "1, slow 20", .cpus = 1, .scale_percent = 2000, .pairs = 1, .run_ms = 400 },
	{ .name = "4, slow 100", .cpus = 4, .scale_percent = 10000, .pairs = 1, .run_ms = 1000 },
	{ .name = "2, slow 100", .cpus = 2, .scale_percent = 10000, .pairs = 1, .run_ms = 1000 },
	{ .name = "2, stolen time",
	  .cpus = 2,
	  .pairs = 1,
	  .stolen_ns = MS(2),
	  .stolen_every_ns = MS(8),
	  .run_ms = 200 },
	{ .name = "2, virtual", .cpus = 2, .pairs = 1, .exit_ns = US(10), .run_ms = 100 },
	{ .name = "1, virtual", .cpus = 1, .pairs = 1, .exit_ns = US(10), .run_ms = 50 },
	{ .name = "2, virtual, 2 busy loops",
	  .cpus = 2,
	  .pairs = 1,
	  .hogs = 2,
	  .exit_ns = US(10),
	  .run_ms = 500 },
	{ .name = "2, 2 busy loops", .cpus = 2, .pairs = 1, .hogs = 2, .run_ms = 500 },
	{ .name = "2, 8 busy loops", .cpus = 2, .pairs = 1, .hogs = 8, .run_ms = 1000 },
	{ .name = "4, 2 busy loops", .cpus = 4, .pairs = 1, .hogs = 2, .run_ms = 100 },
	{ .name = "1, 1 busy loop", .cpus = 1, .pairs = 1, .hogs = 1, .run_ms = 500 },
	{ .name = "2, slow 20, 2 busy loops",
	  .cpus = 2,
	  .scale_percent = 2000,
	  .pairs = 1,
	  .hogs = 2,
	  .run_ms = 1000 },
	{ .name = "2, 8 pairs", .cpus = 2, .pairs = 8, .run_ms = 100 },
	{ .name = "8, 16 pairs", .cpus = 8, .pairs = 16, .run_ms = 50 },
	{ .name = "2, slow 20, 8 pairs",
	  .cpus = 2,
	  .scale_percent = 2000,
	  .pairs = 8,
	  .run_ms = 400 },
	{ .name = "4, crowd of 4", .cpus = 4, .crowd = 4, .run_ms = 20 },
	{ .name = "1, crowd of 8", .cpus = 1, .crowd = 8, .run_ms = 100 },
	{ .name = "2, crowd of 16", .cpus = 2, .crowd = 16, .run_ms = 100 },
	{ .name = "2, crowd of 32", .cpus = 2, .crowd = 32, .run_ms = 100 },
	{ .name = "8, crowd of 32", .cpus = 8, .crowd = 32, .run_ms = 50 },
	{ .name = "2, slow 20, crowd of 16",
	  .cpus = 2,
	  .scale_percent = 2000,
	  .crowd = 16,
	  .run_ms = 400 },
	{ .name = "2, virtual, crowd of 16",
	  .cpus = 2,
	  .crowd = 16,
	  .exit_ns = US(10),
	  .run_ms = 100 },
	{ .name = "2, crowd 16, 2 busy loops", .cpus = 2, .crowd = 16, .hogs = 2, .run_ms = 500 },
};

/* A pair has both roles, each program of a crowd has the first. */
struct workload {
	const char *name;
	enum program_role first, second;
	bool is_crowd;
};

static const struct workload workloads[] = {
	{ .name = "send", .first = ROLE_POLLS, .second = ROLE_POLLS },
	{ .name = "events", .first = ROLE_EVENTS, .second = ROLE_EVENTS },
	{ .name = "write", .first = ROLE_MEMORY, .second = ROLE_MEMORY },
	{ .name = "read", .first = ROLE_POLLS, .second = ROLE_SLEEPS },
	{ .name = "server", .first = ROLE_POLLS, .is_crowd = true },
	{ .name = "events", .first = ROLE_EVENTS, .is_crowd = true },
	{ .name = "ranks", .first = ROLE_RANK, .is_crowd = true },
};

static const char *const order_name[] = { "FIFO", "CFS", "EEVDF" };

static struct programs programs;
static bool shows_trace;

static void ignore(struct program *program)
{
	(void)program;
}

static void ignore_packet(struct program *program, const struct packet *packet)
{
	(void)program;
	(void)packet;
}

static void ignore_decision(struct program *program, const struct schedule_decision *decision)
{
	(void)program;
	(void)decision;
}

static void ignore_wait(struct program *program, bool slept)
{
	(void)program;
	(void)slept;
}

static const struct programs_observer observer = {
	.packet_received = ignore_packet,
	.polled = ignore,
	.poll_sleeps = ignore,
	.background_decided = ignore_decision,
	.link_wait_returned = ignore_wait,
	.engine_woke = ignore,
};

static void set_up(const struct machine *machine, const struct workload *workload,
		   enum kernel_order order, enum programs_policy policy, uint32_t slower_percent)
{
	const uint32_t scale_percent = machine->scale_percent ? machine->scale_percent : 100;
	const struct kernel_cfg kernel = {
		.order = order,
		.num_cpus = machine->cpus,
		.scale_percent = scale_percent * (100 + slower_percent) / 100,
		.stolen_ns = machine->stolen_ns,
		.stolen_every_ns = machine->stolen_every_ns,
		.exit_ns = machine->exit_ns,
		.slice_ns = SLICE_NS,
		.slack_ns = SLACK_NS,
		.seed = slower_percent,
	};

	memset(&programs, 0, sizeof(programs));
	programs.observer = &observer;
	programs.shows_trace = shows_trace;
	programs.cfg = (struct programs_cfg){
		.policy = policy,
		.clock_ns = machine->clock_ns,
		.holds_acks = true,
		.window = 1,
	};
	kernel_init(&programs.kernel, &kernel, BEGIN_NS);
	for (uint32_t i = 0; i < machine->pairs; i++) {
		struct program *a = programs_add(&programs), *b = programs_add(&programs);

		programs_connect(&programs, a, workload->first, b, workload->second,
				 machine->pinned ? 0 : KERNEL_ANY_CPU);
	}
	if (workload->first == ROLE_RANK)
		programs_add_ranks(&programs, machine->crowd);
	else if (workload->is_crowd)
		programs_add_server(&programs, workload->first, machine->crowd);
	for (uint32_t i = 0; i < machine->hogs; i++)
		programs_add_hog(&programs);
}

static uint64_t messages(void)
{
	uint64_t ret = 0;

	for (uint32_t i = 0; i < programs.num; i++)
		ret += programs.program[i].thread[0].found;
	return ret;
}

/* Messages per millisecond, after a fifth of the time to warm up. */
static double run_once(const struct machine *machine, const struct workload *workload,
		       enum kernel_order order, enum programs_policy policy,
		       uint32_t slower_percent)
{
	uint64_t before;

	set_up(machine, workload, order, policy, slower_percent);
	kernel_run(&programs.kernel, BEGIN_NS + MS(machine->run_ms) / 5);
	before = messages();
	kernel_run(&programs.kernel, BEGIN_NS + MS(machine->run_ms) / 5 + MS(machine->run_ms));
	return (double)(messages() - before) / machine->run_ms;
}

/* The mean of the variants. */
static double run(const struct machine *machine, const struct workload *workload,
		  enum kernel_order order, enum programs_policy policy)
{
	double sum = 0;

	for (uint32_t i = 0; i < VARIANTS; i++)
		sum += run_once(machine, workload, order, policy, i);
	return sum / VARIANTS;
}

struct cell {
	const struct machine *machine;
	const struct workload *workload;
	enum kernel_order order;
};

/* The next cell of the table from *i on. False: all are done. */
static bool next_cell(size_t *i, struct cell *ret)
{
	const size_t orders = KERNEL_NUM_ORDERS - 1;
	const size_t columns = sizeof(workloads) / sizeof(workloads[0]);

	while (*i < orders * columns * (sizeof(machines) / sizeof(machines[0]))) {
		ret->order = KERNEL_CFS + (enum kernel_order)(*i % orders);
		ret->workload = &workloads[*i / orders % columns];
		ret->machine = &machines[*i / orders / columns];
		++*i;
		if (ret->workload->is_crowd == (ret->machine->crowd > 0))
			return true;
	}
	return false;
}

static void name_cell(const struct cell *cell, char *to, size_t size)
{
	(void)snprintf(to, size, "%-26s%-7s%-6s", cell->machine->name, cell->workload->name,
		       order_name[cell->order]);
}

/* Whether ours is compared with the policy. */
static bool is_compared(const struct cell *cell, int policy)
{
	return policy != POLICY_OURS &&
	       !(policy == POLICY_SLEEP && cell->workload->first == ROLE_RANK);
}

static void print_cell(const struct cell *cell)
{
	double best = 0, ours = run(cell->machine, cell->workload, cell->order, POLICY_OURS);
	char name[64];

	name_cell(cell, name, sizeof(name));
	printf("%s%9.2f", name, ours);
	for (int policy = POLICY_OURS + 1; policy < NUM_POLICIES; policy++) {
		const double rate = run(cell->machine, cell->workload, cell->order,
					(enum programs_policy)policy);

		if (is_compared(cell, policy) && rate > best)
			best = rate;
		printf("%9.2f", rate);
	}
	printf("%9.2f\n", best > 0 ? ours / best : 0);
}

static void trace_cells(const char *only)
{
	struct cell cell;
	char name[64];

	shows_trace = true;
	for (size_t i = 0; next_cell(&i, &cell);) {
		name_cell(&cell, name, sizeof(name));
		if (strncmp(name, only, strlen(only)) == 0)
			run(cell.machine, cell.workload, cell.order, POLICY_OURS);
	}
}

/* The cells whose names begin so. */
static void print_table(const char *only)
{
	struct cell cell;
	char name[64];

	printf("%-39s%9s%9s%9s%9s%9s\n", "messages per ms", "ours", "spin", "yield", "sleep",
	       "ratio");
	for (size_t i = 0; next_cell(&i, &cell);) {
		name_cell(&cell, name, sizeof(name));
		if (strncmp(name, only, strlen(only)) == 0)
			print_cell(&cell);
	}
}

struct rates {
	double ours, best;
};

/* The rates of the cell in the file. */
static bool find_rates(FILE *file, const struct cell *cell, const char *name, struct rates *ret)
{
	double rate[NUM_POLICIES];
	char line[160];

	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)) != 0)
			continue;
		if (sscanf(line + strlen(name), "%lf%lf%lf%lf", &rate[0], &rate[1], &rate[2],
			   &rate[3]) != NUM_POLICIES)
			return false;
		*ret = (struct rates){ .ours = rate[POLICY_OURS] };
		for (int i = 0; i < NUM_POLICIES; i++)
			if (is_compared(cell, i) && rate[i] > ret->best)
				ret->best = rate[i];
		return true;
	}
	return false;
}

/* Prints the cell if it differs. Returns whether it is too slow. */
static bool compare_cell(FILE *file, const struct cell *cell)
{
	const double rate = run(cell->machine, cell->workload, cell->order, POLICY_OURS);
	struct rates was;
	char name[64];
	bool is_worse;

	name_cell(cell, name, sizeof(name));
	if (!find_rates(file, cell, name, &was)) {
		printf("%sis %.2f, and is not in the file\n", name, rate);
		return true;
	}
	is_worse = rate < was.ours * WORSE || rate < was.best * FAR;
	if (is_worse || rate > was.ours * BETTER)
		printf("%swas %.2f, is %.2f; the best is %.2f\n", name, was.ours, rate, was.best);
	return is_worse;
}

static int compare_with(const char *path)
{
	FILE *file = fopen(path, "r");
	struct cell cell;
	int worse = 0;

	if (!file) {
		(void)fprintf(stderr, "cannot open %s\n", path);
		return EXIT_FAILURE;
	}
	for (size_t i = 0; next_cell(&i, &cell);)
		worse += compare_cell(file, &cell);
	(void)fclose(file);
	if (worse > 0)
		printf("%d cells are worse by more than a fifth, or not within 1.5 of the best\n",
		       worse);
	return worse > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--compare") == 0)
		return compare_with(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--trace") == 0)
		trace_cells(argv[2]);
	else
		print_table(argc == 3 && strcmp(argv[1], "--only") == 0 ? argv[2] : "");
	return EXIT_SUCCESS;
}
