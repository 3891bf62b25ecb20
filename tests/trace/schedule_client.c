/* SPDX-License-Identifier: MIT */
/* What lib/progress/schedule_*.c decides for a client of a busy server, as traces in virtual
 * time. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

/* The thread did not come back soon after its last event. */
#define AWAY_LONG MS(1)

static struct presence server, other;

static void expect_channel_wait(void)
{
	ck_assert_int_eq(schedule_event_wait_began(&s).action, SCHEDULE_NOTHING);
}

static void expect_link_wait(bool lets_others_go_on)
{
	const struct schedule_decision decision = schedule_event_wait_began(&s);

	ck_assert_int_eq(decision.action, SCHEDULE_SLEEP);
	ck_assert_int_eq(decision.lets_others_go_on, lets_others_go_on);
}

static void setup_client(void)
{
	setup();
	server.has_many_peers = 1;
	schedule_sent_to(&s, &server);
}

START_TEST(of_a_client_a_sleep_in_the_kernel_is_a_long_wait)
{
	sleep_in_the_kernel(15);
	ck_assert_uint_eq(schedule_event_awaited(&s, AWAY_LONG), 48 * US);
	sleep_in_the_kernel(1);
	ck_assert_uint_eq(schedule_event_awaited(&s, AWAY_LONG), 0);
}
END_TEST

/* Other events come while it spins, and the background thread serves sleepers. */
START_TEST(a_client_that_waits_long_for_events_waits_on_the_link)
{
	wait_for_long(15);
	ck_assert_uint_eq(schedule_event_awaited(&s, AWAY_LONG), 48 * US);
	expect_channel_wait();
	wait_for_long(1);
	ck_assert_uint_eq(schedule_event_awaited(&s, AWAY_LONG), 0);
	ck_assert_uint_eq(schedule_event_wait_ns(), MS(5));
	expect_link_wait(true);
	/* A packet would wake both. */
	expect_channel_wait();
	schedule_event_wait_ended(&s);
	expect_link_wait(true);
	schedule_event_wait_ended(&s);
	server.has_many_peers = 0;
	ck_assert_uint_eq(schedule_event_awaited(&s, AWAY_LONG), 48 * US);
	expect_channel_wait();
	server.has_many_peers = 1;
	for (int i = 0; i < 4; i++)
		schedule_sent_to(&s, i % 2 ? &server : &other);
	expect_channel_wait();
}
END_TEST

/* The wait counts although no poll came right before it. */
START_TEST(a_wait_on_the_link_begins_with_the_last_poll)
{
	wait_for_long(16);
	ck_assert_uint_eq(schedule_event_awaited(&s, AWAY_LONG), 0);
	expect_link_wait(true);
	pass(47 * US);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	schedule_packet_arrived(&s);
	schedule_event_wait_ended(&s);
	expect_channel_wait();
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
	expect_link_wait(true);
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
	wait_for_long(16);
	schedule_cq_armed(&s);
	expect_link_wait(true);
	steps_back_beside_poller();
	steps_back_beside_poller();
	schedule_event_wait_ended(&s);
	steps_back_beside_poller();
	will_sleep();
	expect("  1616.0 background -> STEP_BACK until 3616.0, lets others go on\n"
	       "  3616.0 background -> STEP_BACK until 5616.0, lets others go on\n"
	       "  5616.0 background -> STEP_BACK until 5664.0, lets others go on\n"
	       "  5664.0 program will sleep -> WAKE_BACKGROUND\n");
}
END_TEST

/* Its turn comes each millisecond or so. */
START_TEST(a_poller_sleeps_for_two_milliseconds_at_most)
{
	struct schedule_decision decision;

	wait_for_long(16);
	polls_until_a_yield(10 * US);
	for (int i = 0; i < 7; i++) {
		decision = polls_empty(NEVER);
		sleeps(&decision, true);
	}
	server.has_many_peers = 0;
	decision = polls_empty(NEVER);
	sleeps(&decision, true);
	polls_empty(NEVER);
	expect("  1616.0 program polls, finds nothing -> YIELD\n"
	       "  1626.0 program yielded for 10.0\n"
	       "  1626.0 program polls, finds nothing -> SLEEP until 1674.0, lets others go on\n"
	       "  1674.0 program wakes, no packet\n"
	       "  1674.0 program polls, finds nothing -> SLEEP until 1770.0, lets others go on\n"
	       "  1770.0 program wakes, no packet\n"
	       "  1770.0 program polls, finds nothing -> SLEEP until 1962.0, lets others go on\n"
	       "  1962.0 program wakes, no packet\n"
	       "  1962.0 program polls, finds nothing -> SLEEP until 2346.0, lets others go on\n"
	       "  2346.0 program wakes, no packet\n"
	       "  2346.0 program polls, finds nothing -> SLEEP until 3114.0, lets others go on\n"
	       "  3114.0 program wakes, no packet\n"
	       "  3114.0 program polls, finds nothing -> SLEEP until 4650.0, lets others go on\n"
	       "  4650.0 program wakes, no packet\n"
	       "  4650.0 program polls, finds nothing -> SLEEP until 6650.0, lets others go on\n"
	       "  6650.0 program wakes, no packet\n"
	       "  6650.0 program polls, finds nothing -> SLEEP until 8650.0\n"
	       "  8650.0 program wakes, no packet\n"
	       "  8650.0 program polls, finds nothing -> SLEEP until 9610.0\n");
}
END_TEST

/* The background thread does not wake up earlier for an ACK: the next request takes it along. */
START_TEST(held_acks_wait_for_as_long)
{
	wait_for_long(16);
	background();
	released(now_ns + 19 * US, true);
	server.has_many_peers = 0;
	released(now_ns + 19 * US, true);
	expect("  1616.0 background -> STEP_BACK until 3616.0, lets others go on\n"
	       "  1616.0 engine released -> NOTHING\n"
	       "  1616.0 engine released -> WAKE_BACKGROUND\n");
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
	tcase_add_test(tc, a_poller_sleeps_for_two_milliseconds_at_most);
	tcase_add_test(tc, held_acks_wait_for_as_long);
	return suite_run(suite);
}
