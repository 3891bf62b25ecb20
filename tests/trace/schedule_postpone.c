/* SPDX-License-Identifier: MIT */
/* When polls postpone the end of the background thread's step back, as traces in virtual time. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

static void yield_unused(void)
{
	struct schedule_decision decision;

	found_nothing(NEVER);
	decision = schedule_poll_began(&s, now_ns, PROGRAMS_CPU);
	ck_assert_int_eq(decision.action, SCHEDULE_YIELD);
	schedule_yield_returned(&s, &decision, now_ns, now_ns);
}

/* The machine is quiet, and the thread has stepped back twice: polls postpone the end of the second
 * step, at 144 us. */
static void steps_back_for_the_second_time(void)
{
	yield_unused();
	polls_packets(8);
	steps_back_beside_poller();
	background();
}

#define STEPPED_BACK                                                                               \
	"     0.0 program polls, finds 8 packets\n"                                                \
	"     0.0 background -> STEP_BACK until 48.0\n"                                            \
	"    48.0 background -> STEP_BACK until 144.0\n"

/* The program polls, and the engine is due at due_ns. Returns the new end; 0: it postpones
 * nothing. */
static uint64_t poll_until(uint64_t due_ns)
{
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	return schedule_postpones(&s, now_ns) ? schedule_postponed(&s, now_ns, due_ns) : 0;
}

static void polls_on(uint64_t due_ns)
{
	const uint64_t until_ns = poll_until(due_ns);

	if (until_ns)
		note_step_back(until_ns);
}

static void poll_each_us_for(uint64_t us)
{
	while (us-- > 0) {
		pass(1 * US);
		poll_until(NEVER);
	}
}

static void polls_each_us_for(uint64_t us)
{
	while (us-- > 0) {
		pass(1 * US);
		polls_on(NEVER);
	}
}

static void step_back_is_over(void)
{
	schedule_step_back_returned(&s, now_ns, background_cpu, false);
	background();
}

/* One timer in 84 us is set, and the thread sleeps on. */
START_TEST(a_poller_postpones_the_end)
{
	steps_back_for_the_second_time();
	polls_each_us_for(300);
	expect(STEPPED_BACK "   132.0 program polls -> steps back until 228.0\n"
			    "   216.0 program polls -> steps back until 312.0\n"
			    "   300.0 program polls -> steps back until 396.0\n");
}
END_TEST

/* Each postponement sets one. */
START_TEST(for_longer_where_timers_are_dear)
{
	schedule_background_started(&s, 2, 4 * US);
	steps_back_for_the_second_time();
	polls_each_us_for(600);
	expect(STEPPED_BACK "   132.0 program polls -> steps back until 388.0\n"
			    "   356.0 program polls -> steps back until 612.0\n"
			    "   580.0 program polls -> steps back until 836.0\n");
}
END_TEST

START_TEST(but_by_2_ms_at_first)
{
	schedule_background_started(&s, 2, 40 * US);
	steps_back_for_the_second_time();
	polls_each_us_for(100);
	expect(STEPPED_BACK "   132.0 program polls -> steps back until 2132.0\n");
}
END_TEST

/* By an eighth of the time for which the program has polled, and 256 timers at most. */
START_TEST(for_longer_once_it_has_polled_for_long)
{
	schedule_background_started(&s, 2, 4 * US);
	steps_back_for_the_second_time();
	poll_each_us_for(7000);
	polls_each_us_for(4000);
	expect(STEPPED_BACK "  7051.0 program polls -> steps back until 7926.4\n"
			    "  7895.0 program polls -> steps back until 8875.9\n"
			    "  8844.0 program polls -> steps back until 9868.0\n"
			    "  9836.0 program polls -> steps back until 10860.0\n"
			    " 10828.0 program polls -> steps back until 11852.0\n");
}
END_TEST

