/* SPDX-License-Identifier: MIT */
/* What lib/progress/schedule_background.c decides, as traces in virtual time. */
#include <stdlib.h>

#include "tests/trace/schedule_fixture.h"

START_TEST(a_poller_takes_the_background_thread_off_the_link)
{
	background();
	waits_on_link(NEVER);
	polls_packets(8);
	polls_packet();
	polls_packet();
	link_wakes();
	for (int i = 0; i < 6; i++)
		steps_back_beside_poller();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds a packet -> WAKE_BACKGROUND\n"
	       "     0.0 program polls, finds a packet -> NOTHING\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    48.0 background -> STEP_BACK until 144.0\n"
	       "   144.0 background -> STEP_BACK until 336.0\n"
	       "   336.0 background -> STEP_BACK until 720.0\n"
	       "   720.0 background -> STEP_BACK until 1488.0\n"
	       "  1488.0 background -> STEP_BACK until 2256.0\n");
}
END_TEST

START_TEST(armed_completion_queues_keep_steps_back_short)
{
	polls_packets(8);
	schedule_cq_armed(&s);
	steps_back_beside_poller();
	steps_back_beside_poller();
	schedule_cq_disarmed(&s);
	steps_back_beside_poller();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    48.0 background -> STEP_BACK until 96.0\n"
	       "    96.0 background -> STEP_BACK until 288.0\n");
}
END_TEST

/* UCX arms one when it connects, and polls. */
START_TEST(a_completion_queue_that_was_armed_long_ago_does_not)
{
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	schedule_cq_armed(&s);
	pass(MS(5) - 1 * US);
	polls_packets(8);
	steps_back_beside_poller();
	steps_back_beside_poller();
	steps_back_beside_poller();
	expect("  4999.0 program polls, finds 8 packets\n"
	       "  4999.0 background -> STEP_BACK until 5047.0\n"
	       "  5047.0 background -> STEP_BACK until 5143.0\n"
	       "  5143.0 background -> STEP_BACK until 5335.0\n");
}
END_TEST

START_TEST(a_program_that_will_sleep_brings_the_background_thread_back)
{
	will_sleep();
	polls_packets(8);
	background();
	pass(20 * US);
	will_sleep();
	schedule_step_back_returned(&s, now_ns, background_cpu, true);
	background();
	expect("     0.0 program will sleep -> NOTHING\n"
	       "     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    20.0 program will sleep -> WAKE_BACKGROUND\n"
	       "    20.0 background -> WAIT_ON_LINK\n");
}
END_TEST

/* The poller may have lost its processor later. */
START_TEST(a_poll_during_a_step_back_counts)
{
	polls_packets(8);
	background();
	pass(10 * US);
	polls_empty(NEVER);
	pass(40 * US);
	schedule_step_back_returned(&s, now_ns, background_cpu, false);
	polls_empty(NEVER);
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    10.0 program polls, finds nothing -> YIELD\n"
	       "    50.0 program polls, finds nothing -> YIELD\n"
	       "    50.0 background -> STEP_BACK until 146.0\n");
}
END_TEST

START_TEST(a_packet_that_waited_ends_stepping_back)
{
	polls_packets(8);
	background();
	pass(50 * US);
	schedule_step_back_returned(&s, now_ns, background_cpu, false);
	background();
	schedule_link_looked_at(&s, true);
	background();
	link_wakes();
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    50.0 background -> LOOK_AT_LINK\n"
	       "    50.0 background -> WAIT_ON_LINK\n"
	       "    50.0 background wakes\n"
	       "    50.0 background -> RUN_ENGINE\n");
}
END_TEST

START_TEST(a_poller_that_has_not_run_since_its_packet_came_gets_the_processor)
{
	background();
	waits_on_link(NEVER);
	polls_packets(3);
	released(NEVER, true);
	pass(5 * US);
	link_wakes();
	background();
	pass(2 * US);
	polls_packet();
	pass(18 * US);
	schedule_step_back_returned(&s, now_ns, background_cpu, false);
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 program polls, finds 3 packets\n"
	       "     0.0 engine released -> NOTHING\n"
	       "     5.0 background wakes\n"
	       "     5.0 background -> STEP_BACK until 24.2\n"
	       "     7.0 program polls, finds a packet -> NOTHING\n"
	       "    25.0 background -> WAIT_ON_LINK\n");
}
END_TEST

