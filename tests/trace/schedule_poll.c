/* SPDX-License-Identifier: MIT */
/* What lib/progress/schedule_program.c decides before a thread of the program looks at the link, as
 * traces in virtual time. */
#include "tests/suite.h"
#include "tests/trace/schedule_fixture.h"

/* Polls in a loop take less time. */
#define LONG_AFTER (10 * US)

static bool backs_off(struct schedule_decision decision)
{
	if (decision.action == SCHEDULE_NOTHING)
		return false;
	ck_assert_int_eq(decision.action, SCHEDULE_YIELD);
	if (decision.measures)
		schedule_call_measured(&s, 300);
	pass(10 * US);
	schedule_yield_returned(&s, &decision, now_ns - 10 * US, now_ns);
	return true;
}

enum {
	FIRST = 1,
	THEN = 2,
};

/* When it backs off: before it looks, after that. */
static int polls_for(uint64_t due_ns)
{
	const struct schedule_decision before = schedule_poll_began(&s, now_ns, PROGRAMS_CPU);
	int ret = 0;

	if (backs_off(before)) {
		ret |= FIRST;
		schedule_polled(&s, now_ns, PROGRAMS_CPU);
	}
	return ret | (backs_off(schedule_looked(&s, &before, now_ns, due_ns)) ? THEN : 0);
}

/* What came while others ran is found before the thread yields again. */
START_TEST(only_a_poll_after_one_that_found_nothing_backs_off)
{
	ck_assert_int_eq(polls_for(NEVER), 0);
	ck_assert_int_eq(polls_for(NEVER), FIRST);
	ck_assert_int_eq(polls_for(0), FIRST);
	ck_assert_int_eq(polls_for(NEVER), 0);
	ck_assert_int_eq(polls_for(NEVER), FIRST);
}
END_TEST

/* A completion that another thread's turn brought ends the wait as well. */
START_TEST(a_completion_or_a_post_lets_the_next_poll_look_first)
{
	polls_for(NEVER);
	schedule_polled_found(&s, now_ns);
	ck_assert_int_eq(polls_for(NEVER), 0);
	schedule_posted(&s, now_ns, PROGRAMS_CPU);
	ck_assert_int_eq(polls_for(NEVER), 0);
	ck_assert_int_eq(polls_for(NEVER), FIRST);
}
END_TEST

/* Each of its polls lets the peer run, as on one processor it must. What came meanwhile does not
 * wait for that. */
START_TEST(a_slow_loop_looks_first_and_backs_off_then)
{
	polls_for(NEVER);
	ck_assert_int_eq(polls_for(NEVER), FIRST);
	for (int i = 0; i < 8; i++) {
		pass(LONG_AFTER);
		ck_assert_int_eq(polls_for(NEVER), THEN);
	}
	pass(LONG_AFTER);
	ck_assert_int_eq(polls_for(0), 0);
}
END_TEST

/* A poll that looks first finds what comes, and no yield would measure a slow machine's unit. */
START_TEST(until_the_unit_is_known_no_loop_is_slow)
{
	polls_for(NEVER);
	pass(LONG_AFTER);
	ck_assert_int_eq(polls_for(NEVER), FIRST);
	pass(LONG_AFTER);
	ck_assert_int_eq(polls_for(NEVER), THEN);
}
END_TEST

/* Open MPI yields once nothing has come: another yield would let a packet wait for another turn of
 * all other ranks. Each ninth poll shows whether others still want the processor. */
START_TEST(a_rank_that_yields_itself_does_not_back_off)
{
	send_to_two(4);
	polls_for(NEVER);
	ck_assert_int_eq(polls_for(NEVER), FIRST);
	for (int rounds = 0; rounds < 2; rounds++) {
		for (int i = 0; i < 8; i++) {
			pass(LONG_AFTER);
			ck_assert_int_eq(polls_for(NEVER), 0);
		}
		pass(LONG_AFTER);
		ck_assert_int_eq(polls_for(NEVER), FIRST);
	}
}
END_TEST

/* The yield is one of a process that sends to one, and shortens no slice. */
static void learn_the_unit(void)
{
	polls_for(NEVER);
	ck_assert_int_eq(polls_for(0), FIRST);
}

/* Its background thread takes what comes while others have the processor, so no poll follows one
 * that found nothing. With its own slice it would have one turn for fourteen of the others. */
START_TEST(a_rank_that_finds_something_each_turn_yields_until_its_slice_is_short)
{
	learn_the_unit();
	send_to_two(4);
	for (int i = 0; i < 2; i++) {
		pass(LONG_AFTER);
		ck_assert_int_eq(polls_for(0), i == 0 ? FIRST : 0);
	}
}
END_TEST

