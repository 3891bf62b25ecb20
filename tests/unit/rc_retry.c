/* SPDX-License-Identifier: MIT */
/* rc_retry alone: its timer codes against the standard's tables, and its budgets. */
#include <check.h>
#include <stdlib.h>

#include "emu/qp.h"
#include "emu/rc/nak.h"
#include "tests/suite.h"

/* IBTA table 45, in units of 10 us. */
START_TEST(rnr_timer_codes)
{
	static const uint32_t table[32] = {
		65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
		48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};
	uint8_t code;

	for (code = 0; code < 32; code++)
		ck_assert_uint_eq(rc_rnr_timer_ns(code), table[code] * 10000ull);
}
END_TEST

START_TEST(timeout_codes)
{
	ck_assert_uint_eq(rc_timeout_ns(0), UINT64_MAX);
	ck_assert_uint_eq(rc_timeout_ns(1), 8192);
	ck_assert_uint_eq(rc_timeout_ns(14), 67108864);
	ck_assert_uint_eq(rc_timeout_ns(31), 4096ull << 31);
}
END_TEST

START_TEST(budget_is_spent_and_refilled)
{
	const struct rxe_qp_attr attr = { .timeout = 14, .retry_cnt = 2, .rnr_retry = 1 };
	struct rc_retry retry;

	rc_retry_reset(&retry);
	ck_assert_int_eq(rc_retry_sequence_nak(&retry, &attr), RC_RETRY_REWIND);
	ck_assert_int_eq(rc_retry_rnr_nak(&retry, &attr, 1, 0), RC_RETRY_REWIND);
	ck_assert_int_eq(rc_retry_rnr_nak(&retry, &attr, 1, 5), RC_RETRY_WAIT);
	ck_assert(!rc_retry_may_send(&retry, 9999));
	ck_assert(rc_retry_may_send(&retry, 10000));
	ck_assert_int_eq(rc_retry_sequence_nak(&retry, &attr), RC_RETRY_REWIND);
	ck_assert_int_eq(rc_retry_sequence_nak(&retry, &attr), RC_RETRY_GIVE_UP);
	ck_assert_int_eq(rc_retry_rnr_nak(&retry, &attr, 1, 10000), RC_RETRY_GIVE_UP);
	rc_retry_progressed(&retry, &attr, RC_OUTSTANDING_ASKED, 20000);
	ck_assert_int_eq(rc_retry_sequence_nak(&retry, &attr), RC_RETRY_REWIND);
	ck_assert_int_eq(rc_retry_rnr_nak(&retry, &attr, 1, 20000), RC_RETRY_REWIND);
}
END_TEST

START_TEST(timer_runs_from_the_oldest)
{
	const struct rxe_qp_attr attr = { .timeout = 14, .retry_cnt = 7 };
	struct rc_retry retry;

	rc_retry_reset(&retry);
	ck_assert_int_eq(rc_retry_timed_out(&retry, &attr, 1ull << 40), RC_RETRY_WAIT);
	rc_retry_sent(&retry, &attr, RC_OUTSTANDING_ASKED, 1000);
	rc_retry_sent(&retry, &attr, RC_OUTSTANDING_ASKED, 2000);
	ck_assert_uint_eq(rc_retry_next_ns(&retry), 67109864);
	ck_assert_int_eq(rc_retry_timed_out(&retry, &attr, 67109863), RC_RETRY_WAIT);
	ck_assert_int_eq(rc_retry_timed_out(&retry, &attr, 67109864), RC_RETRY_REWIND);
	ck_assert_uint_eq(rc_retry_next_ns(&retry), UINT64_MAX);
	rc_retry_progressed(&retry, &attr, RC_OUTSTANDING_NONE, 70000000);
	ck_assert_uint_eq(rc_retry_next_ns(&retry), UINT64_MAX);
}
END_TEST

/* Responses above the one that triggered a rewind spend nothing, until a timeout shows that the
 * rewind itself was lost. */
START_TEST(timeout_ends_a_rewind)
{
	const struct rxe_qp_attr attr = { .timeout = 14, .retry_cnt = 7 };
	struct rc_retry retry;

	rc_retry_reset(&retry);
	ck_assert_int_eq(rc_retry_implied_nak(&retry, &attr, 100, false), RC_RETRY_REWIND);
	ck_assert_int_eq(rc_retry_implied_nak(&retry, &attr, 101, false), RC_RETRY_WAIT);
	rc_retry_sent(&retry, &attr, RC_OUTSTANDING_ASKED, 1000);
	ck_assert_int_eq(rc_retry_timed_out(&retry, &attr, 67109864), RC_RETRY_REWIND);
	ck_assert_int_eq(rc_retry_implied_nak(&retry, &attr, 101, false), RC_RETRY_REWIND);
}
END_TEST

/* IBTA table 56: the requester's reaction to a NAK. */
START_TEST(nak_codes)
{
	ck_assert_int_eq(rc_nak_status(0x61), RXE_WC_REM_INV_REQ_ERR);
	ck_assert_int_eq(rc_nak_status(0x62), RXE_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(rc_nak_status(0x63), RXE_WC_REM_OP_ERR);
	ck_assert_int_eq(rc_nak_status(0x64), RXE_WC_BAD_RESP_ERR);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rc_retry");
	TCase *tcase = tcase_create("rc_retry");

	tcase_add_test(tcase, rnr_timer_codes);
	tcase_add_test(tcase, timeout_codes);
	tcase_add_test(tcase, budget_is_spent_and_refilled);
	tcase_add_test(tcase, timer_runs_from_the_oldest);
	tcase_add_test(tcase, timeout_ends_a_rewind);
	tcase_add_test(tcase, nak_codes);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
