// SPDX-License-Identifier: MIT
/* Looks whether the program's threads read what is about to arrive. */
#include "lib/check/port_early.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/check/breakpoint.h"
#include "lib/check/check.h"
#include "lib/check/object.h"
#include "lib/check/region.h"
#include "lib/check/report.h"
#include "lib/check/stack.h"

/* Looks of a process. Each takes 0.5 ms where a thread of the program runs, and 5 ms at most. */
#define LOOKS 64u
/* A look ends once each thread has run for RAN_NS, after STEPS steps at most: a busy machine lets
 * them wait. Each access that is counted takes some microseconds, in a virtual machine ten. */
#define RAN_NS	400000u
#define STEP_NS 50000u
#define STEPS	100u

static _Atomic uint32_t looks;

struct search {
	uintptr_t start, end;
	const struct check_object *found;
};

static void visit(struct check_region *region, void *arg)
{
	struct search *search = arg;

	if (span_has(&region->span, search->start, search->end))
		search->found = region->object;
}

static void report(const uint8_t *at, size_t len, const struct check_stack *stack)
{
	struct search search = { (uintptr_t)at, (uintptr_t)at + len, NULL };

	check_lock();
	region_each(visit, &search);
	check_report(CHECK_PORT_EARLY,
		     (struct check_where[]){ { "read here", stack },
					     { "region registered here",
					       search.found ? &search.found->made : NULL } },
		     search.found ? 2 : 1,
		     "the program reads the end of %zu bytes at %p, in %s, before a message has "
		     "brought them",
		     len, (const void *)at, search.found ? search.found->label : "a region");
	check_unlock();
}

void check_early_look(const uint8_t *at, size_t len)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	struct breakpoint set;
	struct check_stack stack;
	bool is_loop = false;

	if (!check_is_on(CHECK_PORT_EARLY) || check_is_inside() ||
	    atomic_fetch_add(&looks, 1) >= LOOKS || !breakpoint_set(&set, at, len))
		return;
	for (uint32_t i = 0; i < STEPS && !is_loop && breakpoint_ran_ns(&set) < RAN_NS; i++) {
		/* A bare system call: a library call would end a thread that is cancelled here. */
		syscall(SYS_nanosleep, &step, NULL);
		is_loop = breakpoint_is_loop(&set);
	}
	is_loop = is_loop && breakpoint_stack(&set, &stack);
	breakpoint_clear(&set);
	if (!is_loop)
		return;
	atomic_store(&looks, LOOKS);
	report(at, len, &stack);
}
