/* SPDX-License-Identifier: MIT */
/* The cost of a system call that does nothing, with a reading of the clock: the unit of time of
 * schedule.h. It is 0.3 us on a fast machine, 10 us and more on an emulated one. What a schedule
 * trades (a poll, a yield, a wake-up, a switch of threads) is a multiple of it that differs little
 * between machines.
 *
 * Measured beside the first yields, and beside each sixteenth later. A measurement that is lower
 * counts at once; one that is higher raises the cost by half at most, because the thread may have
 * lost its processor meanwhile, and the next yield measures again.
 *
 * Called by schedule_*.c. Any thread; no value orders anything else. */
#ifndef RXE_PROGRESS_CALL_COST_H
#define RXE_PROGRESS_CALL_COST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The cost until one is measured. */
#define CALL_COST_NS 300u

struct call_cost {
	/* 0: CALL_COST_NS. */
	_Atomic uint64_t ns;
	/* Yields until the next measurement. */
	_Atomic uint32_t yields_left;
};

static inline uint64_t call_cost_ns(const struct call_cost *cost)
{
	const uint64_t ns = atomic_load_explicit(&cost->ns, memory_order_relaxed);

	return ns ? ns : CALL_COST_NS;
}

/* The last measurement counted, and none is due. */
static inline bool call_cost_is_known(const struct call_cost *cost)
{
	return atomic_load_explicit(&cost->yields_left, memory_order_relaxed) > 0;
}

/* A thread is about to yield. Returns whether it shall measure first. */
bool call_cost_is_due(struct call_cost *cost);
void call_cost_measured(struct call_cost *cost, uint64_t took_ns);

#endif