static void finds_all(void)
{
	released(NEVER, false);
	schedule_polled_found(&s, now_ns);
}

/* The program, such as ib_write_lat, finds all that it expects, posts and polls again. */
START_TEST(a_poller_that_finds_all_meanwhile_is_seen)
{
	background();
	waits_on_link(NEVER);
	polls_packets(3);
	finds_all();
	schedule_posted(&s, now_ns, PROGRAMS_CPU);
	released(NEVER, true);
	link_wakes();
	background();
	pass(2 * US);
	polls_packet();
	finds_all();
	pass(18 * US);
	schedule_step_back_returned(&s, now_ns, background_cpu, false);
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 program polls, finds 3 packets\n"
	       "     0.0 engine released -> NOTHING\n"
	       "     0.0 engine released -> NOTHING\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> STEP_BACK until 19.2\n"
	       "     2.0 program polls, finds a packet -> NOTHING\n"
	       "     2.0 engine released -> NOTHING\n"
	       "    20.0 background -> WAIT_ON_LINK\n");
}
END_TEST

/* The poller's yields would run the background thread, which would find each packet first. */
START_TEST(a_packet_beside_a_poller_is_the_poller_s)
{
	background();
	polls_empty(NEVER);
	link_wakes();
	background();
	polls_packet();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> STEP_BACK until 19.2\n"
	       "     0.0 program polls, finds a packet -> NOTHING\n");
}
END_TEST

static void yields_and_a_packet_comes(uint64_t after_ns)
{
	background();
	waits_on_link(NEVER);
	polls_packets(8);
	polls_empty(NEVER);
	pass(after_ns);
	link_wakes();
	background();
}

/* All threads share one processor: a yield lasts while the others run. */
START_TEST(a_poller_that_yields_gets_its_packet)
{
	background_cpu = PROGRAMS_CPU;
	yields_and_a_packet_comes(40 * US);
	pass(2 * US);
	yields_for(2 * US);
	polls_packet();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "    40.0 background wakes\n"
	       "    40.0 background -> STEP_BACK until 88.0\n"
	       "    44.0 program yielded for 2.0\n"
	       "    44.0 program polls, finds a packet -> NOTHING\n");
}
END_TEST

/* After 48 us strangers have the processor. */
START_TEST(a_poller_that_yields_for_long_is_served)
{
	background_cpu = PROGRAMS_CPU;
	yields_and_a_packet_comes(48 * US);
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "    48.0 background wakes\n"
	       "    48.0 background -> RUN_ENGINE\n");
}
END_TEST

/* A background thread on another processor is not in its way. */
START_TEST(a_poller_that_yields_elsewhere_is_served)
{
	yields_and_a_packet_comes(40 * US);
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 program polls, finds 8 packets\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "    40.0 background wakes\n"
	       "    40.0 background -> RUN_ENGINE\n");
}
END_TEST

/* It yields to its peer after a post, and polls then. */
START_TEST(a_poller_that_posts_and_yields_gets_its_packet)
{
	struct schedule_decision decision;

	background_cpu = PROGRAMS_CPU;
	background();
	waits_on_link(NEVER);
	polls_packets(8);
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	pass(40 * US);
	link_wakes();
	background();
	yields_for(1 * US);
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 program polls, finds 8 packets\n"
	       "     0.0 program posts -> YIELD\n"
	       "    40.0 background wakes\n"
	       "    40.0 background -> STEP_BACK until 88.0\n"
	       "    41.0 program yielded for 1.0\n");
}
END_TEST

/* A program that spins on its own memory yields after a post as well: its packets are received for
 * it. */
START_TEST(a_program_that_only_posts_and_yields_is_served)
{
	struct schedule_decision decision;

	background();
	waits_on_link(NEVER);
	polls_packets(8);
	pass(MS(6));
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	link_wakes();
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 program polls, finds 8 packets\n"
	       "  6000.0 program posts -> YIELD\n"
	       "  6000.0 background wakes\n"
	       "  6000.0 background -> RUN_ENGINE\n");
}
END_TEST

