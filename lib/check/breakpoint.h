/* SPDX-License-Identifier: MIT */
/* Reads of a few bytes by other threads of this process, counted by the processor's debug
 * registers (perf_event_open(2)). The program runs on undisturbed, and its system calls are not
 * counted. */
#ifndef RXE_CHECK_BREAKPOINT_H
#define RXE_CHECK_BREAKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Threads that are looked at. */
#define BREAKPOINT_THREADS 4u

struct check_stack;

struct breakpoint_thread {
	int fd;
	void *samples; /* pages of perf_event_open(2); NULL: not mapped */
};

struct breakpoint {
	uint32_t num_threads;
	struct breakpoint_thread thread[BREAKPOINT_THREADS];
};

/* Begins to count for the threads that have a processor or wait for one: a thread that sleeps reads
 * nothing. Of the bytes [at, at + len), the last 8 at most. False: there is no such thread, or the
 * machine or the kernel does not let this process count. */
bool breakpoint_set(struct breakpoint *ret, const uint8_t *at, size_t len);
/* Whether a thread has read since, by an instruction of the program. Then *ret is the stack of the
 * first one: its callers too if the program keeps frame pointers. */
bool breakpoint_is_hit(const struct breakpoint *set, struct check_stack *ret);
/* The shortest time that one of the threads has run since. */
uint64_t breakpoint_ran_ns(const struct breakpoint *set);
void breakpoint_clear(struct breakpoint *set);

#endif