START_TEST(who_sends_to_one_does_not_yield_for_a_short_slice)
{
	learn_the_unit();
	pass(LONG_AFTER);
	ck_assert_int_eq(polls_for(0), 0);
}
END_TEST

/* A server answers many before it polls again. No other thread wants its processor. */
START_TEST(a_server_with_a_processor_of_its_own_yields_less_and_less)
{
	learn_the_unit();
	send_to_two(4);
	for (int i = 0; i < 4; i++) {
		struct schedule_decision decision;

		pass(LONG_AFTER);
		decision = schedule_poll_began(&s, now_ns, PROGRAMS_CPU);
		ck_assert_int_eq(decision.action, i < 3 ? SCHEDULE_YIELD : SCHEDULE_NOTHING);
		if (i < 3)
			ck_assert(!schedule_yield_returned(&s, &decision, now_ns, now_ns));
		schedule_looked(&s, &decision, now_ns, 0);
	}
}
END_TEST

static bool found_has_own_slice(bool expects_more)
{
	released(NEVER, expects_more);
	return schedule_polled_found(&s, now_ns);
}

/* It had its own slice again meanwhile. */
START_TEST(who_sends_to_many_again_yields_for_a_short_slice_again)
{
	learn_the_unit();
	for (int i = 0; i < 2; i++) {
		send_to_two(4);
		pass(LONG_AFTER);
		ck_assert_int_eq(polls_for(0), FIRST);
		for (int sends = 0; sends < 16; sends++)
			schedule_sent_to(&s, &two[1]);
		ck_assert(found_has_own_slice(false));
	}
}
END_TEST

/* Each of them must have as many turns as the others. */
START_TEST(a_rank_keeps_its_short_slice)
{
	ck_assert(!found_has_own_slice(true));
	ck_assert(found_has_own_slice(false));
	send_to_two(4);
	ck_assert(!found_has_own_slice(true));
	ck_assert(!found_has_own_slice(false));
}
END_TEST

static bool begins(_Atomic uint32_t *round)
{
	const bool ret = schedule_begins_round(&s, round, now_ns);

	if (ret)
		schedule_polled(&s, now_ns, PROGRAMS_CPU);
	return ret;
}

/* A packet that the second queue's poll found for the first would wait for the next round. */
START_TEST(one_queue_of_a_round_runs_the_engine)
{
	_Atomic uint32_t receives = 0, sends = 0;

	send_to_two(4);
	for (int i = 0; i < 3; i++) {
		ck_assert(begins(&receives));
		ck_assert(!begins(&sends));
	}
	ck_assert(begins(&sends));
	ck_assert(!begins(&receives));
	ck_assert(begins(&sends));
	ck_assert(begins(&sends));
}
END_TEST

START_TEST(a_round_ends_after_a_while)
{
	_Atomic uint32_t receives = 0, sends = 0;

	send_to_two(4);
	ck_assert(begins(&receives));
	pass(LONG_AFTER);
	ck_assert(begins(&sends));
	ck_assert(!begins(&receives));
}
END_TEST

/* The second queue's poll may find what it waits for. */
START_TEST(in_a_pair_each_poll_runs_the_engine)
{
	_Atomic uint32_t receives = 0, sends = 0;

	for (int i = 0; i < 3; i++) {
		ck_assert(begins(&receives));
		ck_assert(begins(&sends));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule_poll");
	TCase *tc = tcase_create("traces");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, only_a_poll_after_one_that_found_nothing_backs_off);
	tcase_add_test(tc, a_completion_or_a_post_lets_the_next_poll_look_first);
	tcase_add_test(tc, a_slow_loop_looks_first_and_backs_off_then);
	tcase_add_test(tc, until_the_unit_is_known_no_loop_is_slow);
	tcase_add_test(tc, a_rank_that_yields_itself_does_not_back_off);
	tcase_add_test(tc, a_rank_that_finds_something_each_turn_yields_until_its_slice_is_short);
	tcase_add_test(tc, who_sends_to_one_does_not_yield_for_a_short_slice);
	tcase_add_test(tc, who_sends_to_many_again_yields_for_a_short_slice_again);
	tcase_add_test(tc, a_server_with_a_processor_of_its_own_yields_less_and_less);
	tcase_add_test(tc, a_rank_keeps_its_short_slice);
	tcase_add_test(tc, one_queue_of_a_round_runs_the_engine);
	tcase_add_test(tc, a_round_ends_after_a_while);
	tcase_add_test(tc, in_a_pair_each_poll_runs_the_engine);
	return suite_run(suite);
}
