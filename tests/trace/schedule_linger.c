/* SPDX-License-Identifier: MIT */
/* How long the background thread serves on after a packet, in virtual time. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

#define UNUSED_NS 300u

static enum schedule_action next(void)
{
	return schedule_background_next(&s, now_ns, background_cpu).action;
}

/* The thread looks once in a microsecond, finds nothing, and yields for yield_ns. Returns how long
 * it serves on, in microseconds. */
static uint64_t serves_on(uint64_t yield_ns)
{
	const uint64_t began_ns = now_ns;

	schedule_engine_ran(&s, now_ns, background_cpu, true);
	while (next() == SCHEDULE_RUN_ENGINE) {
		pass(1 * US);
		schedule_engine_ran(&s, now_ns, background_cpu, false);
		ck_assert_int_eq(next(), SCHEDULE_YIELD);
		schedule_background_yielded(&s, yield_ns);
	}
	return (now_ns - began_ns) / US;
}

/* A packet ends a sleep of this many microseconds. */
static void sleeps_on_the_link(uint64_t us)
{
	const struct schedule_timers none = { .engine_ns = NEVER, .link_ns = NEVER };

	schedule_link_wait_began(&s, now_ns, &none);
	pass(us * US);
	schedule_link_wait_returned(&s, true);
	ck_assert_int_eq(next(), SCHEDULE_RUN_ENGINE);
}

static uint64_t serves_on_after(uint64_t us)
{
	sleeps_on_the_link(us);
	return serves_on(UNUSED_NS);
}

static void setup_listening(void)
{
	setup();
	ck_assert_int_eq(next(), SCHEDULE_WAIT_ON_LINK);
}

/* 64 units are 19.2 us. */
START_TEST(packets_far_apart_change_nothing)
{
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(serves_on_after(100), 20);
}
END_TEST

/* It would have found them without a sleep. */
START_TEST(after_short_sleeps_it_serves_on_for_longer)
{
	ck_assert_uint_eq(serves_on_after(100), 20);
	ck_assert_uint_eq(serves_on_after(76), 39);
	ck_assert_uint_eq(serves_on_after(76), 77);
	ck_assert_uint_eq(serves_on_after(1), 77);
	ck_assert_uint_eq(serves_on_after(77), 20);
}
END_TEST

START_TEST(but_not_where_others_want_the_processor)
{
	ck_assert_uint_eq(serves_on_after(100), 20);
	sleeps_on_the_link(50);
	ck_assert_uint_eq(serves_on(11 * US), 1);
	ck_assert_uint_eq(serves_on_after(50), 20);
	ck_assert_uint_eq(serves_on_after(50), 39);
}
END_TEST

START_TEST(nor_beside_the_peer_on_one_processor)
{
	struct presence own = { 0 }, peer = { .cpu = OTHER_CPU };

	schedule_attached(&s, &own);
	schedule_sent_to(&s, &peer);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(serves_on_after(50), 20);
	atomic_store(&peer.cpu, PROGRAMS_CPU);
	ck_assert_uint_eq(serves_on_after(50), 39);
}
END_TEST

/* The poller would have found the packet. */
START_TEST(nor_where_it_left_the_link_to_a_poller)
{
	ck_assert_uint_eq(serves_on_after(100), 20);
	sleeps_on_the_link(50);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	schedule_engine_ran(&s, now_ns, background_cpu, false);
	ck_assert_int_eq(next(), SCHEDULE_WAIT_ON_LINK);
	ck_assert_uint_eq(serves_on_after(50), 20);
}
END_TEST

/* A timer that ends the sleep says nothing of packets. */
START_TEST(other_events_change_nothing)
{
	const struct schedule_timers none = { .engine_ns = NEVER, .link_ns = NEVER };

	ck_assert_uint_eq(serves_on_after(100), 20);
	ck_assert_uint_eq(serves_on_after(50), 39);
	schedule_link_wait_began(&s, now_ns, &none);
	pass(50 * US);
	schedule_link_wait_returned(&s, false);
	ck_assert_int_eq(next(), SCHEDULE_RUN_ENGINE);
	ck_assert_uint_eq(serves_on(UNUSED_NS), 39);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule_linger");
	TCase *tc = tcase_create("traces");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup_listening, NULL);
	tcase_add_test(tc, packets_far_apart_change_nothing);
	tcase_add_test(tc, after_short_sleeps_it_serves_on_for_longer);
	tcase_add_test(tc, but_not_where_others_want_the_processor);
	tcase_add_test(tc, nor_beside_the_peer_on_one_processor);
	tcase_add_test(tc, nor_where_it_left_the_link_to_a_poller);
	tcase_add_test(tc, other_events_change_nothing);
	return suite_run(suite);
}
