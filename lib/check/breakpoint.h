/* SPDX-License-Identifier: MIT */
/* Accesses to a few bytes by other threads of this process, counted by the processor's debug
 * registers (perf_event_open(2)). A register cannot tell a read from a write. The program runs on
 * undisturbed, and its system calls are not counted. */
#ifndef RXE_CHECK_BREAKPOINT_H
#define RXE_CHECK_BREAKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Threads that are looked at. */
#define BREAKPOINT_THREADS 4u
/* Accesses by which a thread waits: it looks again and again. Fewer may be writes, or a read that
 * has another reason. */
#define BREAKPOINT_LOOP 8u

struct check_stack;

struct breakpoint_thread {
	int fd;
	void *samples; /* pages of perf_event_open(2); NULL: not mapped */
};

struct breakpoint {
	uint32_t num_threads;
	struct breakpoint_thread thread[BREAKPOINT_THREADS];
};

/* Begins to count for the threads that have a processor or wait for one: a thread that sleeps
 * accesses nothing. The bytes are the last ones of [at, at + len), 8 at most. False: there is no
 * such thread, or the machine or the kernel does not let this process count. */
bool breakpoint_set(struct breakpoint *ret, const uint8_t *at, size_t len);
/* Whether a thread has accessed the bytes BREAKPOINT_LOOP times since. */
bool breakpoint_is_loop(const struct breakpoint *set);
/* The stack of the last one of these accesses; the callers are in it if the program keeps frame
 * pointers. False: it was no instruction of the program. */
bool breakpoint_stack(const struct breakpoint *set, struct check_stack *ret);
/* The shortest time that one of the threads has run since. */
uint64_t breakpoint_ran_ns(const struct breakpoint *set);
void breakpoint_clear(struct breakpoint *set);

#endif
