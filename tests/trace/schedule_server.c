// SPDX-License-Identifier: MIT
/* What lib/progress/schedule_*.c decides for a server of many clients, as traces in virtual
 * time. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

static void setup_server(void)
{
	setup();
	send_to_two(4);
}

static void expect_hold(uint64_t us)
{
	ck_assert_uint_eq(schedule_ack_hold_ns(&s, now_ns), us * US * 96 / 100);
}

/* It answers in turn what it has found. */
START_TEST(acks_wait_longer_while_it_polls)
{
	expect_hold(20);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	expect_hold(320);
	pass(MS(5) - 1);
	expect_hold(320);
	pass(1);
	expect_hold(20);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	expect_hold(320);
	slow_down(100);
	ck_assert_uint_eq(schedule_ack_hold_ns(&s, now_ns), 1250000);
}
END_TEST

START_TEST(acks_wait_no_longer_for_who_sends_to_one)
{
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	expect_hold(320);
	for (int i = 0; i < 8; i++)
		schedule_sent_to(&s, &two[1]);
	expect_hold(20);
}
END_TEST

/* It finds completions at each poll, and never runs the engine itself. */
START_TEST(a_poll_that_finds_something_counts)
{
	released(NEVER, true);
	schedule_polled_found(&s, now_ns);
	expect_hold(320);
	pass(MS(5));
	expect_hold(20);
	/* It expects nothing more, and may do anything next. */
	released(NEVER, false);
	schedule_polled_found(&s, now_ns);
	expect_hold(20);
}
END_TEST

/* Its program waits for events. */
START_TEST(armed_completion_queues_change_nothing)
{
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	schedule_cq_armed(&s);
	expect_hold(320);
}
END_TEST

static void serves(void)
{
	background();
	link_wakes();
	background();
}

/* The background thread began to serve while the program had lost its processor. */
START_TEST(its_packets_are_left_to_a_poller_that_is_near)
{
	serves();
	released(NEVER, true);
	runs_engine(OTHER_CPU, true);
	background();
	schedule_polled_found(&s, now_ns);
	runs_engine(OTHER_CPU, true);
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> RUN_ENGINE\n"
	       "     0.0 engine released -> NOTHING\n"
	       "     0.0 background ran the engine, packet\n"
	       "     0.0 background -> RUN_ENGINE\n"
	       "     0.0 background ran the engine, packet\n"
	       "     0.0 background -> WAIT_ON_LINK\n");
	/* The eighth since the thread served. */
	polls_packets(6);
	link_wakes();
	background();
	expect("     0.0 program polls, finds 6 packets\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> STEP_BACK until 48.0\n");
}
END_TEST

START_TEST(one_that_sends_to_one_is_served_on)
{
	for (int i = 0; i < 8; i++)
		schedule_sent_to(&s, &two[1]);
	serves();
	released(NEVER, true);
	schedule_polled_found(&s, now_ns);
	runs_engine(OTHER_CPU, true);
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> RUN_ENGINE\n"
	       "     0.0 engine released -> NOTHING\n"
	       "     0.0 background ran the engine, packet\n"
	       "     0.0 background -> RUN_ENGINE\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule_server");
	TCase *tc = tcase_create("traces");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup_server, NULL);
	tcase_add_test(tc, acks_wait_longer_while_it_polls);
	tcase_add_test(tc, acks_wait_no_longer_for_who_sends_to_one);
	tcase_add_test(tc, a_poll_that_finds_something_counts);
	tcase_add_test(tc, armed_completion_queues_change_nothing);
	tcase_add_test(tc, its_packets_are_left_to_a_poller_that_is_near);
	tcase_add_test(tc, one_that_sends_to_one_is_served_on);
	return suite_run(suite);
}
