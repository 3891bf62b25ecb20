// SPDX-License-Identifier: MIT
/* What lib/progress/schedule_*.c decides for a process that sends to many, a server or a rank of a
 * collective operation, as traces in virtual time. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

static void setup_server(void)
{
	setup();
	send_to_two(4);
}

static void send_to_one(void)
{
	for (int i = 0; i < 8; i++)
		schedule_sent_to(&s, &two[1]);
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
	send_to_one();
	expect_hold(20);
}
END_TEST

/* One of its clients is fast for a while: both have a processor, and the others wait for one. */
START_TEST(many_are_not_forgotten_for_one_that_is_fast)
{
	send_to_two(100);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	for (int i = 0; i < 184; i++)
		schedule_sent_to(&s, &two[1]);
	expect_hold(320);
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

static void a_packet_wakes_the_background_thread(void)
{
	background();
	link_wakes();
	background();
}

/* The background thread began to serve while the program had lost its processor. */
START_TEST(its_packets_are_left_to_a_poller_that_is_near)
{
	a_packet_wakes_the_background_thread();
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
	send_to_one();
	a_packet_wakes_the_background_thread();
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

/* A rank of a collective operation: its yields run other ranks. */
static void shares_its_processor(void)
{
	polls_packets(8);
	polls_empty(NEVER);
	yields_for(10 * US);
}

START_TEST(a_poller_that_shares_its_processor_stays_near)
{
	shares_its_processor();
	pass(767 * US);
	background();
	schedule_step_back_returned(&s, now_ns, background_cpu, true);
	pass(1 * US);
	a_packet_wakes_the_background_thread();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "    10.0 program yielded for 10.0 -> short slice\n"
	       "   777.0 background -> STEP_BACK until 825.0\n"
	       "   778.0 background -> WAIT_ON_LINK\n"
	       "   778.0 background wakes\n"
	       "   778.0 background -> RUN_ENGINE\n");
}
END_TEST

START_TEST(it_stays_near_when_it_found_all)
{
	shares_its_processor();
	released(NEVER, false);
	schedule_polled_found(&s, now_ns);
	pass(100 * US);
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "    10.0 program yielded for 10.0 -> short slice\n"
	       "    10.0 engine released -> NOTHING\n"
	       "   110.0 background -> STEP_BACK until 158.0\n");
}
END_TEST

/* It may spin on its own memory between its polls. */
START_TEST(a_poller_with_a_processor_of_its_own_does_not)
{
	polls_packets(8);
	polls_empty(NEVER);
	yields_for(1 * US);
	pass(99 * US);
	a_packet_wakes_the_background_thread();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "     1.0 program yielded for 1.0\n"
	       "   100.0 background -> WAIT_ON_LINK\n"
	       "   100.0 background wakes\n"
	       "   100.0 background -> RUN_ENGINE\n");
}
END_TEST

START_TEST(a_poller_that_sends_to_one_does_not)
{
	send_to_one();
	shares_its_processor();
	pass(90 * US);
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "    10.0 program yielded for 10.0\n"
	       "   100.0 background -> WAIT_ON_LINK\n");
}
END_TEST

START_TEST(a_program_that_sleeps_does_not)
{
	shares_its_processor();
	will_sleep();
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "    10.0 program yielded for 10.0 -> short slice\n"
	       "    10.0 program will sleep -> NOTHING\n"
	       "    10.0 background -> WAIT_ON_LINK\n");
}
END_TEST

/* On a channel's descriptor. */
START_TEST(a_program_that_may_sleep_does_not)
{
	shares_its_processor();
	schedule_cq_armed(&s);
	pass(90 * US);
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "    10.0 program yielded for 10.0 -> short slice\n"
	       "   100.0 background -> WAIT_ON_LINK\n");
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
	tcase_add_test(tc, many_are_not_forgotten_for_one_that_is_fast);
	tcase_add_test(tc, a_poll_that_finds_something_counts);
	tcase_add_test(tc, armed_completion_queues_change_nothing);
	tcase_add_test(tc, its_packets_are_left_to_a_poller_that_is_near);
	tcase_add_test(tc, one_that_sends_to_one_is_served_on);
	tcase_add_test(tc, a_poller_that_shares_its_processor_stays_near);
	tcase_add_test(tc, it_stays_near_when_it_found_all);
	tcase_add_test(tc, a_poller_with_a_processor_of_its_own_does_not);
	tcase_add_test(tc, a_poller_that_sends_to_one_does_not);
	tcase_add_test(tc, a_program_that_sleeps_does_not);
	tcase_add_test(tc, a_program_that_may_sleep_does_not);
	return suite_run(suite);
}
