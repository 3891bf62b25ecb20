/* SPDX-License-Identifier: MIT */
/* The packet tail: which packets of a call are recorded, and the time of each. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/capture/tail.h"
#include "tests/suite.h"

#define LEN 40u

static struct tail *tail;
static uint64_t now_ns;
static uint8_t buf[16 * LEN];
static char trace[1000];

static void setup(void)
{
	now_ns = 0;
	tail = tail_open(&now_ns);
	ck_assert_ptr_nonnull(tail);
	for (uint32_t i = 0; i < 16; i++)
		memset(buf + i * LEN, (int)i, LEN);
}

static void teardown(void)
{
	tail_close(tail);
}

static bool any(const struct tail_packet *packet, const void *arg)
{
	(void)packet, (void)arg;
	return true;
}

/* Compares what is recorded: time, direction, first byte, packets skipped after this one. */
static void expect(const char *want)
{
	struct tail_packet got[TAIL_PACKETS];
	const uint32_t n = tail_find(tail, any, NULL, got, TAIL_PACKETS);

	trace[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		const size_t at = strlen(trace);

		ck_assert_uint_eq(got[i].len, LEN);
		(void)snprintf(trace + at, sizeof(trace) - at, "%u%c%u+%u ",
			       (uint32_t)got[i].time_ns, got[i].sent ? '>' : '<', got[i].head[0],
			       got[i].skipped);
	}
	ck_assert_str_eq(trace, want);
}

static struct wire_train train_of(uint32_t first, uint16_t segs)
{
	return (struct wire_train){
		.buf = buf + first * LEN, .len = segs * LEN, .seg_len = LEN, .segs = segs
	};
}

static void arrive(uint32_t first, uint32_t n)
{
	struct wire_arrival arrivals[16] = { 0 };

	for (uint32_t i = 0; i < n; i++)
		arrivals[i] = (struct wire_arrival){ .p = buf + (first + i) * LEN, .len = LEN };
	tail_arrivals.arrived(tail, arrivals, n);
}

START_TEST(trains)
{
	const struct wire_train some[] = { train_of(0, 1), train_of(1, 2), train_of(3, 5) };

	now_ns = 7;
	tail_departures.sent(tail, some, 3);
	tail_departures.sent(tail, some, 0);
	expect("7>0+0 7>1+0 7>2+0 7>3+3 7>7+0 ");
}
END_TEST

/* The first two and the last two arrivals of a call. */
START_TEST(ends_of_a_batch)
{
	arrive(0, 4);
	arrive(4, 9);
	expect("0<0+0 0<1+0 0<2+0 0<3+0 0<4+0 0<5+5 0<11+0 0<12+0 ");
}
END_TEST

/* An arrival has the engine's time after the engine handled the arrival. */
START_TEST(times_of_arrivals)
{
	now_ns = 1;
	arrive(0, 1);
	now_ns = 2;
	arrive(1, 1);
	now_ns = 3;
	arrive(2, 0); /* nothing arrived: the time of the last arrival stands */
	now_ns = 9;
	arrive(3, 1);
	now_ns = 10;
	expect("2<0+0 3<1+0 10<3+0 ");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("capture_tail");
	TCase *tc = tcase_create("tail");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, trains);
	tcase_add_test(tc, ends_of_a_batch);
	tcase_add_test(tc, times_of_arrivals);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
