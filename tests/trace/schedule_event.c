/* SPDX-License-Identifier: MIT */
/* What lib/progress/schedule_*.c decides for threads that wait for events, of programs that are no
 * clients of a busy server, as traces in virtual time. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

#define SOON (48 * US)

static void expect_wait(enum schedule_action action)
{
	const struct schedule_decision decision = schedule_event_wait_began(&s);

	ck_assert_int_eq(decision.action, action);
	ck_assert(!decision.lets_others_go_on);
	if (action == SCHEDULE_SLEEP)
		schedule_event_wait_ended(&s);
}

static void awaited(uint64_t away_ns)
{
	ck_assert_uint_eq(schedule_event_awaited(&s, away_ns), 48 * US);
}

/* Two threads would wake up for each packet. */
START_TEST(a_thread_that_comes_back_soon_waits_on_the_link)
{
	awaited(SOON);
	expect_wait(SCHEDULE_SLEEP);
	awaited(0);
	expect_wait(SCHEDULE_SLEEP);
}
END_TEST

/* Packets wait while such a thread is away. */
START_TEST(after_a_thread_was_away_for_long_eight_waits_are_on_channels)
{
	awaited(SOON + 1);
	for (int i = 0; i < 8; i++) {
		expect_wait(SCHEDULE_NOTHING);
		awaited(SOON);
	}
	expect_wait(SCHEDULE_SLEEP);
	awaited(MS(1000));
	for (int i = 0; i < 4; i++)
		awaited(SOON);
	awaited(MS(1000));
	for (int i = 0; i < 7; i++)
		awaited(SOON);
	expect_wait(SCHEDULE_NOTHING);
	awaited(SOON);
	expect_wait(SCHEDULE_SLEEP);
}
END_TEST

/* It takes long for all that have sent. */
START_TEST(a_server_of_many_may_be_away_for_longer)
{
	send_to_two(4);
	awaited(768 * US);
	expect_wait(SCHEDULE_SLEEP);
	awaited(768 * US + 1);
	expect_wait(SCHEDULE_NOTHING);
}
END_TEST

START_TEST(one_thread_waits_on_the_link)
{
	ck_assert_int_eq(schedule_event_wait_began(&s).action, SCHEDULE_SLEEP);
	expect_wait(SCHEDULE_NOTHING);
	schedule_event_wait_ended(&s);
	expect_wait(SCHEDULE_SLEEP);
}
END_TEST

/* Although a completion queue is armed. */
START_TEST(meanwhile_the_background_thread_steps_back)
{
	polls_packets(8);
	schedule_cq_armed(&s);
	ck_assert_int_eq(schedule_event_wait_began(&s).action, SCHEDULE_SLEEP);
	steps_back_beside_poller();
	steps_back_beside_poller();
	schedule_event_wait_ended(&s);
	steps_back_beside_poller();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    48.0 background -> STEP_BACK until 144.0\n"
	       "   144.0 background -> STEP_BACK until 192.0\n");
}
END_TEST

/* It does not wait its turn: a server that is not busy answers late for another reason. */
START_TEST(a_sleep_on_the_link_is_no_long_wait)
{
	for (int i = 0; i < 24; i++) {
		found_nothing(NEVER);
		(void)schedule_poll_began(&s, now_ns, PROGRAMS_CPU);
		expect_wait(SCHEDULE_SLEEP);
		pass(MS(1));
		schedule_polled(&s, now_ns, PROGRAMS_CPU);
		schedule_packet_arrived(&s);
	}
	ck_assert(!turns_must_wait(&s.turns));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule_event");
	TCase *tc = tcase_create("traces");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_thread_that_comes_back_soon_waits_on_the_link);
	tcase_add_test(tc, after_a_thread_was_away_for_long_eight_waits_are_on_channels);
	tcase_add_test(tc, a_server_of_many_may_be_away_for_longer);
	tcase_add_test(tc, one_thread_waits_on_the_link);
	tcase_add_test(tc, meanwhile_the_background_thread_steps_back);
	tcase_add_test(tc, a_sleep_on_the_link_is_no_long_wait);
	return suite_run(suite);
}
