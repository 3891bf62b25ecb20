/* SPDX-License-Identifier: MIT */
/* A background thread whose step back ends late, because it woke up late, as traces in virtual
 * time. A poller is near for 19.2 us. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

/* The program polls once in the step back of 48 us, and the thread wakes up late. */
static void polls_at_and_wakes_late(uint64_t poll_ns, uint64_t late_ns)
{
	polls_packets(8);
	background();
	pass(poll_ns);
	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	pass(48 * US - poll_ns + late_ns);
	schedule_step_back_returned(&s, now_ns, background_cpu, false);
	background();
}

/* It may have kept the poller from its processor. */
START_TEST(the_poller_was_near_when_the_end_was_due)
{
	polls_at_and_wakes_late(40 * US, 80 * US);
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "   128.0 background -> STEP_BACK until 224.0\n");
}
END_TEST

START_TEST(however_late_the_thread_is)
{
	polls_at_and_wakes_late(40 * US, MS(8));
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "  8048.0 background -> STEP_BACK until 8144.0\n");
}
END_TEST

START_TEST(a_program_that_had_stopped_was_not_near)
{
	polls_at_and_wakes_late(28 * US, 0);
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    48.0 background -> WAIT_ON_LINK\n");
}
END_TEST

/* The next step back finds that out. */
START_TEST(nor_is_one_that_has_stopped_since)
{
	polls_at_and_wakes_late(40 * US, 80 * US);
	pass(96 * US);
	schedule_step_back_returned(&s, now_ns, background_cpu, false);
	background();
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "   128.0 background -> STEP_BACK until 224.0\n"
	       "   224.0 background -> LOOK_AT_LINK\n");
}
END_TEST

/* Others run meanwhile in any case. */
START_TEST(for_a_program_that_waits_its_turn_the_last_20_us_count)
{
	static const struct presence server = { .has_many_peers = 1 };

	schedule_sent_to(&s, &server);
	polls_at_and_wakes_late(40 * US, 20 * US);
	expect("     0.0 program polls, finds 8 packets\n"
	       "     0.0 background -> STEP_BACK until 48.0\n"
	       "    68.0 background -> WAIT_ON_LINK\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule_late");
	TCase *tc = tcase_create("traces");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, the_poller_was_near_when_the_end_was_due);
	tcase_add_test(tc, however_late_the_thread_is);
	tcase_add_test(tc, a_program_that_had_stopped_was_not_near);
	tcase_add_test(tc, nor_is_one_that_has_stopped_since);
	tcase_add_test(tc, for_a_program_that_waits_its_turn_the_last_20_us_count);
	return suite_run(suite);
}
