/* SPDX-License-Identifier: MIT */
/* The order of Linux's run queues as a model: CFS and EEVDF, all threads of equal weight. Each
 * processor has a queue: the threads of kernel.queue whose cpu it is. Called by
 * tests/sim/kernel.c. */
#ifndef RXE_SIM_FAIR_H
#define RXE_SIM_FAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/kernel.h"

/* A new thread: the shortest queue gets it. */
void fair_begin(struct kernel *kernel, struct kernel_thread *thread);
/* The processor's thread has run until now. */
void fair_charge(struct kernel *kernel, int cpu);
/* It is about to wait. */
void fair_wait(struct kernel *kernel, int cpu);
/* It yields. Returns whether another thread gets the processor. */
bool fair_yield(struct kernel *kernel, int cpu);
/* A thread of another processor's queue gets this processor. */
void fair_move(struct kernel *kernel, struct kernel_thread *thread, int cpu);
/* Its time slice is over: it gives a thread to a processor with less load. Threads that slept
 * lately count half, as Linux averages the load over some milliseconds. */
void fair_balance(struct kernel *kernel, int cpu);
/* Its wait is over. Returns the processor that it gets, idle or from another thread, or -1. */
int fair_wake(struct kernel *kernel, struct kernel_thread *thread);
/* Place in kernel.queue of the thread that the processor runs next; num_queued: none. */
uint32_t fair_next(const struct kernel *kernel, int cpu);

#endif
