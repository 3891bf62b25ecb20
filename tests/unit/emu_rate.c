// SPDX-License-Identifier: MIT
/* Rate limits: what may leave when, and that idle time is not saved up. */
#include "emu/pace.h"

#include "tests/suite.h"

static struct rxe_rate rate;
static uint64_t now_ns;

/* Sends packets of len bytes until the rate stops them. Returns how many. */
static uint32_t send_all(uint32_t len)
{
	uint32_t n = 0;

	while (n < 1000000 && rxe_rate_may_send(&rate, now_ns)) {
		rxe_rate_sent(&rate, len, now_ns);
		n++;
	}
	return n;
}

/* For as long as this, in steps of the engine's deadline. */
static uint64_t bytes_within(uint64_t len_ns, uint32_t len)
{
	const uint64_t end_ns = now_ns + len_ns;
	uint64_t bytes = 0;

	for (;;) {
		bytes += (uint64_t)send_all(len) * len;
		ck_assert(rate.resume_ns > now_ns);
		if (rate.resume_ns >= end_ns)
			return bytes;
		now_ns = rate.resume_ns;
	}
}

START_TEST(without_a_limit)
{
	rate = (struct rxe_rate){ 0 };
	ck_assert_uint_eq(send_all(4096), 1000000);
	ck_assert(!rxe_rate_stops_behind(&rate, 4096, now_ns));
	ck_assert_uint_eq(rate.resume_ns, RXE_NEVER);
}
END_TEST

/* From a modem to 100 Gb/s, small packets and large ones: the rate, and a burst at the start. */
START_TEST(the_rate_is_kept)
{
	static const uint32_t rates[] = { 1, 56, 10000, 1000000, RXE_RATE_MAX_KBPS };
	static const uint32_t lens[] = { 16, 300, 4184 };

	for (int r = 0; r < 5; r++) {
		for (int l = 0; l < 3; l++) {
			const uint64_t some_ns = 1000ull * lens[l] * 8 * 1000000 / rates[r];
			const uint64_t burst = (uint64_t)RXE_RATE_BURST_NS * rates[r] / 8000000;
			uint64_t bytes;

			now_ns = 5;
			rxe_rate_set(&rate, rates[r], 0, lens[l], now_ns);
			bytes = bytes_within(some_ns, lens[l]);
			/* Times are whole nanoseconds. */
			if (rates[r] <= 1000000)
				ck_assert_uint_ge(bytes, 999ull * lens[l]);
			ck_assert_uint_le(bytes, 1002ull * lens[l] + burst);
		}
	}
}
END_TEST

START_TEST(a_burst_is_not_exceeded)
{
	now_ns = 0;
	rxe_rate_set(&rate, 1000, 10000, 1000, now_ns);
	ck_assert_uint_eq(send_all(1000), 10);
	/* Smaller than a packet: one at a time. */
	rxe_rate_set(&rate, 1000, 500, 1000, now_ns);
	ck_assert(rxe_rate_stops_behind(&rate, 1000, now_ns));
	ck_assert_uint_eq(send_all(1000), 1);
	ck_assert_uint_eq(rate.resume_ns, 8000000);
	now_ns = rate.resume_ns - 1;
	ck_assert_uint_eq(send_all(1000), 0);
	now_ns++;
	ck_assert_uint_eq(send_all(1000), 1);
}
END_TEST

START_TEST(idle_time_is_not_saved_up)
{
	now_ns = 0;
	rxe_rate_set(&rate, 1000, 3000, 1000, now_ns);
	ck_assert_uint_eq(send_all(1000), 3);
	now_ns = 3600000000000ull;
	ck_assert_uint_eq(send_all(1000), 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_rate");
	TCase *tcase = tcase_create("rate");

	tcase_add_test(tcase, without_a_limit);
	tcase_add_test(tcase, the_rate_is_kept);
	tcase_add_test(tcase, a_burst_is_not_exceeded);
	tcase_add_test(tcase, idle_time_is_not_saved_up);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
