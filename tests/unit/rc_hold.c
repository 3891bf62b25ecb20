/* SPDX-License-Identifier: MIT */
/* Requests after a missing one: order, bounds, and that memory returns to the pool. */
#include <check.h>

#include "emu/rc/responder_hold.h"
#include "tests/suite.h"

static struct rxe_held memory[RXE_HOLD_PACKETS];
static struct rxe_hold pool;

static void setup(void)
{
	pool = (struct rxe_hold){ .at = memory, .size = RXE_HOLD_PACKETS };
}

static void add(struct rc_hold *hold, uint32_t psn, uint8_t value)
{
	const struct wire_packet packet = {
		.bth.psn = psn,
		.payload = &value,
		.payload_len = 1,
	};

	rc_hold_add(&pool, hold, &packet);
}

/* Takes the request with this PSN out by passing it. */
static uint8_t take(struct rc_hold *hold, uint32_t psn)
{
	const struct wire_packet *packet = rc_hold_at(&pool, hold, psn);

	return packet ? packet->payload[0] : 0;
}

START_TEST(in_the_order_of_psns)
{
	struct rc_hold hold = { 0 };

	add(&hold, 1, 11);
	add(&hold, 0xfffffe, 22);
	add(&hold, 3, 33);
	add(&hold, 0xffffff, 44);
	add(&hold, 1, 55); /* again */
	ck_assert_uint_eq(hold.count, 4);
	ck_assert_uint_eq(rc_hold_first_psn(&pool, &hold), 0xfffffe);
	ck_assert_uint_eq(take(&hold, 0xfffffe), 22);
	ck_assert_uint_eq(take(&hold, 0xffffff), 44);
	ck_assert_uint_eq(take(&hold, 0), 0);
	ck_assert_uint_eq(take(&hold, 1), 11);
	ck_assert_uint_eq(take(&hold, 2), 0);
	ck_assert_uint_eq(take(&hold, 3), 33);
	ck_assert_uint_eq(take(&hold, 4), 0);
	ck_assert_uint_eq(hold.count, 0);
}
END_TEST

/* A READ takes several PSNs: what was held in between is not executed. */
START_TEST(those_before_are_released)
{
	struct rc_hold hold = { 0 };

	add(&hold, 5, 1);
	add(&hold, 6, 2);
	add(&hold, 9, 3);
	ck_assert_uint_eq(take(&hold, 9), 3);
	ck_assert_uint_eq(hold.count, 1);
	add(&hold, 20, 4);
	ck_assert_uint_eq(take(&hold, 20), 4);
}
END_TEST

START_TEST(each_has_a_share)
{
	struct rc_hold hold[3] = { 0 };
	uint32_t i;

	for (i = 0; i < 2 * RC_HOLD_MAX; i++) {
		add(&hold[0], i, 1);
		add(&hold[1], i, 1);
		add(&hold[2], i, 1);
	}
	ck_assert_uint_le(hold[0].count, RC_HOLD_MAX);
	ck_assert_uint_eq(hold[0].count + hold[1].count + hold[2].count, RXE_HOLD_PACKETS);
	rc_hold_clear(&pool, &hold[0]);
	rc_hold_clear(&pool, &hold[2]);
	for (i = 0; i < 2 * RC_HOLD_MAX; i++)
		add(&hold[0], i, 2);
	ck_assert_uint_eq(hold[0].count, RC_HOLD_MAX);
	ck_assert_uint_eq(take(&hold[0], 0), 2);
}
END_TEST

/* Without memory nothing is held. */
START_TEST(no_memory)
{
	struct rc_hold hold = { 0 };

	pool = (struct rxe_hold){ 0 };
	add(&hold, 5, 1);
	ck_assert_uint_eq(hold.count, 0);
	ck_assert_ptr_null(rc_hold_at(&pool, &hold, 5));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rc_hold");
	TCase *tcase = tcase_create("rc_hold");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, in_the_order_of_psns);
	tcase_add_test(tcase, those_before_are_released);
	tcase_add_test(tcase, each_has_a_share);
	tcase_add_test(tcase, no_memory);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