START_TEST(a_poller_that_sleeps_on_the_link_gets_its_packet)
{
	struct schedule_decision decision;

	background();
	waits_on_link(NEVER);
	polls_empty(NEVER);
	yields_for(400 * US);
	decision = polls_empty(NEVER);
	pass(30 * US);
	link_wakes();
	background();
	pass(10 * US);
	sleeps(&decision, false);
	polls_packet();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 program polls, finds nothing -> YIELD\n"
	       "   400.0 program yielded for 400.0 -> short slice\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 448.0\n"
	       "   430.0 background wakes\n"
	       "   430.0 background -> STEP_BACK until 478.0\n"
	       "   440.0 program wakes, packet\n"
	       "   440.0 program polls, finds a packet -> NOTHING\n");
}
END_TEST

START_TEST(a_program_that_calls_nothing_is_served)
{
	background();
	waits_on_link(NEVER);
	pass(100 * US);
	link_wakes();
	background();
	runs_engine(OTHER_CPU, true);
	pass(10 * US);
	background();
	runs_engine(OTHER_CPU, false);
	background();
	background_yields_for(9 * US);
	pass(1 * US);
	background();
	runs_engine(OTHER_CPU, false);
	background();
	background_yields_for(1 * US);
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "   100.0 background wakes\n"
	       "   100.0 background -> RUN_ENGINE\n"
	       "   100.0 background ran the engine, packet\n"
	       "   110.0 background -> RUN_ENGINE\n"
	       "   110.0 background ran the engine, nothing\n"
	       "   110.0 background -> YIELD\n"
	       "   119.0 background yielded for 9.0\n"
	       "   120.0 background -> RUN_ENGINE\n"
	       "   120.0 background ran the engine, nothing\n"
	       "   120.0 background -> YIELD\n"
	       "   121.0 background yielded for 1.0\n"
	       "   121.0 background -> WAIT_ON_LINK\n");
}
END_TEST

START_TEST(a_processor_that_others_want_is_left)
{
	background();
	link_wakes();
	background();
	runs_engine(OTHER_CPU, false);
	background();
	background_yields_for(11 * US);
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> RUN_ENGINE\n"
	       "     0.0 background ran the engine, nothing\n"
	       "     0.0 background -> YIELD\n"
	       "    11.0 background yielded for 11.0\n"
	       "    11.0 background -> WAIT_ON_LINK\n");
}
END_TEST

START_TEST(the_program_s_processor_is_left_at_once)
{
	schedule_posted(&s, now_ns, PROGRAMS_CPU);
	background();
	pass(MS(5) - 1);
	link_wakes();
	background();
	runs_engine(PROGRAMS_CPU, false);
	background();
	pass(1);
	link_wakes();
	background();
	runs_engine(PROGRAMS_CPU, false);
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "  5000.0 background wakes\n"
	       "  5000.0 background -> RUN_ENGINE\n"
	       "  5000.0 background ran the engine, nothing\n"
	       "  5000.0 background -> WAIT_ON_LINK\n"
	       "  5000.0 background wakes\n"
	       "  5000.0 background -> RUN_ENGINE\n"
	       "  5000.0 background ran the engine, nothing\n"
	       "  5000.0 background -> YIELD\n");
}
END_TEST

START_TEST(a_long_message_keeps_its_poller_near)
{
	polls_packets(8);
	pass(300 * US);
	engine_held = true;
	background();
	engine_held = false;
	schedule_step_back_returned(&s, now_ns, background_cpu, true);
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "   300.0 background -> STEP_BACK until 348.0\n"
	       "   300.0 background -> WAIT_ON_LINK\n");
}
END_TEST

/* The thread that runs the engine does something else than poll: it registers memory. */
START_TEST(a_program_that_polled_long_ago_is_no_poller)
{
	polls_packets(8);
	pass(MS(5));
	engine_held = true;
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "  5000.0 background -> WAIT_ON_LINK\n");
}
END_TEST

