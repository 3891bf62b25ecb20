/* SPDX-License-Identifier: MIT */
/* What lib/progress/schedule_*.c decides for threads of the program, as traces in virtual time. A
 * line: microseconds, the thread, the event, the decision. */
#include <stdlib.h>

#include "tests/trace/schedule_fixture.h"

START_TEST(a_yield_when_nobody_wants_the_processor)
{
	polls_empty(NEVER);
	yields_for(1 * US);
	polls_empty(NEVER);
	pass(2 * US);
	polls_empty(NEVER);
	pass(1 * US);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "     1.0 program yielded for 1.0\n"
	       "     1.0 program polls, finds nothing -> NOTHING\n"
	       "     3.0 program polls, finds nothing -> NOTHING\n"
	       "     4.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

START_TEST(while_nobody_wants_the_processor_yields_become_rare)
{
	for (int i = 0; i < 7; i++)
		polls_until_a_yield(1 * US);
	polls_until_a_yield(5 * US);
	polls_until_a_yield(1 * US);
	polls_until_a_yield(1 * US);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "     1.0 program yielded for 1.0\n"
	       "     4.0 program polls, finds nothing -> YIELD\n"
	       "     5.0 program yielded for 1.0\n"
	       "    11.0 program polls, finds nothing -> YIELD\n"
	       "    12.0 program yielded for 1.0\n"
	       "    24.0 program polls, finds nothing -> YIELD\n"
	       "    25.0 program yielded for 1.0\n"
	       "    49.0 program polls, finds nothing -> YIELD\n"
	       "    50.0 program yielded for 1.0\n"
	       "    98.0 program polls, finds nothing -> YIELD\n"
	       "    99.0 program yielded for 1.0\n"
	       "   147.0 program polls, finds nothing -> YIELD\n"
	       "   148.0 program yielded for 1.0\n"
	       "   196.0 program polls, finds nothing -> YIELD\n"
	       "   201.0 program yielded for 5.0\n"
	       "   201.0 program polls, finds nothing -> YIELD\n"
	       "   202.0 program yielded for 1.0\n"
	       "   205.0 program polls, finds nothing -> YIELD\n"
	       "   206.0 program yielded for 1.0\n");
}
END_TEST

/* The peer may have the same processor, and has something to do now. */
START_TEST(who_posts_yields_again_soon)
{
	struct schedule_decision decision;

	for (int i = 0; i < 3; i++)
		polls_until_a_yield(1 * US);
	pass(2 * US);
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	pass(1 * US);
	polls_empty(NEVER);
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "     1.0 program yielded for 1.0\n"
	       "     4.0 program polls, finds nothing -> YIELD\n"
	       "     5.0 program yielded for 1.0\n"
	       "    11.0 program polls, finds nothing -> YIELD\n"
	       "    12.0 program yielded for 1.0\n"
	       "    14.0 program posts -> NOTHING\n"
	       "    15.0 program polls, finds nothing -> NOTHING\n"
	       "    15.0 program posts -> YIELD\n");
}
END_TEST

START_TEST(a_peer_on_the_same_processor_gets_every_yield)
{
	polls_empty(NEVER);
	yields_for(5 * US);
	polls_empty(NEVER);
	yields_for(5 * US);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "     5.0 program yielded for 5.0\n"
	       "     5.0 program polls, finds nothing -> YIELD\n"
	       "    10.0 program yielded for 5.0\n");
}
END_TEST

