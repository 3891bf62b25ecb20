/* SPDX-License-Identifier: MIT */
/* Who runs the engine, on simulated processors: programs call lib/progress/schedule_*.c
 * (programs.h), a seed chooses the machine and the programs, an oracle looks on.
 *
 *     processors [--seed N] [--count N] [--trace]     count seeds from N on; --seed alone: that one
 *
 * The oracle demands:
 * - a thread receives each packet, serves each timer and sends what the kernel refused, within a
 *   few time slices of all threads; no conversation stops;
 * - a background thread soon leaves the engine to a program that polls;
 * - it does not go back to the link again and again while a packet waits there, and one timer does
 *   not wake it again and again;
 * - where each thread has a processor of its own no poll sleeps, and a program that sleeps in the
 *   kernel gets its packets as soon;
 * - pairs of pollers, more than there are processors, move about as much as one pair alone;
 * - when the programs have ended, each background thread waits on the link, and exits when asked.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/programs.h"

#define US(n) ((uint64_t)(n)*1000)
#define MS(n) ((uint64_t)(n)*1000000)

/* 0 is no time for the schedule. */
#define BEGIN_NS MS(1000)
#define CHECK_NS US(200)
/* A program that polls all the time polls again within this time. */
#define POLLING_NS US(20)

/* Bounds of the counters below. */
#define LINK_RETURNS_MAX 4
#define WAKES_MAX	 4
#define RUNS_BESIDE_MAX	 32

/* Where programs sleep, of this many packets at most one waits for longer than SLOW_NS. */
#define SLOW_NS	    US(100)
#define SLOW_ONE_OF 1000

/* On an oversubscribed machine one pair moves this many times the messages at most. */
#define OVERSUBSCRIBED_FACTOR 8
/* Where yields cost time slices: on one machine, and on average. */
#define EXPENSIVE_FACTOR 150
#define MEAN_FACTOR	 2
/* Averages are of this many machines or more. */
#define AVERAGE_OF_MIN 100

enum machine {
	/* Each thread has a processor of its own: it polls all the time, or sleeps now and then. */
	MACHINE_QUIET,
	MACHINE_SLEEPS,
	MACHINE_OVERSUBSCRIBED,
	MACHINE_MIXED,
	NUM_MACHINES,
};

static struct programs programs;
static uint64_t seed;
static enum machine machine;
/* Longest time for one thing to happen. */
static uint64_t bound_ns;
/* By program. */
static uint64_t polled_ns[PROGRAMS_MAX];
/* Engine runs of the background thread in a row beside a polling program, times that it found
 * something on the link in a row and went back to it, and times that one timer woke it. */
static uint32_t runs_beside[PROGRAMS_MAX], link_returns[PROGRAMS_MAX], wakes[PROGRAMS_MAX];
static uint64_t woken_for_ns[PROGRAMS_MAX];
/* On all machines where programs sleep: packets, and those that waited for more than SLOW_NS. */
static uint64_t packets, slow_packets;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	va_list args;

	printf("seed %llu, %.1f us: ", (unsigned long long)seed,
	       (double)(programs.kernel.now_ns - BEGIN_NS) / 1000);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("; replay: tests/sim/processors --seed %llu --trace\n", (unsigned long long)seed);
	exit(EXIT_FAILURE);
}

static bool is_unshared(void)
{
	return machine == MACHINE_QUIET || machine == MACHINE_SLEEPS;
}

static int number(const struct program *program)
{
	return (int)(program - programs.program);
}

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

/* Events. */

static void packet_received(struct program *program, const struct packet *packet)
{
	const uint64_t waited_ns = programs.kernel.now_ns - packet->arrived_ns;

	if (machine == MACHINE_SLEEPS) {
		packets++;
		slow_packets += waited_ns > SLOW_NS;
	}
	if (waited_ns > bound_ns)
		fail("program %d received a packet after %.1f us, the bound is %.1f",
		     number(program), us(waited_ns), us(bound_ns));
}

static void polled(struct program *program)
{
	polled_ns[number(program)] = programs.kernel.now_ns;
}

static void poll_sleeps(struct program *program)
{
	if (is_unshared())
		fail("a poll of program %d sleeps, and each thread has a processor",
		     number(program));
}

static void background_decided(struct program *program, const struct schedule_decision *decision)
{
	const int i = number(program);
	const uint64_t now_ns = programs.kernel.now_ns;

	if (decision->action != SCHEDULE_WAIT_ON_LINK)
		link_returns[i] = 0;
	if (decision->action == SCHEDULE_RUN_ENGINE && now_ns - polled_ns[i] <= POLLING_NS)
		runs_beside[i]++;
	else if (decision->action != SCHEDULE_YIELD)
		runs_beside[i] = 0;
	if (runs_beside[i] > RUNS_BESIDE_MAX)
		fail("the background thread of program %d has run the engine %u times while the "
		     "program polls",
		     i, runs_beside[i]);
}