START_TEST(but_by_8_ms_at_most)
{
	schedule_background_started(&s, 2, 40 * US);
	steps_back_for_the_second_time();
	poll_each_us_for(60000);
	polls_each_us_for(20000);
	expect(STEPPED_BACK " 66106.0 program polls -> steps back until 74106.0\n"
			    " 73856.0 program polls -> steps back until 81856.0\n");
}
END_TEST

/* It computes for 200 us, and the next poll finds that out. */
START_TEST(a_program_that_was_away_polls_since_then)
{
	schedule_background_started(&s, 2, 4 * US);
	steps_back_for_the_second_time();
	poll_each_us_for(8246);
	pass(200 * US);
	polls_each_us_for(600);
	expect(STEPPED_BACK "  8844.0 program polls -> steps back until 9100.0\n"
			    "  9068.0 program polls -> steps back until 9324.0\n");
}
END_TEST

/* An ACK that is held waits for a poll, or for the end. Another timer does not. */
START_TEST(held_acks_do_not_wake_the_thread)
{
	schedule_background_started(&s, 2, 40 * US);
	steps_back_for_the_second_time();
	polls_each_us_for(100);
	released(now_ns + ACK_HOLD_NS, true);
	released(now_ns + ACK_HOLD_NS + 1, true);
	expect(STEPPED_BACK "   132.0 program polls -> steps back until 2132.0\n"
			    "   148.0 engine released -> NOTHING\n"
			    "   148.0 engine released -> WAKE_BACKGROUND\n");
}
END_TEST

/* No poller sends it: the thread does, within a tick. */
START_TEST(unless_it_listens)
{
	schedule_background_started(&s, 2, 40 * US);
	background();
	waits_on_link(now_ns + MS(3));
	released(now_ns + ACK_HOLD_NS, true);
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits until 3000.0\n"
	       "     0.0 engine released -> WAKE_BACKGROUND\n");
}
END_TEST

/* One step back after the last poll that postponed the end. */
START_TEST(a_program_that_stops_polling_is_found_out)
{
	steps_back_for_the_second_time();
	polls_each_us_for(100);
	pass(96 * US);
	step_back_is_over();
	expect(STEPPED_BACK "   132.0 program polls -> steps back until 228.0\n"
			    "   244.0 background -> WAIT_ON_LINK\n");
}
END_TEST

/* The thread does not know yet whether the program polls on. */
START_TEST(the_first_step_back_ends_as_planned)
{
	yield_unused();
	polls_packets(8);
	background();
	polls_each_us_for(60);
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n");
}
END_TEST

/* There 160 units are more than 2 ms, which no step back exceeds. */
START_TEST(on_a_slow_machine_the_longest_is_postponed)
{
	slow_down(20);
	yield_unused();
	polls_packets(8);
	for (int i = 0; i < 6; i++)
		steps_back_beside_poller();
	background();
	polls_each_us_for(3600);
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    48.0 background -> STEP_BACK until 144.0\n"
	       "   144.0 background -> STEP_BACK until 336.0\n"
	       "   336.0 background -> STEP_BACK until 720.0\n"
	       "   720.0 background -> STEP_BACK until 1488.0\n"
	       "  1488.0 background -> STEP_BACK until 3024.0\n"
	       "  3024.0 background -> STEP_BACK until 5024.0\n"
	       "  4774.0 program polls -> steps back until 6774.0\n"
	       "  6524.0 program polls -> steps back until 8524.0\n");
}
END_TEST

/* The thread serves the engine's timers, if the program has stopped by then. */
START_TEST(no_step_back_ends_after_a_timer)
{
	const uint64_t due_ns = now_ns + 200 * US;

	steps_back_for_the_second_time();
	pass(90 * US);
	polls_on(due_ns);
	pass(50 * US);
	polls_on(due_ns);
	expect(STEPPED_BACK "   138.0 program polls -> steps back until 200.0\n");
}
END_TEST