START_TEST(a_delayed_ack_wakes_nobody_for_a_millisecond)
{
	background();
	waits_on_link(NEVER);
	released(now_ns + 19 * US, true);
	timer_wakes();
	pass(10 * US);
	released(now_ns + 10 * US, true);
	pass(100 * US);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	background();
	runs_engine(OTHER_CPU, false);
	background();
	waits_on_link(now_ns + 15 * US);
	timer_wakes();
	background();
	runs_engine(OTHER_CPU, false);
	pass(MS(5));
	background();
	waits_on_link(now_ns + MS(8));
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 engine released -> WAKE_BACKGROUND\n"
	       "     0.0 background wakes, no packet\n"
	       "    10.0 engine released -> NOTHING\n"
	       "   110.0 background -> RUN_ENGINE\n"
	       "   110.0 background ran the engine, nothing\n"
	       "   110.0 background -> WAIT_ON_LINK\n"
	       "   110.0 background waits until 125.0\n"
	       "   110.0 background wakes, no packet\n"
	       "   110.0 background -> RUN_ENGINE\n"
	       "   110.0 background ran the engine, nothing\n"
	       "  5110.0 background -> WAIT_ON_LINK\n"
	       "  5110.0 background waits until 13110.0\n");
}
END_TEST

/* Since its engine was told how long, system calls have become faster. */
START_TEST(an_engine_that_holds_acks_for_longer_wakes_nobody)
{
	schedule_call_measured(&s, 100);
	background();
	waits_on_link(now_ns + 200 * US);
	released(now_ns + ACK_HOLD_NS, true);
	released(now_ns + ACK_HOLD_NS + 1, true);
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits until 200.0\n"
	       "     0.0 engine released -> NOTHING\n"
	       "     0.0 engine released -> WAKE_BACKGROUND\n");
}
END_TEST

START_TEST(held_acks_are_looked_at_every_millisecond)
{
	released(now_ns + 19 * US, true);
	pass(50 * US);
	background();
	waits_on_link(now_ns + MS(8));
	expect("     0.0 engine released -> WAKE_BACKGROUND\n"
	       "    50.0 background -> WAIT_ON_LINK\n"
	       "    50.0 background waits until 1010.0\n");
}
END_TEST

START_TEST(an_earlier_timer_wakes_the_background_thread)
{
	background();
	waits_on_link(now_ns + MS(8));
	released(now_ns + MS(9), true);
	released(now_ns + MS(2), true);
	released(now_ns + MS(2), true);
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits until 8000.0\n"
	       "     0.0 engine released -> NOTHING\n"
	       "     0.0 engine released -> WAKE_BACKGROUND\n"
	       "     0.0 engine released -> NOTHING\n");
}
END_TEST

START_TEST(no_timer_wakes_a_thread_that_is_awake)
{
	background();
	waits_on_link(NEVER);
	link_wakes();
	background();
	released(now_ns + MS(8), false);
	runs_engine(OTHER_CPU, true);
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> RUN_ENGINE\n"
	       "     0.0 engine released -> NOTHING\n"
	       "     0.0 background ran the engine, packet\n");
}
END_TEST

START_TEST(a_timer_wakes_a_thread_that_stepped_back_once)
{
	const uint64_t due_ns = now_ns + 500 * US;

	polls_packets(8);
	for (int i = 0; i < 3; i++)
		steps_back_beside_poller();
	background();
	released(due_ns, true);
	pass(10 * US);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	schedule_step_back_returned(&s, now_ns, background_cpu, true);
	background();
	released(due_ns, true);
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    48.0 background -> STEP_BACK until 144.0\n"
	       "   144.0 background -> STEP_BACK until 336.0\n"
	       "   336.0 background -> STEP_BACK until 720.0\n"
	       "   336.0 engine released -> WAKE_BACKGROUND\n"
	       "   346.0 background -> STEP_BACK until 500.0\n"
	       "   346.0 engine released -> NOTHING\n");
}
END_TEST

START_TEST(a_program_that_got_all_is_not_taken_for_a_poller)
{
	polls_packets(8);
	released(NEVER, false);
	schedule_polled_found(&s, now_ns);
	background();
	link_wakes();
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 engine released -> NOTHING\n"
	       "     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> RUN_ENGINE\n");
}
END_TEST

START_TEST(unsent_packets_are_tried_again)
{
	const struct schedule_timers timers = { NEVER, NEVER, .unsent = true };

	background();
	ck_assert_uint_eq(schedule_link_wait_began(&s, now_ns, &timers), now_ns + 96 * US);
}
END_TEST

