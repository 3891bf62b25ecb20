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

/* A step back of 384 us ends, this long after the program's last poll. */
static void ends_after_a_poll(uint64_t us)
{
	polls_packets(8);
	for (int i = 0; i < 3; i++)
		steps_back_beside_poller();
	background();
	pass((384 - us) * US);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	pass(us * US);
	step_back_is_over();
}

#define STEPPED_BACK                                                                               \
	"     0.0 program polls, finds 8 packets\n"                                                \
	"     0.0 background -> STEP_BACK until 48.0\n"                                            \
	"    48.0 background -> STEP_BACK until 144.0\n"                                           \
	"   144.0 background -> STEP_BACK until 336.0\n"                                           \
	"   336.0 background -> STEP_BACK until 720.0\n"

START_TEST(a_poller_that_lost_its_processor_keeps_the_link)
{
	ends_after_a_poll(191);
	expect(STEPPED_BACK "   720.0 background -> STEP_BACK until 1488.0\n");
}
END_TEST

START_TEST(a_program_that_does_other_things_does_not)
{
	ends_after_a_poll(192);
	expect(STEPPED_BACK "   720.0 background -> WAIT_ON_LINK\n");
}
END_TEST

/* There the thread runs beside the program. */
START_TEST(with_two_processors_it_keeps_the_link_for_20_us)
{
	schedule_background_started(&s, 2, 0);
	ends_after_a_poll(20);
	expect(STEPPED_BACK "   720.0 background -> WAIT_ON_LINK\n");
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
	tcase_add_test(tc, a_poller_that_lost_its_processor_keeps_the_link);
	tcase_add_test(tc, a_program_that_does_other_things_does_not);
	tcase_add_test(tc, with_two_processors_it_keeps_the_link_for_20_us);
	tcase_add_test(tc, a_packet_is_left_to_the_poller);
	tcase_add_test(tc, but_not_to_a_program_that_sleeps_or_waits_for_nothing_more);
	return suite_run(suite);
}