START_TEST(after_an_expensive_yield_pollers_sleep)
{
	struct schedule_decision decision;

	polls_empty(NEVER);
	yields_for(400 * US);
	for (int i = 0; i < 5; i++) {
		decision = polls_empty(NEVER);
		sleeps(&decision, true);
	}
	decision = polls_empty(NEVER);
	sleeps(&decision, false);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "   400.0 program yielded for 400.0 -> short slice\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 448.0\n"
	       "   448.0 program wakes, no packet\n"
	       "   448.0 program polls, finds nothing -> SLEEP until 544.0\n"
	       "   544.0 program wakes, no packet\n"
	       "   544.0 program polls, finds nothing -> SLEEP until 736.0\n"
	       "   736.0 program wakes, no packet\n"
	       "   736.0 program polls, finds nothing -> SLEEP until 976.0\n"
	       "   976.0 program wakes, no packet\n"
	       "   976.0 program polls, finds nothing -> SLEEP until 1216.0\n"
	       "  1216.0 program wakes, no packet\n"
	       "  1216.0 program polls, finds nothing -> SLEEP until 1456.0\n"
	       "  1216.0 program wakes, packet\n"
	       "  1216.0 program polls, finds nothing -> SLEEP until 1264.0\n");
}
END_TEST

static void sleep_twice(uint64_t timer_ns)
{
	struct schedule_decision decision;

	schedule_background_started(&s, 2, timer_ns);
	polls_empty(NEVER);
	yields_for(400 * US);
	decision = polls_empty(NEVER);
	sleeps(&decision, true);
	polls_empty(NEVER);
}

/* Each sleep sets one. */
START_TEST(where_timers_are_dear_pollers_sleep_for_longer)
{
	sleep_twice(3 * US);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "   400.0 program yielded for 400.0 -> short slice\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 472.0\n"
	       "   472.0 program wakes, no packet\n"
	       "   472.0 program polls, finds nothing -> SLEEP until 616.0\n");
}
END_TEST

START_TEST(as_long_each_time_where_that_is_the_longest)
{
	sleep_twice(20 * US);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "   400.0 program yielded for 400.0 -> short slice\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 880.0\n"
	       "   880.0 program wakes, no packet\n"
	       "   880.0 program polls, finds nothing -> SLEEP until 1360.0\n");
}
END_TEST

START_TEST(but_no_longer_than_1_ms)
{
	sleep_twice(100 * US);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "   400.0 program yielded for 400.0 -> short slice\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 1400.0\n"
	       "  1400.0 program wakes, no packet\n"
	       "  1400.0 program polls, finds nothing -> SLEEP until 2400.0\n");
}
END_TEST

/* With its own slice, EEVDF would run it long after each packet. */
START_TEST(after_an_expensive_yield_of_a_post_the_poller_gets_a_short_slice)
{
	struct schedule_decision decision = schedule_sent_to_local_peer(&s, now_ns);

	note_decision("program posts", &decision);
	yields_for(400 * US);
	for (int i = 0; i < 2; i++) {
		decision = polls_empty(NEVER);
		sleeps(&decision, false);
	}
	expect("     0.0 program posts -> YIELD\n"
	       "   400.0 program yielded for 400.0\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 448.0, short slice\n"
	       "   400.0 program wakes, packet\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 448.0\n"
	       "   400.0 program wakes, packet\n");
}
END_TEST

/* The process attaches again, and the machine has as many programs as before. */
START_TEST(a_new_background_thread_lets_pollers_sleep_on)
{
	polls_empty(NEVER);
	yields_for(400 * US);
	schedule_start(&s, s.is_engine_held, NULL);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "   400.0 program yielded for 400.0 -> short slice\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 448.0\n");
}
END_TEST

START_TEST(after_20_ms_a_yield_is_tried_again)
{
	polls_empty(NEVER);
	yields_for(301 * US);
	pass(MS(20) - 1);
	polls_empty(NEVER);
	pass(1);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "   301.0 program yielded for 301.0 -> short slice\n"
	       " 20301.0 program polls, finds nothing -> SLEEP until 20349.0\n"
	       " 20301.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

START_TEST(a_sleep_ends_when_the_engine_is_due)
{
	polls_empty(NEVER);
	yields_for(400 * US);
	polls_empty(now_ns + 7 * US);
	polls_empty(now_ns);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "   400.0 program yielded for 400.0 -> short slice\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 407.0\n"
	       "   400.0 program polls, finds nothing -> NOTHING\n");
}
END_TEST

