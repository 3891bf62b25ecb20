// SPDX-License-Identifier: MIT
/* Threads that wait for packets of a memory link and for nothing else: they sleep on the bell of
 * their slot, without a descriptor. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/link/clock.h"
#include "tests/suite.h"
#include "tests/unit/memory_fixture.h"

#define LONG_NS 20000000000ull
#define MS_NS	1000000ull

static uint32_t rings;

static uint32_t all_rings(void)
{
	return atomic_load(&hub.bells[B].rings);
}

static void send_to_b(struct link *from, uint32_t slot)
{
	make_train(slot, B, 1, 60, 60);
	send_ok(from);
}

/* b has slept, and was woken. */
static void expect_woken(uint32_t packets)
{
	ck_assert(link_sleep(b, rings, LONG_NS));
	link_wait_ended(b, false);
	expect_packets(b, packets);
}

/* The packet comes before the thread sleeps. */
START_TEST(a_packet_before_the_sleep_ends_it)
{
	ck_assert(link_can_sleep(b));
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert(!link_sleep_begins(b, &rings));
		send_to_b(a, A);
		expect_woken(1);
	}
	ck_assert_uint_eq(all_rings(), 3);
	ck_assert(!is_readable(b));
}
END_TEST

START_TEST(what_waits_lets_no_thread_sleep)
{
	send_to_b(a, A);
	ck_assert(link_sleep_begins(b, &rings));
	link_wait_ended(b, false);
	expect_packets(b, 1);
	ck_assert_uint_eq(all_rings(), 0);
}
END_TEST

START_TEST(a_sleep_ends_with_its_time)
{
	const uint64_t until_ns = clock_now_ns() + MS_NS;

	ck_assert(!link_sleep_begins(b, &rings));
	ck_assert(!link_sleep(b, rings, MS_NS));
	ck_assert_uint_ge(clock_now_ns(), until_ns);
	link_wait_ended(b, false);
}
END_TEST

static _Atomic bool is_asleep;

/* The end of the ring for the last packet may end the next sleep, which brings nothing. */
static void *sleep_and_receive(void *arg)
{
	uint32_t packets = 0;

	(void)arg;
	while (packets < 1000) {
		int n;

		if (!link_sleep_begins(b, &rings)) {
			atomic_store(&is_asleep, true);
			ck_assert(link_sleep(b, rings, LONG_NS));
		}
		link_wait_ended(b, false);
		n = link_receive(b, got, 256);
		ck_assert_int_ge(n, 0);
		packets += (uint32_t)n;
	}
	return NULL;
}

/* Each packet wakes a thread that sleeps in the kernel, or is about to. */
START_TEST(a_packet_wakes_a_thread)
{
	pthread_t thread;

	make_train(A, B, 1, 60, 60);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_and_receive, NULL), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		while (!atomic_exchange(&is_asleep, false))
			sched_yield();
		send_ok(a);
	}
	pthread_join(thread, NULL);
}
END_TEST

/* A process that polls costs its peers nothing, and one packet of several wakes. */
START_TEST(one_ring_for_a_sleep)
{
	ck_assert(!link_sleep_begins(b, &rings));
	send_to_b(a, A);
	send_to_b(a, A);
	ck_assert_uint_eq(all_rings(), 1);
	expect_woken(2);
	send_to_b(a, A);
	ck_assert_uint_eq(all_rings(), 1);
	expect_packets(b, 1);
	send_to_b(a, A);
	ck_assert_uint_eq(all_rings(), 1);
}
END_TEST

/* One thread waits for the doorbell, another sleeps: both are woken, as is a later sleep while
 * the first thread still waits. */
START_TEST(both_kinds_of_waits_are_woken)
{
	ck_assert(!link_wait_begins(b));
	for (uint32_t i = 1; i <= 2; i++) {
		ck_assert(!link_sleep_begins(b, &rings));
		send_to_b(a, A);
		ck_assert_uint_eq(all_rings(), i);
		ck_assert(is_readable(b));
		expect_woken(1);
	}
	link_wait_ended(b, true);
	expect_packets(b, 0);
	ck_assert(!is_readable(b));
}
END_TEST

START_TEST(a_wait_for_the_doorbell_rings_no_bell)
{
	ck_assert(!link_wait_begins(b));
	send_to_b(a, A);
	ck_assert(is_readable(b));
	ck_assert_uint_eq(all_rings(), 0);
	link_wait_ended(b, true);
	expect_packets(b, 1);
}
END_TEST

/* A peer that exits: its memory is given back. */
START_TEST(the_end_of_a_peer_ends_a_sleep)
{
	send_to_b(a, A);
	expect_packets(b, 1);
	ck_assert(!link_sleep_begins(b, &rings));
	memory_hub_detach(&hub, A);
	ck_assert(link_sleep(b, rings, LONG_NS));
	link_wait_ended(b, false);
}
END_TEST

START_TEST(a_wake_ends_a_sleep)
{
	ck_assert(!link_sleep_begins(b, &rings));
	link_wake(b);
	ck_assert(link_sleep(b, rings, LONG_NS));
	link_wait_ended(b, false);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_packet_before_the_sleep_ends_it,
		what_waits_lets_no_thread_sleep,
		a_sleep_ends_with_its_time,
		a_packet_wakes_a_thread,
		one_ring_for_a_sleep,
		both_kinds_of_waits_are_woken,
		a_wait_for_the_doorbell_rings_no_bell,
		the_end_of_a_peer_ends_a_sleep,
		a_wake_ends_a_sleep,
	};
	Suite *suite = suite_create("memory_bell");
	TCase *tcase = tcase_create("memory_bell");

	tcase_add_checked_fixture(tcase, setup, teardown);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
