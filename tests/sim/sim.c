/* SPDX-License-Identifier: MIT */
/* Many short random lives of a small simulation, one for each seed, under the oracle.
 *
 *     sim [--seed N] [--count N] [--trace]     count seeds from N on; --seed alone: that one
 *
 * A run that fails runs again with its trace: the program prints the last lines, the seed, and the
 * command that replays it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/life.h"

static struct world world;
static struct oracle oracle;

static uint64_t stops;

static uint64_t run_seed(uint64_t seed, bool shows_trace, void (*retell)(void))
{
	world_init(&world, seed);
	world.trace.quiet = !shows_trace;
	oracle_init(&oracle, &world, seed);
	oracle.shows_trace = shows_trace;
	oracle.retell = retell;
	(void)snprintf(oracle.replay, sizeof(oracle.replay), "tests/sim/sim --seed %llu --trace",
		       (unsigned long long)seed);
	life_begin(&oracle);
	life_run(&oracle);
	stops += oracle.stops;
	return oracle.given_up;
}

/* Prints the seed when the engine itself stopped, by an assertion or a sanitizer. Only write(2) is
 * safe here. */
static void say_seed(void)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "seed %llu; replay: %s\n",
			 (unsigned long long)oracle.seed, oracle.replay);

	if (oracle.shows_trace && world.trace.text &&
	    write(STDOUT_FILENO, world.trace.text, world.trace.len) < 0)
		return;
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

static void aborted(int signal_number)
{
	say_seed();
	_exit(128 + signal_number);
}

__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void expect_death(void)
{
	(void)signal(SIGABRT, aborted);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(say_seed);
}

static void retell(void)
{
	run_seed(oracle.seed, true, NULL);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, count = 0, given_up = 0, i;
	bool shows_trace = false, one = false;
	int arg;

	for (arg = 1; arg < argc; arg++) {
		if (strcmp(argv[arg], "--trace") == 0) {
			shows_trace = true;
		} else if (strcmp(argv[arg], "--seed") == 0 && arg + 1 < argc) {
			seed = strtoull(argv[++arg], NULL, 0);
			one = true;
		} else if (strcmp(argv[arg], "--count") == 0 && arg + 1 < argc) {
			count = strtoull(argv[++arg], NULL, 0);
		} else {
			(void)fprintf(stderr, "usage: sim [--seed N] [--count N] [--trace]\n");
			return EXIT_FAILURE;
		}
	}
	if (count == 0)
		count = one ? 1 : 2000;
	expect_death();
	for (i = 0; i < count; i++) {
		given_up += run_seed(seed + i, shows_trace, retell);
		if (shows_trace && world.trace.text)
			(void)fputs(world.trace.text, stdout);
		world_fini(&world);
	}
	(void)printf("%llu schedules from seed %llu, %llu requests out of retries, %llu stops\n",
		     (unsigned long long)count, (unsigned long long)seed,
		     (unsigned long long)given_up, (unsigned long long)stops);
	return EXIT_SUCCESS;
}
