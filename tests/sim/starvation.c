/* SPDX-License-Identifier: MIT */
/* Do retries run out where nothing but processors is missing? Crowds of programs and busy loops on
 * two simulated processors (programs.h), with the usual timeout 14 and retry count 7: a queue pair
 * fails after 8 times 67 ms without a packet of its peer.
 *
 * One line for each crowd, over all kinds of kernels: the fewest messages per millisecond, the
 * longest time that a packet waited in a socket, how often an ACK timer expired, and the most
 * retries that were spent in a row. Fails when retries run out.
 *
 * Programs that get no processor for hundreds of milliseconds lose no queue pair, because they need
 * none: a packet that no poller takes wakes the background thread, which watches for 30 us and then
 * serves (the table in lib/progress/schedule.h). A kernel runs a thread that slept soon. Without
 * that rule 20 pairs suffice to spend 13 in a row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/programs.h"

#define US(n) ((uint64_t)(n)*1000)
#define MS(n) ((uint64_t)(n)*1000000)

/* 0 is no time for the schedule. */
#define BEGIN_NS   MS(1000)
#define RUN_MS	   1000u
#define TIMEOUT_NS (4096ull << 14)
#define RETRIES	   7u
#define PROCESSORS 2
#define BUSY_LOOPS 2

/* The first program of each pair polls; peer: the second. */
struct crowd {
	const char *peer_name;
	enum program_role peer;
	uint32_t pairs;
};

static const struct crowd crowds[] = {
	{ "poll", ROLE_POLLS, 1 },	    { "poll", ROLE_POLLS, 20 },
	{ "take events", ROLE_EVENTS, 20 }, { "compute", ROLE_BUSY, 20 },
	{ "poll", ROLE_POLLS, 127 },	    { "take events", ROLE_EVENTS, 127 },
	{ "compute", ROLE_BUSY, 127 },
};

static struct programs programs;
/* Figures of one crowd. */
static uint64_t longest_ns, timeouts;
static uint32_t most_retries;

static void packet_received(struct program *program, const struct packet *packet)
{
	const uint64_t waited_ns = programs.kernel.now_ns - packet->arrived_ns;

	(void)program;
	if (waited_ns > longest_ns)
		longest_ns = waited_ns;
}

static void timed_out(struct program *program, uint32_t retries)
{
	(void)program;
	timeouts++;
	if (retries > most_retries)
		most_retries = retries;
}

static void ignore(struct program *program)
{
	(void)program;
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
	.packet_received = packet_received,
	.polled = ignore,
	.poll_sleeps = ignore,
	.background_decided = ignore_decision,
	.link_wait_returned = ignore_wait,
	.timed_out = timed_out,
	.engine_woke = ignore,
};

/* Returns the messages of all pairs. */
static uint64_t run(const struct crowd *crowd, const struct kernel_cfg *kernel)
{
	uint64_t ret = 0;

	memset(&programs, 0, sizeof(programs));
	programs.observer = &observer;
	programs.cfg = (struct programs_cfg){
		.holds_acks = true,
		.window = 1,
		.timeout_ns = TIMEOUT_NS,
	};
	kernel_init(&programs.kernel, kernel, BEGIN_NS);
	for (uint32_t i = 0; i < crowd->pairs; i++) {
		struct program *a = programs_add(&programs), *b = programs_add(&programs);

		programs_connect(&programs, a, ROLE_POLLS, b, crowd->peer, KERNEL_ANY_CPU);
	}
	for (uint32_t i = 0; i < BUSY_LOOPS; i++)
		programs_add_hog(&programs);
	kernel_run(&programs.kernel, BEGIN_NS + MS(RUN_MS));
	for (uint32_t i = 0; i < programs.num; i++)
		ret += programs.program[i].thread[0].found;
	return ret;
}

/* Returns false where retries run out. */
static bool run_crowd(const struct crowd *crowd)
{
	uint64_t fewest = UINT64_MAX;

	longest_ns = timeouts = most_retries = 0;
	for (int kind = 0; kind < 2 * KERNEL_NUM_WAKE_UPS; kind++) {
		const struct kernel_cfg kernel = {
			.num_cpus = PROCESSORS,
			.slice_ns = MS(4),
			.yields_cost_slices = kind & 1,
			.granularity_ns = MS(1),
			.slack_ns = US(50),
			.wake_up = (enum kernel_wake_up)(kind / 2),
		};
		const uint64_t messages = run(crowd, &kernel);

		if (messages < fewest)
			fewest = messages;
	}
	printf("%5u pairs, peers %-12s%10.1f%11.1f ms%10llu%9u\n", crowd->pairs, crowd->peer_name,
	       (double)fewest / RUN_MS, (double)longest_ns / 1e6, (unsigned long long)timeouts,
	       most_retries);
	return most_retries <= RETRIES;
}

int main(void)
{
	bool good = true;

	printf("%d processors, %d busy loops%10s%14s%10s%9s\n", PROCESSORS, BUSY_LOOPS, "per ms",
	       "longest wait", "timeouts", "retries");
	for (size_t i = 0; i < sizeof(crowds) / sizeof(crowds[0]); i++)
		good &= run_crowd(&crowds[i]);
	if (!good)
		printf("retries run out: more than %u in a row\n", RETRIES);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