START_TEST(a_program_that_may_sleep_postpones_nothing)
{
	steps_back_for_the_second_time();
	schedule_cq_armed(&s);
	polls_each_us_for(90);
	schedule_cq_disarmed(&s);
	polls_each_us_for(1);
	expect(STEPPED_BACK "   139.0 program polls -> steps back until 235.0\n");
}
END_TEST

static void yield_used(void)
{
	const struct schedule_decision yielded = { .action = SCHEDULE_YIELD };

	schedule_yield_returned(&s, &yielded, now_ns - 100 * US, now_ns);
}

/* It may lose its processor for a slice, and the thread gets one sooner. */
START_TEST(a_program_beside_strangers_postpones_nothing)
{
	steps_back_for_the_second_time();
	yield_used();
	polls_each_us_for(100);
	expect(STEPPED_BACK);
}
END_TEST

/* Those beside it are the ranks that it waits for. */
START_TEST(but_a_rank_does)
{
	steps_back_for_the_second_time();
	yield_used();
	send_to_two(4);
	polls_each_us_for(100);
	expect(STEPPED_BACK "   132.0 program polls -> steps back until 228.0\n");
}
END_TEST

/* Its step back is over. */
START_TEST(a_thread_that_was_woken_is_left_alone)
{
	steps_back_for_the_second_time();
	pass(90 * US);
	schedule_step_back_returned(&s, now_ns, background_cpu, true);
	polls_on(NEVER);
	expect(STEPPED_BACK);
}
END_TEST

/* Between the poll's two calls. */
START_TEST(so_is_one_that_was_woken_this_moment)
{
	steps_back_for_the_second_time();
	pass(90 * US);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	ck_assert(schedule_postpones(&s, now_ns));
	schedule_step_back_returned(&s, now_ns, background_cpu, true);
	ck_assert_uint_eq(schedule_postponed(&s, now_ns, NEVER), 0);
	background();
	expect(STEPPED_BACK "   138.0 background -> STEP_BACK until 144.0\n");
}
END_TEST

/* A timer of the engine that is due sooner wakes the thread. */
START_TEST(the_engine_knows_the_new_end)
{
	steps_back_for_the_second_time();
	polls_each_us_for(90);
	released(now_ns + 95 * US, true);
	released(now_ns + 70 * US, true);
	expect(STEPPED_BACK "   132.0 program polls -> steps back until 228.0\n"
			    "   138.0 engine released -> NOTHING\n"
			    "   138.0 engine released -> WAKE_BACKGROUND\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule_postpone");
	TCase *tc = tcase_create("traces");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_poller_postpones_the_end);
	tcase_add_test(tc, for_longer_where_timers_are_dear);
	tcase_add_test(tc, but_by_2_ms_at_first);
	tcase_add_test(tc, for_longer_once_it_has_polled_for_long);
	tcase_add_test(tc, but_by_8_ms_at_most);
	tcase_add_test(tc, a_program_that_was_away_polls_since_then);
	tcase_add_test(tc, held_acks_do_not_wake_the_thread);
	tcase_add_test(tc, unless_it_listens);
	tcase_add_test(tc, a_program_that_stops_polling_is_found_out);
	tcase_add_test(tc, the_first_step_back_ends_as_planned);
	tcase_add_test(tc, on_a_slow_machine_the_longest_is_postponed);
	tcase_add_test(tc, no_step_back_ends_after_a_timer);
	tcase_add_test(tc, a_program_that_may_sleep_postpones_nothing);
	tcase_add_test(tc, a_program_beside_strangers_postpones_nothing);
	tcase_add_test(tc, but_a_rank_does);
	tcase_add_test(tc, a_thread_that_was_woken_is_left_alone);
	tcase_add_test(tc, so_is_one_that_was_woken_this_moment);
	tcase_add_test(tc, the_engine_knows_the_new_end);
	return suite_run(suite);
}
