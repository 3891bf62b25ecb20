/* SPDX-License-Identifier: MIT */
/* Every length around every path MTU, each way, bytes compared. */
#include "tests/trace/fixture.h"

static const uint32_t mtus[] = { 256, 512, 1024, 2048, 4096 };

static void send_one(uint32_t len)
{
	RECV(len);
	SEND(len, .from = 1);
	world_run(&w);
	expect_same(x, 1, y, RECV_AT, len);
}

static void write_one(uint32_t len)
{
	WRITE(len, .from = 2, .to = 0x80001);
	world_run(&w);
	expect_same(x, 2, y, 0x80001, len);
}

static void read_one(uint32_t len)
{
	READ(len, .from = READ_AT + 3, .to = 5);
	world_run(&w);
	expect_same(x, READ_AT + 3, y, 5, len);
}

/* A packet more or less, a byte more or less. */
static void for_all(void (*move)(uint32_t len))
{
	size_t m;
	uint32_t i;

	w.trace.quiet = 1;
	for (m = 0; m < sizeof(mtus) / sizeof(mtus[0]); m++) {
		connect_with_mtu(mtus[m]);
		for (i = 0; i < 5; i++) {
			if (i > 0)
				move(i * mtus[m] - 1);
			move(i * mtus[m]);
			move(i * mtus[m] + 1);
		}
		ck_assert_int_eq(a->qp.state, RXE_QPS_RTS);
		ck_assert_uint_eq(a->qp.attr.sq_psn, b->qp.attr.rq_psn);
	}
}

START_TEST(sends)
{
	for_all(send_one);
}
END_TEST

START_TEST(writes)
{
	for_all(write_one);
}
END_TEST

START_TEST(reads)
{
	for_all(read_one);
}
END_TEST

START_TEST(longest_in_smallest_packets)
{
	connect_with_mtu(256);
	w.trace.quiet = 1;
	WRITE(1u << 20, .to = 0x200000);
	world_run(&w);
	expect_same(x, 0, y, 0x200000, 1u << 20);
	ck_assert_uint_eq(a->qp.attr.sq_psn, 100 + 4096);
}
END_TEST

RUN_TESTS("mtu", sends, writes, reads, longest_in_smallest_packets)
