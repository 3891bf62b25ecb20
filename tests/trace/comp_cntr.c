/* SPDX-License-Identifier: MIT */
/* Completion counters: which operations of a queue pair count, on which side, and as what. */
#include "tests/trace/fixture.h"

static struct rxe_comp_cntr cntrs_a[RXE_CNTR_OPS], cntrs_b[RXE_CNTR_OPS];

/* A counter for each operation of each end, of requests or of bytes. */
static void connect_counted(bool counts_bytes)
{
	connect_ends(NULL);
	for (uint32_t op = 0; op < RXE_CNTR_OPS; op++) {
		cntrs_a[op] = cntrs_b[op] = (struct rxe_comp_cntr){ .counts_bytes = counts_bytes };
		a->qp.cntrs.of[op] = &cntrs_a[op];
		b->qp.cntrs.of[op] = &cntrs_b[op];
	}
}

/* This operation has these counts, and no other operation of the end has any. */
static void expect_only(struct rxe_comp_cntr *cntrs, enum rxe_cntr_op op, uint64_t completed,
			uint64_t failed)
{
	for (uint32_t i = 0; i < RXE_CNTR_OPS; i++) {
		ck_assert_uint_eq(atomic_load(&cntrs[i].completed), i == op ? completed : 0);
		ck_assert_uint_eq(atomic_load(&cntrs[i].failed), i == op ? failed : 0);
	}
}

START_TEST(sends_and_receives)
{
	connect_counted(false);
	RECV(64);
	RECV(64);
	RECV(64);
	SEND(8);
	SEND(9, .quiet = true);
	world_run(&w);
	world_modify(&w, b, RXE_QPS_ERR);
	world_run(&w);
	expect_only(cntrs_a, RXE_CNTR_SEND, 2, 0);
	expect_only(cntrs_b, RXE_CNTR_RECV, 2, 1);
}
END_TEST

START_TEST(bytes_of_sends_and_receives)
{
	connect_counted(true);
	RECV(2048);
	SEND(1500);
	world_run(&w);
	expect_only(cntrs_a, RXE_CNTR_SEND, 1500, 0);
	expect_only(cntrs_b, RXE_CNTR_RECV, 1500, 0);
}
END_TEST

START_TEST(writes)
{
	connect_counted(false);
	WRITE(8);
	WRITE(9, .rkey = 0x7777);
	world_run(&w);
	atomic_store(&cntrs_a[RXE_CNTR_WRITE].failed, 0);
	expect_only(cntrs_a, RXE_CNTR_WRITE, 1, 0);
	expect_only(cntrs_b, RXE_CNTR_REMOTE_WRITE, 1, 1);
}
END_TEST

START_TEST(reads)
{
	connect_counted(true);
	READ(1500, .from = READ_AT);
	READ(64, .from = READ_AT);
	world_run(&w);
	expect_only(cntrs_a, RXE_CNTR_READ, 1564, 0);
	expect_only(cntrs_b, RXE_CNTR_REMOTE_READ, 1564, 0);
}
END_TEST

/* The READ was accepted, and its memory is gone when the response is made. */
START_TEST(read_that_fails_half_way)
{
	connect_counted(false);
	y->unmapped_at = y->base + 0x1400;
	y->unmapped_end = y->base + 0x2000;
	READ(3000, .from = READ_AT, .to = 0x1000);
	world_run(&w);
	expect_only(cntrs_a, RXE_CNTR_READ, 0, 1);
	expect_only(cntrs_b, RXE_CNTR_REMOTE_READ, 0, 1);
}
END_TEST

/* A FLUSH that fails in the same way is no READ. */
START_TEST(flush_that_fails)
{
	connect_counted(false);
	y->deferred_at = y->unmapped_at = y->base + 0x1000;
	y->deferred_end = y->unmapped_end = y->base + 0x2000;
	y->deferred_until_ns = 100000;
	POST(a, FLUSH, 0, .feth = { .placement = FETH_PERSISTENT }, .flush_len = 64, .to = 0x1000);
	world_run(&w);
	expect_some("REM_ACCESS_ERR");
	expect_only(cntrs_a, RXE_CNTR_OPS, 0, 0);
	expect_only(cntrs_b, RXE_CNTR_OPS, 0, 0);
}
END_TEST

RUN_TESTS("comp_cntr", sends_and_receives, bytes_of_sends_and_receives, writes, reads,
	  read_that_fails_half_way, flush_that_fails)
