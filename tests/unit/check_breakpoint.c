// SPDX-License-Identifier: MIT
/* Debug registers on a thread that reads, writes or sleeps as the test says. Where the kernel
 * grants none, the tests have nothing to look at, and end. */
#include <check.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/check/breakpoint.h"
#include "lib/check/stack.h"
#include "tests/suite.h"

/* In a virtual machine each access that is counted takes 9 us, and now and then 160. */
#define RAN_NS 3000000u

enum action { WAITS, LOOPS, READS_ONCE, WRITES_ONCE, SLEEPS, ENDS };

static _Alignas(64) uint8_t memory[64];
static enum action action;	    /* what the thread shall do, once told */
static _Atomic uint32_t told, does; /* by number: the last action that it was told, and has begun */
static int sleeps_on[2];
static pthread_t thread;

static void act(enum action now, uint32_t number)
{
	volatile uint8_t *last = &memory[63];
	char byte;

	switch (now) {
	case LOOPS:
		while (atomic_load(&told) == number)
			(void)*last;
		return;
	case READS_ONCE: (void)*last; return;
	case WRITES_ONCE: *last = 1; return;
	case SLEEPS: ck_assert_int_eq(read(sleeps_on[0], &byte, 1), 1); return;
	case WAITS:
	case ENDS: return;
	}
}

static void *run(void *arg)
{
	uint32_t number = 0;
	enum action now;

	do {
		while (atomic_load(&told) == number)
			;
		number++;
		now = action;
		atomic_store(&does, number);
		act(now, number);
	} while (now != ENDS);
	return arg;
}

/* Returns once the thread begins it. */
static void tell(enum action what)
{
	uint32_t number;

	action = what;
	number = atomic_fetch_add(&told, 1) + 1;
	while (atomic_load(&does) != number)
		sched_yield();
}

static void setup(void)
{
	ck_assert_int_eq(pipe(sleeps_on), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, run, NULL), 0);
}

static void teardown(void)
{
	tell(ENDS);
	pthread_join(thread, NULL);
}

static bool is_possible(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT,
					.size = sizeof(attr),
					.bp_type = HW_BREAKPOINT_RW,
					.bp_addr = (uintptr_t)memory,
					.bp_len = 8,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);

	if (fd >= 0)
		close(fd);
	else
		puts("the kernel grants no breakpoints: nothing is tested");
	return fd >= 0;
}

/* Waits until the thread has run for RAN_NS, or is seen to loop. */
static void wait_until_it_ran(const struct breakpoint *set)
{
	const uint64_t begin_ns = breakpoint_ran_ns(set);

	while (breakpoint_ran_ns(set) < begin_ns + RAN_NS && !breakpoint_is_loop(set))
		sched_yield();
}

/* Whether the thread's accesses to the end of [at, at + len) of the memory are a loop. */
static bool is_loop(size_t at, size_t len, enum action what)
{
	struct breakpoint set;
	bool ret;

	ck_assert(breakpoint_set(&set, memory + at, len));
	ck_assert_uint_eq(set.num_threads, 1);
	ck_assert(!breakpoint_is_loop(&set));
	tell(what);
	wait_until_it_ran(&set);
	ret = breakpoint_is_loop(&set);
	tell(WAITS);
	breakpoint_clear(&set);
	ck_assert_uint_eq(set.num_threads, 0);
	return ret;
}

/* A register cannot tell a read from a write, and a program may look for another reason. */
START_TEST(one_access_is_no_loop)
{
	if (!is_possible())
		return;
	ck_assert(is_loop(0, 64, LOOPS));
	ck_assert(!is_loop(0, 64, READS_ONCE));
	ck_assert(!is_loop(0, 64, WRITES_ONCE));
}
END_TEST

/* No byte outside of the message counts, and no more than its last 8. */
START_TEST(the_end_is_watched)
{
	if (!is_possible())
		return;
	ck_assert(is_loop(63, 1, LOOPS));
	ck_assert(is_loop(61, 3, LOOPS));
	ck_assert(!is_loop(0, 63, LOOPS));
	ck_assert(!is_loop(0, 56, LOOPS));
}
END_TEST

/* The layer and the test are one program here, and what is in the layer is not the program's. */
START_TEST(the_layer_is_not_the_program)
{
	struct check_stack stack;
	struct breakpoint set;

	if (!is_possible())
		return;
	ck_assert(breakpoint_set(&set, memory, 64));
	tell(LOOPS);
	wait_until_it_ran(&set);
	ck_assert(breakpoint_is_loop(&set));
	ck_assert(!breakpoint_stack(&set, &stack));
	breakpoint_clear(&set);
}
END_TEST

START_TEST(a_sleeping_thread_is_left_out)
{
	struct breakpoint set;
	bool is_set = true;

	tell(SLEEPS);
	while (is_set && is_possible()) {
		is_set = breakpoint_set(&set, memory, 64);
		breakpoint_clear(&set);
	}
	ck_assert_int_eq(write(sleeps_on[1], "", 1), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("check_breakpoint");
	TCase *tcase = tcase_create("breakpoint");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, one_access_is_no_loop);
	tcase_add_test(tcase, the_end_is_watched);
	tcase_add_test(tcase, the_layer_is_not_the_program);
	tcase_add_test(tcase, a_sleeping_thread_is_left_out);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
