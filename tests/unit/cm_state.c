// SPDX-License-Identifier: MIT
/* Steps between the states of the communication manager: the rules that the whole table keeps. The
 * traces and cm_exhaustive have the single steps. */
#include <check.h>

#include "rxe_dm/cm/state.h"
#include "tests/suite.h"

#define NUM_STEPS (CM_TIME_OVER + 1)

static struct cm *cm;
static struct cm_id *id;

static uint32_t no_random(void *host)
{
	(void)host;
	return 1;
}

static void setup(void)
{
	static const struct cm_ops ops = { .random = no_random };

	cm = cm_new(&(struct cm_cfg){ .ops = &ops, .max_ids = 1 });
	ck_assert_ptr_nonnull(cm);
	id = cm_id_create(cm, NULL);
	ck_assert_ptr_nonnull(id);
	cm_id_set_kind(id, CM_KIND_CONNECTION);
}

static void teardown(void)
{
	id->state = CM_STATE_IDLE;
	cm_free(cm);
}

/* The state after a step; the same state: there is no such step. */
static enum cm_state after(enum cm_state from, enum cm_step step)
{
	bool is_step;

	id->state = from;
	is_step = cm_has_step(id, step);
	ck_assert_int_eq(cm_step(id, step), is_step);
	ck_assert_int_eq(id->state != from, is_step);
	ck_assert_int_lt(id->state, CM_NUM_STATES);
	return id->state;
}

/* States that steps lead to from a set of states, as bits; the set itself included. */
static uint32_t reached(uint32_t states)
{
	uint32_t before = 0;

	while (before != states) {
		before = states;
		for (uint32_t i = 0; i < CM_NUM_STATES * NUM_STEPS; i++)
			if (before & 1u << i / NUM_STEPS)
				states |= 1u << after((enum cm_state)(i / NUM_STEPS),
						      (enum cm_step)(i % NUM_STEPS));
	}
	return states;
}

START_TEST(every_state_is_reached_and_left)
{
	ck_assert_uint_eq(reached(1u << CM_STATE_IDLE), (1u << CM_NUM_STATES) - 1);
	for (uint32_t state = 0; state < CM_NUM_STATES; state++)
		ck_assert_uint_ne(reached(1u << state) & 1u << CM_STATE_IDLE, 0);
}
END_TEST

START_TEST(idle_has_beginnings_only)
{
	for (uint32_t step = 0; step < NUM_STEPS; step++) {
		const bool begins = step == CM_CALL_LISTEN || step == CM_CALL_REQ ||
				    step == CM_CALL_SIDR_REQ || step == CM_GOT_REQ ||
				    step == CM_GOT_SIDR_REQ;

		id->state = CM_STATE_IDLE;
		ck_assert_int_eq(cm_has_step(id, (enum cm_step)step), begins);
	}
}
END_TEST

/* An MRA changes how long an end waits, and nothing else. */
START_TEST(an_mra_takes_no_step_away)
{
	static const enum cm_state with_mra[] = { CM_STATE_MRA_REQ_RCVD, CM_STATE_MRA_REP_SENT,
						  CM_STATE_MRA_REQ_SENT, CM_STATE_MRA_REP_RCVD };

	for (uint32_t i = 0; i < 4 * NUM_STEPS; i++) {
		const enum cm_step step = (enum cm_step)(i % NUM_STEPS);
		const enum cm_state mra = with_mra[i / NUM_STEPS];
		const enum cm_state plain = cm_state_without_mra(mra);

		ck_assert_int_ne(plain, mra);
		if (step == CM_GOT_MRA || step == CM_CALL_MRA || step == CM_TIME_RETRIES) {
			ck_assert_int_eq(after(mra, step), mra);
		} else if (step == CM_TIME_MRA) {
			ck_assert_int_eq(after(plain, step), plain);
		} else if (after(plain, step) == plain) {
			ck_assert_int_eq(after(mra, step), mra);
		} else {
			ck_assert_int_eq(after(mra, step), after(plain, step));
		}
	}
}
END_TEST

START_TEST(idle_leaves_the_tables)
{
	ck_assert(cm_table_add_comm_id(id));
	ck_assert(cm_table_add_remote(id, 7, 8, 9));
	ck_assert_ptr_eq(cm_find_pair(cm, id->local_comm_id, 8), id);
	cm_timer_set(id, 100);
	id->state = CM_STATE_TIME_WAIT;
	ck_assert(cm_step(id, CM_TIME_OVER));
	ck_assert_ptr_null(cm_find_connection(cm, id->local_comm_id));
	ck_assert_ptr_null(cm_find_remote(cm, 7, 8));
	ck_assert_ptr_null(cm_find_remote_qp(cm, 7, 9));
	ck_assert_ptr_null(cm_timer_first(cm));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cm_state");
	TCase *tests = tcase_create("steps");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, every_state_is_reached_and_left);
	tcase_add_test(tests, idle_has_beginnings_only);
	tcase_add_test(tests, an_mra_takes_no_step_away);
	tcase_add_test(tests, idle_leaves_the_tables);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