static void link_wait_returned(struct program *program, bool slept)
{
	uint32_t *returns = &link_returns[number(program)];

	*returns = slept ? 0 : *returns + 1;
	if (*returns > LINK_RETURNS_MAX)
		fail("the background thread of program %d spins on its link", number(program));
}

static void engine_woke(struct program *program)
{
	const int i = number(program);
	const uint64_t due_ns = program_deadline_ns(program);

	wakes[i] = due_ns == woken_for_ns[i] && !program->unsent_since_ns ? wakes[i] + 1 : 0;
	woken_for_ns[i] = due_ns;
	if (wakes[i] > WAKES_MAX && due_ns != UINT64_MAX)
		fail("the background thread of program %d is woken %u times for one timer", i,
		     wakes[i]);
}

static const struct programs_observer observer = {
	.packet_received = packet_received,
	.polled = polled,
	.poll_sleeps = poll_sleeps,
	.background_decided = background_decided,
	.link_wait_returned = link_wait_returned,
	.engine_woke = engine_woke,
};

/* State. */

static void check_program(const struct program *program)
{
	const uint64_t now_ns = programs.kernel.now_ns;
	const uint64_t due_ns = program_deadline_ns(program);
	const struct packet *oldest = &program->socket[program->socket_head % PROGRAM_SOCKET];
	uint64_t unsent_ns = program->unsent_since_ns;

	if (program->socket_head != program->socket_tail && now_ns - oldest->arrived_ns > bound_ns)
		fail("a packet for program %d has waited for %.1f us, the bound is %.1f",
		     number(program), us(now_ns - oldest->arrived_ns), us(bound_ns));
	if (due_ns < now_ns && now_ns - due_ns > bound_ns)
		fail("a timer of program %d was due %.1f us ago, the bound is %.1f",
		     number(program), us(now_ns - due_ns), us(bound_ns));
	if (unsent_ns && unsent_ns < program->refuses_until_ns)
		unsent_ns = program->refuses_until_ns;
	if (unsent_ns && unsent_ns < now_ns && now_ns - unsent_ns > bound_ns)
		fail("program %d could have sent a packet %.1f us ago, the bound is %.1f",
		     number(program), us(now_ns - unsent_ns), us(bound_ns));
}

/* Each message is received, found, thought about, perhaps held, and sent. */
static void check_conversation(const struct actor *actor)
{
	const uint64_t longest_ns = 4 * bound_ns + PROGRAM_HELD_MAX_NS + programs.cfg.think_max_ns;
	const struct actor *peer = actor->qp->peer->actor;
	uint64_t last_ns = actor->found_at_ns;

	if (last_ns < peer->found_at_ns)
		last_ns = peer->found_at_ns;
	if (programs.kernel.now_ns - last_ns > longest_ns)
		fail("programs %d and %d have exchanged nothing for %.1f us",
		     number(actor->program), number(peer->program),
		     us(programs.kernel.now_ns - last_ns));
}

static void check_all(void)
{
	for (uint32_t i = 0; i < programs.num; i++) {
		const struct program *program = &programs.program[i];

		check_program(program);
		for (uint32_t j = 0; j < program->num_threads && !programs.finishing; j++)
			check_conversation(&program->thread[j]);
	}
}

static void run_for(uint64_t ns)
{
	const uint64_t end_ns = programs.kernel.now_ns + ns;

	while (programs.kernel.now_ns < end_ns) {
		kernel_run(&programs.kernel, programs.kernel.now_ns + CHECK_NS);
		check_all();
	}
}

static void check_idle(struct program *program)
{
	const struct actor *background = &program->background;

	for (uint32_t i = 0; i < program->num_threads; i++)
		if (program->thread[i].thread.state != KERNEL_EXITED)
			fail("thread %u of program %d has not ended", i, number(program));
	if (background->thread.state != KERNEL_WAITS || !(background->waits_on & WAIT_LINK))
		fail("program %d has ended, and its background thread does not wait on the link",
		     number(program));
}

static void end_programs(void)
{
	programs_finish(&programs);
	run_for(4 * bound_ns + MS(10));
	for (uint32_t i = 0; i < programs.num; i++)
		check_idle(&programs.program[i]);
	for (uint32_t i = 0; i < programs.num; i++)
		program_stop(&programs.program[i]);
	run_for(bound_ns);
	for (uint32_t i = 0; i < programs.num; i++)
		if (programs.program[i].background.thread.state != KERNEL_EXITED)
			fail("the background thread of program %d does not exit", (int)i);
}

