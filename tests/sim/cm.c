/* SPDX-License-Identifier: MIT */
/* The connection manager in a simulated network: random programs, losses and crashes, one world a
 * seed.
 *
 * usage: sim_cm [--count N] [--seed N] [--trace] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cm_programs.h"

static struct cm_sim sim;

static uint64_t number(const char *text)
{
	char *end;
	const unsigned long long n = strtoull(text, &end, 0);

	if (*end || end == text) {
		(void)fprintf(stderr, "sim_cm: not a number: %s\n", text);
		exit(2);
	}
	return n;
}

static void run_seed(uint64_t seed)
{
	cm_sim_begin(&sim, seed);
	cm_sim_run(&sim);
	cm_sim_leave(&sim);
	cm_sim_end(&sim);
}

int main(int argc, char **argv)
{
	uint64_t first = 1, count = 1, events = 0, connections = 0, stops = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--trace") == 0) {
			sim.is_traced = true;
		} else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0) {
			first = number(argv[++i]);
		} else if (i + 1 < argc && strcmp(argv[i], "--count") == 0) {
			count = number(argv[++i]);
		} else {
			(void)fprintf(stderr, "usage: sim_cm [--count N] [--seed N] [--trace]\n");
			return 2;
		}
	}
	for (uint64_t seed = first; seed < first + count; seed++) {
		run_seed(seed);
		events += sim.events;
		connections += sim.connections;
		stops += sim.stops;
	}
	(void)printf("%llu seeds: %llu events, %llu connections, %llu stops\n",
		     (unsigned long long)count, (unsigned long long)events,
		     (unsigned long long)connections, (unsigned long long)stops);
	return EXIT_SUCCESS;
}
