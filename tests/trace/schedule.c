// SPDX-License-Identifier: MIT
/* What lib/progress/schedule.c decides, as traces in virtual time. A line: microseconds, the thread,
 * the event, the decision. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/progress/schedule.h"

#define US	     1000u
#define PROGRAMS_CPU 0
#define OTHER_CPU    1
#define NEVER	     UINT64_MAX
#define MS(n)	     ((uint64_t)(n)*1000 * US)
#define expect(text) expect_at(text, __LINE__)

static struct schedule s;
static uint64_t now_ns;
static bool engine_held;
static char trace[8192];
static size_t trace_len;

static bool is_engine_held(void *arg)
{
	(void)arg;
	return engine_held;
}

/* Time 0 is a second after the machine's start: 0 is no time for the schedule. */
static double us(uint64_t ns)
{
	return ((double)ns - 1e9) / US;
}

static void setup(void)
{
	memset(&s, 0, sizeof(s));
	schedule_start(&s, is_engine_held, NULL);
	now_ns = 1000000000u;
	engine_held = false;
	trace_len = 0;
	trace[0] = '\0';
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list args;

	trace_len += (size_t)snprintf(trace + trace_len, sizeof(trace) - trace_len, "%8.1f ",
				      us(now_ns));
	va_start(args, format);
	trace_len += (size_t)vsnprintf(trace + trace_len, sizeof(trace) - trace_len, format, args);
	va_end(args);
	ck_assert_uint_lt(trace_len, sizeof(trace));
}

static void expect_at(const char *text, int line)
{
	if (strcmp(trace, text) != 0)
		ck_abort_msg("line %d: expected\n%sgot\n%s", line, text, trace);
	trace_len = 0;
	trace[0] = '\0';
}

static const char *const action_name[] = {
	[SCHEDULE_NOTHING] = "NOTHING",
	[SCHEDULE_YIELD] = "YIELD",
	[SCHEDULE_SLEEP] = "SLEEP",
	[SCHEDULE_WAKE_BACKGROUND] = "WAKE_BACKGROUND",
	[SCHEDULE_WAIT_ON_LINK] = "WAIT_ON_LINK",
	[SCHEDULE_STEP_BACK] = "STEP_BACK",
	[SCHEDULE_LOOK_AT_LINK] = "LOOK_AT_LINK",
	[SCHEDULE_RUN_ENGINE] = "RUN_ENGINE",
	[SCHEDULE_EXIT] = "EXIT",
};

static void note_decision(const char *what, const struct schedule_decision *decision)
{
	if (decision->until_ns)
		note("%s -> %s until %.1f\n", what, action_name[decision->action],
		     us(decision->until_ns));
	else
		note("%s -> %s\n", what, action_name[decision->action]);
}

static void pass(uint64_t ns)
{
	now_ns += ns;
}

/* The program. */

static struct schedule_decision polls_empty(uint64_t due_ns)
{
	struct schedule_decision decision;

	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	decision = schedule_polled_empty(&s, now_ns, due_ns);
	note_decision("program polls, finds nothing", &decision);
	return decision;
}

static void yields_for(uint64_t ns)
{
	const uint64_t asked_ns = now_ns;

	pass(ns);
	schedule_yield_returned(&s, asked_ns, now_ns);
	note("program yielded for %.1f\n", (double)ns / US);
}

static void sleeps(const struct schedule_decision *decision, bool timed_out)
{
	ck_assert_int_eq(decision->action, SCHEDULE_SLEEP);
	if (timed_out)
		now_ns = decision->until_ns;
	schedule_sleep_returned(&s, decision, timed_out);
	note("program wakes, %s\n", timed_out ? "no packet" : "packet");
}

static void polls_packet(void)
{
	struct schedule_decision decision;

	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	decision = schedule_packet_arrived(&s);
	note_decision("program polls, finds a packet", &decision);
}

static void polls_packets(unsigned int n)
{
	note("program polls, finds %u packets\n", n);
	while (n--) {
		schedule_polled(&s, now_ns, PROGRAMS_CPU);
		ck_assert_int_eq(schedule_packet_arrived(&s).action, SCHEDULE_NOTHING);
	}
}

static void will_sleep(void)
{
	const struct schedule_decision decision = schedule_program_will_sleep(&s);

	note_decision("program will sleep", &decision);
}

/* The engine, released with this deadline. */
static void released(uint64_t deadline_ns, bool expecting)
{
	const struct schedule_timers timers = { .engine_ns = deadline_ns, .link_ns = NEVER };
	const struct schedule_decision decision =
		schedule_engine_released(&s, now_ns, &timers, expecting);

	note_decision("engine released", &decision);
}

/* The background thread. */

static struct schedule_decision background(void)
{
	const struct schedule_decision decision = schedule_background_next(&s, now_ns);

	note_decision("background", &decision);
	return decision;
}