START_TEST(packets_that_the_kernel_refuses_wake_the_background_thread)
{
	const struct schedule_timers timers = { NEVER, NEVER, .unsent = true };
	struct schedule_decision decision;

	background();
	waits_on_link(NEVER);
	decision = schedule_engine_released(&s, now_ns, &timers, false);
	note_decision("engine released, packets are unsent", &decision);
	decision = schedule_engine_released(&s, now_ns, &timers, false);
	note_decision("engine released, packets are unsent", &decision);
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 engine released, packets are unsent -> WAKE_BACKGROUND\n"
	       "     0.0 engine released, packets are unsent -> NOTHING\n");
}
END_TEST

START_TEST(but_a_poller_that_is_near_sends_them)
{
	const struct schedule_timers timers = { NEVER, NEVER, .unsent = true };
	struct schedule_decision decision;

	polls_packets(8);
	steps_back_beside_poller();
	steps_back_beside_poller();
	background();
	decision = schedule_engine_released(&s, now_ns, &timers, true);
	ck_assert_int_eq(decision.action, SCHEDULE_NOTHING);
}
END_TEST

/* The process detaches while its thread is awake, and attaches again. */
START_TEST(a_new_background_thread_waits_first)
{
	background();
	waits_on_link(NEVER);
	link_wakes();
	schedule_stop(&s);
	background();
	schedule_start(&s, s.is_engine_held, NULL);
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> EXIT\n"
	       "     0.0 background -> WAIT_ON_LINK\n");
}
END_TEST

START_TEST(the_background_thread_exits_when_asked)
{
	background();
	schedule_stop(&s);
	link_wakes();
	background();
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background wakes\n"
	       "     0.0 background -> EXIT\n");
}
END_TEST

static Suite *schedule_suite(void)
{
	Suite *suite = suite_create("schedule_background");
	TCase *tc = tcase_create("schedule_background");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_poller_takes_the_background_thread_off_the_link);
	tcase_add_test(tc, armed_completion_queues_keep_steps_back_short);
	tcase_add_test(tc, a_completion_queue_that_was_armed_long_ago_does_not);
	tcase_add_test(tc, a_program_that_will_sleep_brings_the_background_thread_back);
	tcase_add_test(tc, a_poll_during_a_step_back_counts);
	tcase_add_test(tc, a_packet_beside_a_poller_is_the_poller_s);
	tcase_add_test(tc, a_packet_that_waited_ends_stepping_back);
	tcase_add_test(tc, a_poller_that_has_not_run_since_its_packet_came_gets_the_processor);
	tcase_add_test(tc, a_poller_that_finds_all_meanwhile_is_seen);
	tcase_add_test(tc, a_poller_that_yields_gets_its_packet);
	tcase_add_test(tc, a_poller_that_yields_for_long_is_served);
	tcase_add_test(tc, a_poller_that_yields_elsewhere_is_served);
	tcase_add_test(tc, a_poller_that_posts_and_yields_gets_its_packet);
	tcase_add_test(tc, a_program_that_only_posts_and_yields_is_served);
	tcase_add_test(tc, a_poller_that_sleeps_on_the_link_gets_its_packet);
	tcase_add_test(tc, a_program_that_calls_nothing_is_served);
	tcase_add_test(tc, a_processor_that_others_want_is_left);
	tcase_add_test(tc, the_program_s_processor_is_left_at_once);
	tcase_add_test(tc, a_long_message_keeps_its_poller_near);
	tcase_add_test(tc, a_program_that_polled_long_ago_is_no_poller);
	tcase_add_test(tc, a_delayed_ack_wakes_nobody_for_a_millisecond);
	tcase_add_test(tc, an_engine_that_holds_acks_for_longer_wakes_nobody);
	tcase_add_test(tc, held_acks_are_looked_at_every_millisecond);
	tcase_add_test(tc, an_earlier_timer_wakes_the_background_thread);
	tcase_add_test(tc, no_timer_wakes_a_thread_that_is_awake);
	tcase_add_test(tc, a_timer_wakes_a_thread_that_stepped_back_once);
	tcase_add_test(tc, a_program_that_got_all_is_not_taken_for_a_poller);
	tcase_add_test(tc, unsent_packets_are_tried_again);
	tcase_add_test(tc, but_a_poller_that_is_near_sends_them);
	tcase_add_test(tc, packets_that_the_kernel_refuses_wake_the_background_thread);
	tcase_add_test(tc, the_background_thread_exits_when_asked);
	tcase_add_test(tc, a_new_background_thread_waits_first);
	suite_add_tcase(suite, tc);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(schedule_suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
