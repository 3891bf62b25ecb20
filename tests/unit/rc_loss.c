/* SPDX-License-Identifier: MIT */
/* rc_window, rc_rtt and rc_arrived alone: their arithmetic. */
#include <check.h>
#include <stdlib.h>

#include "emu/rc/requester_loss.h"
#include "emu/rc/requester_retry.h"
#include "tests/suite.h"

START_TEST(open_until_something_is_lost)
{
	struct rc_window window;

	rc_window_reset(&window, false);
	ck_assert(rc_window_is_open(&window));
	rc_window_sent(&window, 40);
	rc_window_acknowledged(&window, 40, 40);
	ck_assert_uint_eq(window.packets, RC_WINDOW_MAX);
	rc_window_lost(&window);
	ck_assert_uint_eq(window.packets, 20);
}
END_TEST

/* At most half of the packets in flight, not of the window; never below the minimum. */
START_TEST(less_with_each_loss)
{
	struct rc_window window;

	rc_window_reset(&window, false);
	rc_window_sent(&window, 100);
	rc_window_sent(&window, 64);
	rc_window_lost(&window);
	ck_assert_uint_eq(window.packets, 50);
	rc_window_sent(&window, 30);
	rc_window_lost(&window);
	ck_assert_uint_eq(window.packets, 15);
	rc_window_sent(&window, 15);
	rc_window_lost(&window);
	ck_assert_uint_eq(window.packets, RC_WINDOW_MIN);
	rc_window_lost(&window);
	ck_assert_uint_eq(window.packets, RC_WINDOW_MIN);
}
END_TEST

START_TEST(more_is_left_on_one_host)
{
	struct rc_window window;

	rc_window_reset(&window, true);
	rc_window_sent(&window, 60);
	rc_window_lost(&window);
	ck_assert_uint_eq(window.packets, RC_WINDOW_MIN_LOCAL);
	rc_window_lost(&window);
	ck_assert_uint_eq(window.packets, RC_WINDOW_MIN_LOCAL);
}
END_TEST

START_TEST(more_with_each_window_answered)
{
	struct rc_window window = { .packets = 20 };

	rc_window_acknowledged(&window, 20, 19);
	ck_assert_uint_eq(window.packets, 20);
	rc_window_acknowledged(&window, 20, 1);
	ck_assert_uint_eq(window.packets, 20 + RC_WINDOW_STEP);
	ck_assert_uint_eq(window.acked, 0);
	/* Two windows at once. */
	rc_window_acknowledged(&window, 24, 24 + 28);
	ck_assert_uint_eq(window.packets, 20 + 3 * RC_WINDOW_STEP);
}
END_TEST

START_TEST(not_by_what_is_not_used)
{
	struct rc_window window = { .packets = 20 };
	uint32_t i;

	for (i = 0; i < 100; i++)
		rc_window_acknowledged(&window, 9, 9);
	ck_assert_uint_eq(window.packets, 20);
	rc_window_acknowledged(&window, 10, 10);
	rc_window_acknowledged(&window, 10, 10);
	ck_assert_uint_eq(window.packets, 20 + RC_WINDOW_STEP);
}
END_TEST

START_TEST(open_again)
{
	struct rc_window window = { .packets = RC_WINDOW_MAX - 1 };

	rc_window_acknowledged(&window, RC_WINDOW_MAX, 10 * RC_WINDOW_MAX);
	ck_assert(rc_window_is_open(&window));
}
END_TEST

START_TEST(round_trips)
{
	struct rc_rtt rtt = { 0 };

	ck_assert_uint_eq(rc_rtt_timeout_ns(&rtt, 1000, 9000000), 9000000);
	rc_rtt_sent(&rtt, 0xffffff, 100000);
	rc_rtt_sent(&rtt, 3, 150000); /* one packet at a time */
	rc_rtt_acknowledged(&rtt, 0xffffff, 160000);
	ck_assert(rtt.is_timing);
	rc_rtt_acknowledged(&rtt, 0, 180000);
	ck_assert_uint_eq(rtt.smooth_ns, 80000);
	ck_assert_uint_eq(rc_rtt_timeout_ns(&rtt, 1000, 9000000), 80000 + 2 * 40000);
	ck_assert_uint_eq(rc_rtt_timeout_ns(&rtt, 250000, 9000000), 250000);
	ck_assert_uint_eq(rc_rtt_timeout_ns(&rtt, 1000, 150000), 150000);
	rc_rtt_sent(&rtt, 7, 1000000);
	rc_rtt_acknowledged(&rtt, 20, 1160000); /* twice as long */
	ck_assert_uint_eq(rtt.smooth_ns, 90000);
	ck_assert_uint_eq(rtt.spread_ns, 50000);
}
END_TEST

START_TEST(what_was_sent_twice_is_not_timed)
{
	struct rc_rtt rtt = { 0 };

	rc_rtt_sent(&rtt, 5, 1000);
	rc_rtt_forget(&rtt);
	rc_rtt_acknowledged(&rtt, 6, 9000);
	ck_assert_uint_eq(rtt.smooth_ns, 0);
}
END_TEST

START_TEST(what_una_passed_has_not_arrived_again)
{
	const uint32_t later = RC_ARRIVED_PSNS;
	struct rc_arrived arrived = { 0 };

	ck_assert(rc_arrived_add(&arrived, 5, 3));
	ck_assert(rc_arrived_has(&arrived, 5) && !rc_arrived_has(&arrived, 4));
	rc_arrived_passed(&arrived, 3, 6);
	ck_assert(!arrived.is_waiting);
	ck_assert(rc_arrived_add(&arrived, later + 7, later + 4));
	ck_assert(rc_arrived_has(&arrived, later + 7) && !rc_arrived_has(&arrived, later + 5));
	ck_assert(!rc_arrived_add(&arrived, 2 * later + 4, later + 4));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rc_loss");
	TCase *tcase = tcase_create("rc_loss");

	tcase_add_test(tcase, open_until_something_is_lost);
	tcase_add_test(tcase, less_with_each_loss);
	tcase_add_test(tcase, more_is_left_on_one_host);
	tcase_add_test(tcase, more_with_each_window_answered);
	tcase_add_test(tcase, not_by_what_is_not_used);
	tcase_add_test(tcase, open_again);
	tcase_add_test(tcase, round_trips);
	tcase_add_test(tcase, what_was_sent_twice_is_not_timed);
	tcase_add_test(tcase, what_una_passed_has_not_arrived_again);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