static void waits_on_link(uint64_t deadline_ns)
{
	const struct schedule_timers timers = { .engine_ns = deadline_ns, .link_ns = NEVER };
	const uint64_t until_ns = schedule_link_wait_began(&s, now_ns, &timers);

	if (until_ns == NEVER)
		note("background waits\n");
	else
		note("background waits until %.1f\n", us(until_ns));
}

static void link_wakes(void)
{
	schedule_link_wait_returned(&s);
	note("background wakes\n");
}

static void runs_engine(int cpu, bool arrived)
{
	schedule_engine_ran(&s, now_ns, cpu, arrived);
	note("background ran the engine, %s\n", arrived ? "packet" : "nothing");
}

static void background_yields_for(uint64_t ns)
{
	pass(ns);
	schedule_background_yielded(&s, ns);
	note("background yielded for %.1f\n", (double)ns / US);
}

/* Steps back until the time is over, while the program polls without finding anything. */
static void steps_back_beside_poller(void)
{
	const struct schedule_decision decision = background();

	ck_assert_int_eq(decision.action, SCHEDULE_STEP_BACK);
	now_ns = decision.until_ns;
	schedule_polled(&s, now_ns - 5 * US, PROGRAMS_CPU);
	schedule_step_back_returned(&s, now_ns, false);
}

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
	       "   400.0 program yielded for 400.0\n"
	       "   400.0 program polls, finds nothing -> SLEEP until 450.0\n"
	       "   450.0 program wakes, no packet\n"
	       "   450.0 program polls, finds nothing -> SLEEP until 550.0\n"
	       "   550.0 program wakes, no packet\n"
	       "   550.0 program polls, finds nothing -> SLEEP until 750.0\n"
	       "   750.0 program wakes, no packet\n"
	       "   750.0 program polls, finds nothing -> SLEEP until 1000.0\n"
	       "  1000.0 program wakes, no packet\n"
	       "  1000.0 program polls, finds nothing -> SLEEP until 1250.0\n"
	       "  1250.0 program wakes, no packet\n"
	       "  1250.0 program polls, finds nothing -> SLEEP until 1500.0\n"
	       "  1250.0 program wakes, packet\n"
	       "  1250.0 program polls, finds nothing -> SLEEP until 1300.0\n");
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
	       "   301.0 program yielded for 301.0\n"
	       " 20301.0 program polls, finds nothing -> SLEEP until 20351.0\n"
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
	       "   400.0 program yielded for 400.0\n"
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
	       "     0.0 background -> STEP_BACK until 50.0\n"
	       "    50.0 background -> STEP_BACK until 150.0\n"
	       "   150.0 background -> STEP_BACK until 350.0\n"
	       "   350.0 background -> STEP_BACK until 750.0\n"
	       "   750.0 background -> STEP_BACK until 1550.0\n"
	       "  1550.0 background -> STEP_BACK until 2350.0\n");
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
	       "     0.0 background -> STEP_BACK until 50.0\n"
	       "    50.0 background -> STEP_BACK until 100.0\n"
	       "   100.0 background -> STEP_BACK until 300.0\n");
}
END_TEST

START_TEST(a_program_that_will_sleep_brings_the_background_thread_back)
{
	will_sleep();
	polls_packets(8);
	background();
	pass(20 * US);
	will_sleep();
	schedule_step_back_returned(&s, now_ns, true);
	background();
	expect("     0.0 program will sleep -> NOTHING\n"
	       "     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 50.0\n"
	       "    20.0 program will sleep -> WAKE_BACKGROUND\n"
	       "    20.0 background -> WAIT_ON_LINK\n");
}
END_TEST

START_TEST(a_poller_that_lost_its_processor_gets_it_back)
{
	polls_packets(8);
	background();
	pass(50 * US);
	schedule_step_back_returned(&s, now_ns, false);
	background();
	background_yields_for(10 * US);
	polls_empty(NEVER);
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 50.0\n"
	       "    50.0 background -> YIELD\n"
	       "    60.0 background yielded for 10.0\n"
	       "    60.0 program polls, finds nothing -> YIELD\n"
	       "    60.0 background -> STEP_BACK until 160.0\n");
}
END_TEST

