/* SPDX-License-Identifier: MIT */
/* A background thread that may use one processor alone, the program's, as traces in virtual time.
 * 640 units are 192 us. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

static void setup_one_cpu(void)
{
	setup();
	background_cpu = PROGRAMS_CPU;
	schedule_background_started(&s, 1, 0);
}

static void step_back_is_over(void)
{
	schedule_step_back_returned(&s, now_ns, background_cpu, false);
	background();
}

/* The program has polled during the step back, and not since it lost the processor. */
static void wakes_up_late(uint64_t us)
{
	polls_packets(8);
	background();
	pass(48 * US);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	pass(us * US);
	step_back_is_over();
}

START_TEST(a_late_wake_up_does_not_take_the_link_from_a_poller)
{
	wakes_up_late(191);
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "   239.0 background -> STEP_BACK until 335.0\n");
}
END_TEST

START_TEST(but_from_a_program_that_does_other_things)
{
	wakes_up_late(192);
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "   240.0 background -> WAIT_ON_LINK\n");
}
END_TEST

/* There the thread runs beside the program. */
START_TEST(with_two_processors_it_does_after_20_us)
{
	schedule_background_started(&s, 2, 0);
	wakes_up_late(40);
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    88.0 background -> WAIT_ON_LINK\n");
}
END_TEST

/* The thread has the processor first. The packet is the poller's. */
START_TEST(a_packet_is_left_to_the_poller)
{
	polls_packets(7);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	background();
	waits_on_link(NEVER);
	pass(190 * US);
	link_wakes();
	background();
	expect("     0.0 program polls, finds 7 packets\n"
	       "     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "   190.0 background wakes\n"
	       "   190.0 background -> STEP_BACK until 238.0\n");
}
END_TEST

START_TEST(but_not_to_a_program_that_sleeps_or_waits_for_nothing_more)
{
	polls_packets(7);
	schedule_polled_found(&s, now_ns);
	background();
	waits_on_link(NEVER);
	pass(10 * US);
	link_wakes();
	background();
	expect("     0.0 program polls, finds 7 packets\n"
	       "     0.0 background -> WAIT_ON_LINK\n"
	       "     0.0 background waits\n"
	       "    10.0 background wakes\n"
	       "    10.0 background -> RUN_ENGINE\n");
	runs_engine(PROGRAMS_CPU, true);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	will_sleep();
	runs_engine(PROGRAMS_CPU, false);
	background();
	expect("    10.0 background ran the engine, packet\n"
	       "    10.0 program will sleep -> NOTHING\n"
	       "    10.0 background ran the engine, nothing\n"
	       "    10.0 background -> WAIT_ON_LINK\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule_one_cpu");
	TCase *tc = tcase_create("traces");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup_one_cpu, NULL);
	tcase_add_test(tc, a_late_wake_up_does_not_take_the_link_from_a_poller);
	tcase_add_test(tc, but_from_a_program_that_does_other_things);
	tcase_add_test(tc, with_two_processors_it_does_after_20_us);
	tcase_add_test(tc, a_packet_is_left_to_the_poller);
	tcase_add_test(tc, but_not_to_a_program_that_sleeps_or_waits_for_nothing_more);
	return suite_run(suite);
}
