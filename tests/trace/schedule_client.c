/* SPDX-License-Identifier: MIT */
/* What lib/progress/schedule_*.c decides for a client of a busy server, as traces in virtual time. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

static struct presence server, other;

static void setup_client(void)
{
	setup();
	server.has_many_peers = 1;
	schedule_sent_to(&s, &server);
}

START_TEST(of_a_client_a_sleep_in_the_kernel_is_a_long_wait)
{
	sleep_in_the_kernel(15);
	ck_assert_uint_eq(schedule_event_spin_ns(&s), 48 * US);
	sleep_in_the_kernel(1);
	ck_assert_uint_eq(schedule_event_spin_ns(&s), 0);
}
END_TEST

/* Other events come while it spins, and the background thread serves sleepers. */
START_TEST(a_client_that_waits_long_for_events_waits_on_the_link)
{
	wait_for_long(15);
	ck_assert_uint_eq(schedule_event_spin_ns(&s), 48 * US);
	ck_assert(!schedule_event_wait_began(&s));
	wait_for_long(1);
	ck_assert_uint_eq(schedule_event_spin_ns(&s), 0);
	ck_assert_uint_eq(schedule_event_wait_ns(), MS(5));
	ck_assert(schedule_event_wait_began(&s));
	/* A packet would wake both. */
	ck_assert(!schedule_event_wait_began(&s));
	schedule_event_wait_ended(&s);
	ck_assert(schedule_event_wait_began(&s));
	schedule_event_wait_ended(&s);
	server.has_many_peers = 0;
	ck_assert_uint_eq(schedule_event_spin_ns(&s), 48 * US);
	ck_assert(!schedule_event_wait_began(&s));
	server.has_many_peers = 1;
	for (int i = 0; i < 4; i++)
		schedule_sent_to(&s, i % 2 ? &server : &other);
	ck_assert(!schedule_event_wait_began(&s));
}
END_TEST

/* The wait counts although no poll came right before it. */
START_TEST(a_wait_on_the_link_begins_with_the_last_poll)
{
	wait_for_long(16);
	ck_assert(schedule_event_wait_began(&s));
	pass(90 * US);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	schedule_packet_arrived(&s);
	schedule_event_wait_ended(&s);
	ck_assert(!schedule_event_wait_began(&s));
}
END_TEST

/* It polls once more before it waits for its event, and shall wait there. */
START_TEST(the_polls_before_a_wait_on_the_link_are_short)
{
	wait_for_long(16);
	polls_empty(NEVER);
	yields_for(US);
	pass(MS(1));
	schedule_cq_armed(&s);
	for (int i = 0; i < 4; i++)
		polls_empty(NEVER);
	/* A program that polls on. */
	polls_empty(NEVER);
	ck_assert(schedule_event_wait_began(&s));
	schedule_event_wait_ended(&s);
	polls_empty(NEVER);
	expect("  1616.0 program polls, finds nothing -> YIELD\n"
	       "  1617.0 program yielded for 1.0\n"
	       "  2617.0 program polls, finds nothing -> NOTHING\n"
	       "  2617.0 program polls, finds nothing -> NOTHING\n"
	       "  2617.0 program polls, finds nothing -> NOTHING\n"
	       "  2617.0 program polls, finds nothing -> NOTHING\n"
	       "  2617.0 program polls, finds nothing -> YIELD\n"
	       "  2617.0 program polls, finds nothing -> NOTHING\n");
}
END_TEST

/* Although a completion queue is armed: who sleeps there says when it sleeps elsewhere. */
START_TEST(a_wait_on_the_link_lets_the_background_thread_step_back_for_long)
{
	schedule_cq_armed(&s);
	for (int i = 0; i < 16; i++)
		waits_for(100 * US);
	ck_assert(schedule_event_wait_began(&s));
	steps_back_beside_poller();
	steps_back_beside_poller();
	steps_back_beside_poller();
	schedule_event_wait_ended(&s);
	steps_back_beside_poller();
	will_sleep();
	expect("  1616.0 background -> STEP_BACK until 1664.0\n"
	       "  1664.0 background -> STEP_BACK until 1760.0\n"
	       "  1760.0 background -> STEP_BACK until 1952.0\n"
	       "  1952.0 background -> STEP_BACK until 2000.0\n"
	       "  2000.0 program will sleep -> WAKE_BACKGROUND\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule_client");
	TCase *tc = tcase_create("traces");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup_client, NULL);
	tcase_add_test(tc, of_a_client_a_sleep_in_the_kernel_is_a_long_wait);
	tcase_add_test(tc, a_client_that_waits_long_for_events_waits_on_the_link);
	tcase_add_test(tc, a_wait_on_the_link_begins_with_the_last_poll);
	tcase_add_test(tc, the_polls_before_a_wait_on_the_link_are_short);
	tcase_add_test(tc, a_wait_on_the_link_lets_the_background_thread_step_back_for_long);
	return suite_run(suite);
}