START_TEST(a_packet_that_waited_ends_stepping_back)
{
	polls_packets(8);
	background();
	pass(50 * US);
	schedule_step_back_returned(&s, now_ns, false);
	for (int i = 0; i < 3; i++) {
		background();
		background_yields_for(10 * US);
	}
	background();
	schedule_link_looked_at(&s, true);
	background();
	link_wakes();
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 50.0\n"
	       "    50.0 background -> YIELD\n"
	       "    60.0 background yielded for 10.0\n"
	       "    60.0 background -> YIELD\n"
	       "    70.0 background yielded for 10.0\n"
	       "    70.0 background -> YIELD\n"
	       "    80.0 background yielded for 10.0\n"
	       "    80.0 background -> LOOK_AT_LINK\n"
	       "    80.0 background -> WAIT_ON_LINK\n"
	       "    80.0 background wakes\n"
	       "    80.0 background -> RUN_ENGINE\n");
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
	pass(40 * US);
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
	       "   140.0 background -> RUN_ENGINE\n"
	       "   140.0 background ran the engine, nothing\n"
	       "   140.0 background -> YIELD\n"
	       "   149.0 background yielded for 9.0\n"
	       "   150.0 background -> RUN_ENGINE\n"
	       "   150.0 background ran the engine, nothing\n"
	       "   150.0 background -> YIELD\n"
	       "   151.0 background yielded for 1.0\n"
	       "   151.0 background -> WAIT_ON_LINK\n");
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
	schedule_step_back_returned(&s, now_ns, true);
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "   300.0 background -> STEP_BACK until 350.0\n"
	       "   300.0 background -> WAIT_ON_LINK\n");
}
END_TEST

START_TEST(a_delayed_ack_wakes_nobody_for_a_millisecond)
{
	background();
	waits_on_link(NEVER);
	released(now_ns + 20 * US, true);
	link_wakes();
	pass(10 * US);
	released(now_ns + 10 * US, true);
	pass(100 * US);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	background();
	runs_engine(OTHER_CPU, false);
	background();
	waits_on_link(now_ns + 15 * US);
	link_wakes();
	background();
	runs_engine(OTHER_CPU, false);
	pass(MS(5));
	background();
	waits_on_link(now_ns + MS(8));
	expect("     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "     0.0 engine released -> WAKE_BACKGROUND\n"
	       "     0.0 background wakes\n"
	       "    10.0 engine released -> NOTHING\n"
	       "   110.0 background -> RUN_ENGINE\n"
	       "   110.0 background ran the engine, nothing\n"
	       "   110.0 background -> WAIT_ON_LINK\n"
	       "   110.0 background waits until 125.0\n"
	       "   110.0 background wakes\n"
	       "   110.0 background -> RUN_ENGINE\n"
	       "   110.0 background ran the engine, nothing\n"
	       "  5110.0 background -> WAIT_ON_LINK\n"
	       "  5110.0 background waits until 13110.0\n");
}
END_TEST

START_TEST(held_acks_are_looked_at_every_millisecond)
{
	released(now_ns + 20 * US, true);
	pass(50 * US);
	background();
	waits_on_link(now_ns + MS(8));
	expect("     0.0 engine released -> WAKE_BACKGROUND\n"
	       "    50.0 background -> WAIT_ON_LINK\n"
	       "    50.0 background waits until 1050.0\n");
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
	ck_assert_uint_eq(schedule_link_wait_began(&s, now_ns, &timers), now_ns + 100 * US);
}
END_TEST

START_TEST(the_background_thread_exits_when_told)
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
	Suite *suite = suite_create("schedule");
	TCase *program = tcase_create("program"), *thread = tcase_create("background");

	tcase_add_checked_fixture(program, setup, NULL);
	tcase_add_test(program, a_yield_when_nobody_wants_the_processor);
	tcase_add_test(program, a_peer_on_the_same_processor_gets_every_yield);
	tcase_add_test(program, after_an_expensive_yield_pollers_sleep);
	tcase_add_test(program, after_20_ms_a_yield_is_tried_again);
	tcase_add_test(program, a_sleep_ends_when_the_engine_is_due);
	tcase_add_test(program, who_posts_yields_as_who_polls);
	suite_add_tcase(suite, program);
	tcase_add_checked_fixture(thread, setup, NULL);
	tcase_add_test(thread, a_poller_takes_the_background_thread_off_the_link);
	tcase_add_test(thread, armed_completion_queues_keep_steps_back_short);
	tcase_add_test(thread, a_program_that_will_sleep_brings_the_background_thread_back);
	tcase_add_test(thread, a_poller_that_lost_its_processor_gets_it_back);
	tcase_add_test(thread, a_packet_that_waited_ends_stepping_back);
	tcase_add_test(thread, a_program_that_calls_nothing_is_served);
	tcase_add_test(thread, a_processor_that_others_want_is_left);
	tcase_add_test(thread, the_program_s_processor_is_left_at_once);
	tcase_add_test(thread, a_long_message_keeps_its_poller_near);
	tcase_add_test(thread, a_delayed_ack_wakes_nobody_for_a_millisecond);
	tcase_add_test(thread, held_acks_are_looked_at_every_millisecond);
	tcase_add_test(thread, an_earlier_timer_wakes_the_background_thread);
	tcase_add_test(thread, a_program_that_got_all_is_not_taken_for_a_poller);
	tcase_add_test(thread, unsent_packets_are_tried_again);
	tcase_add_test(thread, the_background_thread_exits_when_told);
	suite_add_tcase(suite, thread);
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