static uint64_t messages(void)
{
	uint64_t ret = 0;

	for (uint32_t i = 0; i < programs.num; i++)
		for (uint32_t j = 0; j < programs.program[i].num_threads; j++)
			ret += programs.program[i].thread[j].found;
	return ret;
}

/* The machine and the programs. */

static uint32_t below(uint32_t limit)
{
	return programs_random(&programs, limit);
}

static uint64_t one_of(const uint64_t *values, uint32_t n)
{
	return values[below(n)];
}

static struct kernel_cfg choose_kernel(void)
{
	static const int cpus[] = { 1, 2, 2, 4 };
	static const uint64_t slices[] = { US(750), US(1500), MS(3), MS(4) };
	const uint64_t slice_ns = one_of(slices, 4);

	return (struct kernel_cfg){
		.num_cpus = cpus[below(4)],
		.slice_ns = slice_ns,
		.yields_cost_slices = below(2),
		.granularity_ns = below(2) ? US(1000) : US(100),
		.slack_ns = US(50 + below(40)),
		.wake_up = (enum kernel_wake_up)below(KERNEL_NUM_WAKE_UPS),
	};
}

static void begin(const struct kernel_cfg *kernel, const struct programs_cfg *cfg)
{
	const uint64_t random = programs.seed;
	const bool shows_trace = programs.shows_trace;

	memset(&programs, 0, sizeof(programs));
	programs.seed = random;
	programs.shows_trace = shows_trace;
	programs.observer = &observer;
	programs.cfg = *cfg;
	kernel_init(&programs.kernel, kernel, BEGIN_NS);
	memset(polled_ns, 0, sizeof(polled_ns));
	memset(runs_beside, 0, sizeof(runs_beside));
	memset(link_returns, 0, sizeof(link_returns));
	memset(woken_for_ns, 0, sizeof(woken_for_ns));
	memset(wakes, 0, sizeof(wakes));
}

/* Pairs of pollers alone, or of programs that poll and sleep. */
static void add_pairs(uint32_t pairs)
{
	const enum program_role role = machine == MACHINE_SLEEPS ? ROLE_EVENTS : ROLE_POLLS;

	for (uint32_t i = 0; i < pairs; i++) {
		struct program *a = programs_add(&programs), *b = programs_add(&programs);

		programs_connect(&programs, a, role, b, role, KERNEL_ANY_CPU);
	}
}

static enum program_role choose_role(bool begins)
{
	return (enum program_role)below(begins ? ROLE_SLEEPS : ROLE_RANK);
}

static void add_mixed(uint32_t pairs)
{
	const int pinned = below(4) ? KERNEL_ANY_CPU : 0;
	struct program *a = NULL, *b = NULL;

	for (uint32_t i = 0; i < pairs; i++) {
		const bool again = a && a->num_threads < PROGRAM_MAX_THREADS && below(3) == 0;

		if (!again) {
			a = programs_add(&programs);
			b = programs_add(&programs);
		}
		programs_connect(&programs, a, choose_role(true), b, choose_role(false), pinned);
	}
	for (uint32_t hogs = below(3); hogs > 0; hogs--)
		programs_add_hog(&programs);
}

static void set_bound(void)
{
	const struct kernel_cfg *kernel = &programs.kernel.cfg;
	const bool pinned = programs.program[0].thread[0].thread.pinned != KERNEL_ANY_CPU;
	const uint64_t cpus = pinned ? 1 : (uint64_t)kernel->num_cpus;

	bound_ns = MS(2);
	if (!is_unshared())
		bound_ns += MS(1) + 5 * (programs.kernel.num_threads / cpus + 1) * kernel->slice_ns;
}