START_TEST(who_posts_yields_as_who_polls)
{
	struct schedule_decision decision;

	schedule_posted(&s, now_ns, PROGRAMS_CPU);
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	yields_for(400 * US);
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	expect("     0.0 program posts -> YIELD\n"
	       "   400.0 program yielded for 400.0\n"
	       "   400.0 program posts -> NOTHING\n");
}
END_TEST

static struct presence peer;

static void peer_runs_on(int cpu)
{
	atomic_store(&peer.at_ns, now_ns);
	atomic_store(&peer.cpu, cpu);
	schedule_sent_to(&s, &peer);
}

START_TEST(while_the_peer_runs_elsewhere_nothing_yields)
{
	peer_runs_on(OTHER_CPU);
	polls_empty(NEVER);
	pass(13 * US);
	peer_runs_on(OTHER_CPU);
	polls_empty(NEVER);
	pass(13 * US);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> NOTHING\n"
	       "    13.0 program polls, finds nothing -> NOTHING\n"
	       "    26.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

/* It was seen for the last time at 0, and is looked for again after 12 us. */
START_TEST(a_peer_that_ran_just_now_is_spun_for)
{
	peer_runs_on(OTHER_CPU);
	polls_empty(NEVER);
	pass(8 * US);
	polls_empty(NEVER);
	pass(4 * US);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> NOTHING\n"
	       "     8.0 program polls, finds nothing -> NOTHING\n"
	       "    12.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

START_TEST(a_peer_that_waits_for_this_processor_gets_it)
{
	peer_runs_on(PROGRAMS_CPU);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

START_TEST(of_a_peer_on_another_host_nothing_is_known)
{
	peer_runs_on(OTHER_CPU);
	schedule_sent_to(&s, NULL);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

/* Pollers of this device may be more than there are processors. */
START_TEST(beside_expensive_yields_a_poller_spins_while_its_peer_runs)
{
	polls_empty(NEVER);
	yields_for(400 * US);
	peer_runs_on(OTHER_CPU);
	polls_empty(NEVER);
	pass(13 * US);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "   400.0 program yielded for 400.0 -> short slice\n"
	       "   400.0 program polls, finds nothing -> NOTHING\n"
	       "   413.0 program polls, finds nothing -> SLEEP until 461.0\n");
}
END_TEST

/* A yield of 10 us ran others, one of 9 us an interrupt. The peer serves them first. */
START_TEST(after_16_long_waits_a_yield_that_ran_others_is_the_last)
{
	wait_for_long(16);
	pass(US);
	polls_until_a_yield(9 * US);
	polls_until_a_yield(10 * US);
	peer_runs_on(OTHER_CPU);
	polls_empty(NEVER);
	pass(MS(639));
	polls_empty(NEVER);
	pass(MS(1));
	polls_empty(NEVER);
	expect("  1617.0 program polls, finds nothing -> YIELD\n"
	       "  1626.0 program yielded for 9.0\n"
	       "  1626.0 program polls, finds nothing -> YIELD\n"
	       "  1636.0 program yielded for 10.0\n"
	       "  1636.0 program polls, finds nothing -> SLEEP until 1684.0\n"
	       "640636.0 program polls, finds nothing -> SLEEP until 640684.0\n"
	       "641636.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

/* The next packet takes as long. */
START_TEST(who_waits_its_turn_sleeps_as_long_again)
{
	struct schedule_decision decision;

	wait_for_long(16);
	polls_until_a_yield(10 * US);
	for (int i = 0; i < 6; i++) {
		decision = polls_empty(NEVER);
		sleeps(&decision, i < 5);
	}
	polls_packet();
	polls_empty(NEVER);
	expect("  1616.0 program polls, finds nothing -> YIELD\n"
	       "  1626.0 program yielded for 10.0\n"
	       "  1626.0 program polls, finds nothing -> SLEEP until 1674.0\n"
	       "  1674.0 program wakes, no packet\n"
	       "  1674.0 program polls, finds nothing -> SLEEP until 1770.0\n"
	       "  1770.0 program wakes, no packet\n"
	       "  1770.0 program polls, finds nothing -> SLEEP until 1962.0\n"
	       "  1962.0 program wakes, no packet\n"
	       "  1962.0 program polls, finds nothing -> SLEEP until 2346.0\n"
	       "  2346.0 program wakes, no packet\n"
	       "  2346.0 program polls, finds nothing -> SLEEP until 3114.0\n"
	       "  3114.0 program wakes, no packet\n"
	       "  3114.0 program polls, finds nothing -> SLEEP until 4074.0\n"
	       "  3114.0 program wakes, packet\n"
	       "  3114.0 program polls, finds a packet -> NOTHING\n"
	       "  3114.0 program polls, finds nothing -> SLEEP until 4074.0\n");
}
END_TEST

START_TEST(after_fewer_long_waits_who_polls_yields_on)
{
	wait_for_long(15);
	polls_until_a_yield(10 * US);
	polls_empty(NEVER);
	expect("  1515.0 program polls, finds nothing -> YIELD\n"
	       "  1525.0 program yielded for 10.0\n"
	       "  1525.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

START_TEST(a_wait_of_more_than_48_us_is_long)
{
	for (int i = 0; i < 16; i++)
		waits_for(49 * US);
	polls_until_a_yield(10 * US);
	polls_empty(NEVER);
	expect("   800.0 program polls, finds nothing -> YIELD\n"
	       "   810.0 program yielded for 10.0\n"
	       "   810.0 program polls, finds nothing -> SLEEP until 858.0\n");
}
END_TEST

/* 24 long waits count, later ones do not. */
START_TEST(short_waits_make_up_for_long_ones)
{
	wait_for_long(40);
	for (int i = 0; i < 9; i++)
		waits_for(47 * US);
	polls_until_a_yield(10 * US);
	polls_empty(NEVER);
	expect("  4469.0 program polls, finds nothing -> YIELD\n"
	       "  4479.0 program yielded for 10.0\n"
	       "  4479.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

/* The program may have slept for another reason. */
START_TEST(a_sleep_in_the_kernel_is_no_wait)
{
	sleep_in_the_kernel(16);
	polls_until_a_yield(10 * US);
	polls_empty(NEVER);
	expect("  1600.0 program polls, finds nothing -> YIELD\n"
	       "  1610.0 program yielded for 10.0\n"
	       "  1610.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

START_TEST(a_process_shows_whether_it_sends_to_many)
{
	struct presence own = { .has_many_peers = 1 };

	schedule_attached(&s, &own);
	ck_assert_uint_eq(own.has_many_peers, 0);
	send_to_two(4);
	ck_assert_uint_eq(own.has_many_peers, 1);
	schedule_sent_to(&s, &two[1]);
	ck_assert_uint_eq(own.has_many_peers, 0);
}
END_TEST

/* After 16 long waits, a yield that ran others is not the last. */
static void expect_yields_on(void)
{
	polls_until_a_yield(10 * US);
	polls_empty(NEVER);
	expect("  1616.0 program polls, finds nothing -> YIELD\n"
	       "  1626.0 program yielded for 10.0 -> short slice\n"
	       "  1626.0 program polls, finds nothing -> YIELD\n");
}

/* A yield runs those that it waits for. */
START_TEST(who_sends_to_many_yields_on)
{
	wait_for_long(16);
	send_to_two(4);
	expect_yields_on();
}
END_TEST

/* A server has more to answer. */
START_TEST(who_polls_and_sends_to_many_does_not_yield_after_a_send)
{
	struct schedule_decision decision;

	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	send_to_two(3);
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	yields_for(10 * US);
	schedule_sent_to(&s, &two[1]);
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	pass(MS(5));
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	expect("     0.0 program posts -> YIELD\n"
	       "    10.0 program yielded for 10.0\n"
	       "    10.0 program posts -> NOTHING\n"
	       "  5010.0 program posts -> YIELD\n");
}
END_TEST

START_TEST(peers_on_another_host_count_as_many)
{
	wait_for_long(16);
	for (int i = 0; i < 4; i++)
		schedule_sent_to(&s, NULL);
	expect_yields_on();
}
END_TEST

START_TEST(who_sends_to_the_same_peer_again_waits_its_turn)
{
	wait_for_long(16);
	send_to_two(4);
	schedule_sent_to(&s, &two[1]);
	polls_until_a_yield(10 * US);
	polls_empty(NEVER);
	expect("  1616.0 program polls, finds nothing -> YIELD\n"
	       "  1626.0 program yielded for 10.0\n"
	       "  1626.0 program polls, finds nothing -> SLEEP until 1674.0\n");
}
END_TEST

START_TEST(who_gets_answers_soon_sleeps_for_20_ms_only)
{
	wait_for_long(16);
	polls_until_a_yield(10 * US);
	polls_empty(NEVER);
	pass(30 * US);
	polls_packet();
	pass(MS(20) - 30 * US - 1);
	polls_empty(NEVER);
	pass(1);
	polls_empty(NEVER);
	expect("  1616.0 program polls, finds nothing -> YIELD\n"
	       "  1626.0 program yielded for 10.0\n"
	       "  1626.0 program polls, finds nothing -> SLEEP until 1674.0\n"
	       "  1656.0 program polls, finds a packet -> NOTHING\n"
	       " 21626.0 program polls, finds nothing -> SLEEP until 21674.0\n"
	       " 21626.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

START_TEST(who_posts_to_a_peer_that_runs_yields_only_if_it_does_not_poll)
{
	struct schedule_decision decision;

	schedule_posted(&s, now_ns, PROGRAMS_CPU);
	peer_runs_on(OTHER_CPU);
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	decision = schedule_sent_to_local_peer(&s, now_ns);
	note_decision("program posts", &decision);
	expect("     0.0 program posts -> YIELD\n"
	       "     0.0 program posts -> NOTHING\n");
}
END_TEST

START_TEST(a_process_shows_where_its_engine_runs)
{
	struct presence own = { 0 };

	schedule_engine_runs(&s, now_ns, OTHER_CPU);
	schedule_attached(&s, &own);
	schedule_engine_runs(&s, now_ns, OTHER_CPU);
	ck_assert_uint_eq(own.at_ns, now_ns);
	ck_assert_int_eq(own.cpu, OTHER_CPU);
	schedule_attached(&s, NULL);
	schedule_engine_runs(&s, now_ns + 1, OTHER_CPU);
	ck_assert_uint_eq(own.at_ns, now_ns);
}
END_TEST

/* An emulated processor. Each measurement raises the unit by half at most. */
START_TEST(the_unit_is_what_a_system_call_takes_here)
{
	struct schedule_decision decision;

	found_nothing(NEVER);
	for (int i = 0; i < 8; i++) {
		decision = schedule_poll_began(&s, now_ns, PROGRAMS_CPU);
		ck_assert_int_eq(decision.measures, true);
		schedule_call_measured(&s, 7500);
	}
	decision = polls_empty(NEVER);
	ck_assert_int_eq(decision.measures, false);
	yields_for(40 * US);
	polls_empty(NEVER);
	pass(74 * US);
	polls_empty(NEVER);
	pass(1 * US);
	polls_empty(NEVER);
	schedule_call_measured(&s, 300);
	yields_for(2 * US);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "    40.0 program yielded for 40.0\n"
	       "    40.0 program polls, finds nothing -> NOTHING\n"
	       "   114.0 program polls, finds nothing -> NOTHING\n"
	       "   115.0 program polls, finds nothing -> YIELD\n"
	       "   117.0 program yielded for 2.0\n"
	       "   117.0 program polls, finds nothing -> YIELD\n");
}
END_TEST

START_TEST(the_unit_is_measured_beside_each_sixteenth_yield)
{
	int measured = 0;

	found_nothing(NEVER);
	schedule_poll_began(&s, now_ns, PROGRAMS_CPU);
	schedule_call_measured(&s, 300);
	for (int i = 0; i < 34; i++)
		measured += schedule_poll_began(&s, now_ns, PROGRAMS_CPU).measures;
	ck_assert_int_eq(measured, 2);
}
END_TEST

/* No time slice is shorter than 700 us, however slow the processor is. */
START_TEST(a_time_slice_is_expensive_on_a_slow_machine)
{
	slow_down(30);
	polls_empty(NEVER);
	yields_for(600 * US);
	polls_empty(NEVER);
	yields_for(701 * US);
	polls_empty(NEVER);
	expect("     0.0 program polls, finds nothing -> YIELD\n"
	       "   600.0 program yielded for 600.0\n"
	       "   600.0 program polls, finds nothing -> YIELD\n"
	       "  1301.0 program yielded for 701.0 -> short slice\n"
	       "  1301.0 program polls, finds nothing -> SLEEP until 2301.0\n");
}
END_TEST

static Suite *schedule_suite(void)
{
	Suite *suite = suite_create("schedule");
	TCase *tc = tcase_create("schedule");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_yield_when_nobody_wants_the_processor);
	tcase_add_test(tc, while_nobody_wants_the_processor_yields_become_rare);
	tcase_add_test(tc, who_posts_yields_again_soon);
	tcase_add_test(tc, a_peer_on_the_same_processor_gets_every_yield);
	tcase_add_test(tc, after_an_expensive_yield_pollers_sleep);
	tcase_add_test(tc, where_timers_are_dear_pollers_sleep_for_longer);
	tcase_add_test(tc, as_long_each_time_where_that_is_the_longest);
	tcase_add_test(tc, but_no_longer_than_1_ms);
	tcase_add_test(tc, after_an_expensive_yield_of_a_post_the_poller_gets_a_short_slice);
	tcase_add_test(tc, a_new_background_thread_lets_pollers_sleep_on);
	tcase_add_test(tc, after_20_ms_a_yield_is_tried_again);
	tcase_add_test(tc, a_sleep_ends_when_the_engine_is_due);
	tcase_add_test(tc, who_posts_yields_as_who_polls);
	tcase_add_test(tc, while_the_peer_runs_elsewhere_nothing_yields);
	tcase_add_test(tc, a_peer_that_ran_just_now_is_spun_for);
	tcase_add_test(tc, a_peer_that_waits_for_this_processor_gets_it);
	tcase_add_test(tc, of_a_peer_on_another_host_nothing_is_known);
	tcase_add_test(tc, beside_expensive_yields_a_poller_spins_while_its_peer_runs);
	tcase_add_test(tc, after_16_long_waits_a_yield_that_ran_others_is_the_last);
	tcase_add_test(tc, who_waits_its_turn_sleeps_as_long_again);
	tcase_add_test(tc, after_fewer_long_waits_who_polls_yields_on);
	tcase_add_test(tc, a_wait_of_more_than_48_us_is_long);
	tcase_add_test(tc, short_waits_make_up_for_long_ones);
	tcase_add_test(tc, a_sleep_in_the_kernel_is_no_wait);
	tcase_add_test(tc, a_process_shows_whether_it_sends_to_many);
	tcase_add_test(tc, who_sends_to_many_yields_on);
	tcase_add_test(tc, who_polls_and_sends_to_many_does_not_yield_after_a_send);
	tcase_add_test(tc, peers_on_another_host_count_as_many);
	tcase_add_test(tc, who_sends_to_the_same_peer_again_waits_its_turn);
	tcase_add_test(tc, who_gets_answers_soon_sleeps_for_20_ms_only);
	tcase_add_test(tc, who_posts_to_a_peer_that_runs_yields_only_if_it_does_not_poll);
	tcase_add_test(tc, a_process_shows_where_its_engine_runs);
	tcase_add_test(tc, the_unit_is_what_a_system_call_takes_here);
	tcase_add_test(tc, the_unit_is_measured_beside_each_sixteenth_yield);
	tcase_add_test(tc, a_time_slice_is_expensive_on_a_slow_machine);
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