static void begin_machine(void)
{
	struct kernel_cfg kernel = choose_kernel();
	struct programs_cfg cfg = { .holds_acks = below(2), .window = 1, .think_max_ns = US(10) };

	machine = (enum machine)below(NUM_MACHINES);
	if (is_unshared() && kernel.num_cpus == 1)
		kernel.num_cpus = 2;
	if (machine == MACHINE_SLEEPS) {
		cfg.thinks = 20;
		cfg.think_max_ns = US(400);
	}
	if (machine == MACHINE_MIXED) {
		cfg.window = 1 + below(8);
		cfg.thinks = below(2) ? below(100) : 0;
		cfg.think_max_ns = one_of((const uint64_t[]){ US(30), US(300), MS(6) }, 3);
		cfg.held = below(2) ? below(50) : 0;
		cfg.refused = below(2) ? below(50) : 0;
	}
	begin(&kernel, &cfg);
	switch (machine) {
	case MACHINE_QUIET:
	case MACHINE_SLEEPS: add_pairs(1 + below((uint32_t)kernel.num_cpus / 2)); break;
	case MACHINE_OVERSUBSCRIBED: add_pairs((uint32_t)kernel.num_cpus / 2 + 1 + below(8)); break;
	case MACHINE_MIXED: add_mixed(1 + below(5)); break;
	case NUM_MACHINES: break;
	}
	set_bound();
}

/* Messages per millisecond of one pair where each thread has a processor. */
static uint64_t alone;

static void measure_one_pair(void)
{
	static const struct kernel_cfg kernel = { .num_cpus = 4,
						  .slice_ns = MS(3),
						  .slack_ns = US(50) };
	static const struct programs_cfg cfg = { .window = 1 };

	machine = MACHINE_QUIET;
	begin(&kernel, &cfg);
	add_pairs(1);
	set_bound();
	run_for(MS(10));
	alone = messages() / 10;
}

/* Rates of machines where yields cost time slices. */
static uint64_t expensive_rates, num_expensive;

static void check_rate(uint64_t rate)
{
	const bool expensive = programs.kernel.cfg.yields_cost_slices;

	if (rate * (expensive ? EXPENSIVE_FACTOR : OVERSUBSCRIBED_FACTOR) < alone)
		fail("%u programs on %d processors move %llu messages per ms, one pair %llu",
		     programs.num, programs.kernel.cfg.num_cpus, (unsigned long long)rate,
		     (unsigned long long)alone);
	if (expensive) {
		expensive_rates += rate;
		num_expensive++;
	}
}

static void run_seed(void)
{
	uint64_t before;

	programs.seed = seed;
	begin_machine();
	run_for(MS(10));
	before = messages();
	if (machine == MACHINE_OVERSUBSCRIBED) {
		run_for(MS(30));
		check_rate((messages() - before) / 30);
	} else {
		run_for(MS(10));
	}
	end_programs();
}

/* What is wrong on average, or NULL. */
static const char *check_averages(char *text, size_t size)
{
	if (slow_packets * SLOW_ONE_OF > packets)
		(void)snprintf(text, size,
			       "%llu of %llu packets of programs that sleep waited for more than "
			       "%.0f us",
			       (unsigned long long)slow_packets, (unsigned long long)packets,
			       us(SLOW_NS));
	else if (expensive_rates * MEAN_FACTOR < alone * num_expensive)
		(void)snprintf(text, size,
			       "%llu oversubscribed machines move %llu messages per ms on average, "
			       "one pair %llu",
			       (unsigned long long)num_expensive,
			       (unsigned long long)(expensive_rates / num_expensive),
			       (unsigned long long)alone);
	else
		return NULL;
	return text;
}

static void run_seeds(uint64_t first, uint64_t count)
{
	const char *wrong;
	char text[128];

	for (seed = first; seed < first + count; seed++)
		run_seed();
	wrong = count >= AVERAGE_OF_MIN ? check_averages(text, sizeof(text)) : NULL;
	if (!wrong)
		return;
	printf("%s; replay: tests/sim/processors --seed %llu --count %llu\n", wrong,
	       (unsigned long long)first, (unsigned long long)count);
	exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	uint64_t first = 1, count = 0;
	bool one = false, shows_trace = false;

	for (int arg = 1; arg < argc; arg++) {
		if (strcmp(argv[arg], "--trace") == 0) {
			shows_trace = true;
		} else if (strcmp(argv[arg], "--seed") == 0 && arg + 1 < argc) {
			first = strtoull(argv[++arg], NULL, 0);
			one = true;
		} else if (strcmp(argv[arg], "--count") == 0 && arg + 1 < argc) {
			count = strtoull(argv[++arg], NULL, 0);
		} else {
			(void)fprintf(stderr,
				      "usage: processors [--seed N] [--count N] [--trace]\n");
			return EXIT_FAILURE;
		}
	}
	if (count == 0)
		count = one ? 1 : 250;
	programs.shows_trace = shows_trace && first == 0;
	measure_one_pair();
	programs.shows_trace = shows_trace;
	run_seeds(first, count);
	printf("%llu machines from seed %llu, one pair moves %llu messages per ms\n",
	       (unsigned long long)count, (unsigned long long)first, (unsigned long long)alone);
	return EXIT_SUCCESS;
}
