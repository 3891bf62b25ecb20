/* SPDX-License-Identifier: MIT */
/* Traces of as many READs, atomics, FLUSHes and ATOMIC WRITEs in flight as a queue pair may have:
 * each is answered, also when the answers are lost. */
#include "tests/trace/fixture.h"

#define MOST RXE_MAX_RD_ATOMIC

static void connect_with(uint8_t rd_atomic)
{
	struct node_qp_opts opts = world_opts();

	opts.rd_atomic = rd_atomic;
	opts.depth = 2 * MOST;
	connect_ends(&opts);
}

/* Packets of both ends from now on. */
static uint32_t sent_in(double until_us)
{
	const uint64_t before = w.sent;

	world_run_until(&w, until_us);
	return (uint32_t)(w.sent - before);
}

START_TEST(rdma_rxe_allows_as_many)
{
	ck_assert_uint_eq(MOST, 128);
}
END_TEST

START_TEST(reads)
{
	connect_with(MOST);
	for (uint32_t i = 0; i < MOST + 1; i++)
		READ(8, .from = READ_AT + 8 * i, .to = 8 * i);
	ck_assert_uint_eq(sent_in(1), MOST);
	ck_assert_uint_eq(a->qp.rc.req.rd_atomic, MOST);
	ck_assert_uint_eq(sent_in(6), MOST);
	ck_assert_uint_eq(sent_in(100), 2);
	expect_some("     0.0 a > READ_REQUEST 100 len 8 ackreq\n"
		    "     0.0 a > READ_REQUEST 227 len 8 ackreq\n"
		    "     5.0 b > READ_RESP_ONLY 100 len 8\n"
		    "     5.0 b > READ_RESP_ONLY 227 len 8\n"
		    "    10.0 a > READ_REQUEST 228 len 8 ackreq\n"
		    "    10.0 a   send 128 SUCCESS\n"
		    "    15.0 b > READ_RESP_ONLY 228 len 8\n"
		    "    20.0 a   send 129 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 8 * (MOST + 1));
}
END_TEST

/* Each duplicate is answered, in two round trips, since the loss has halved the window: no second
 * timeout passes. */
START_TEST(lost_responses)
{
	connect_with(MOST);
	fault("drop b READ_RESP_ONLY * x128");
	for (uint32_t i = 0; i < MOST; i++)
		READ(8, .from = READ_AT + 8 * i, .to = 8 * i);
	ck_assert_uint_eq(sent_in(262), 2 * MOST);
	ck_assert_uint_eq(sent_in(290), 2 * MOST);
	expect_some("     5.0 b x READ_RESP_ONLY 227 len 8\n"
		    "   262.1 a   timeout, 6 left, rewind to 100\n"
		    "   277.1 b   duplicate READ_REQUEST 227\n"
		    "   277.1 b > READ_RESP_ONLY 227 len 8\n"
		    "   282.1 a   send 128 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 8 * MOST);
}
END_TEST

static void lose_the_results_of_adds(void)
{
	connect_with(MOST);
	fault("drop b ATOMIC_ACK * x128");
	set_word(y, 0, 1000);
	for (uint32_t i = 0; i < MOST; i++)
		ADD(1, .from = READ_AT + 8 * i);
	ck_assert_uint_eq(sent_in(100), 2 * MOST);
}

static void expect_each_added_once(void)
{
	ck_assert_uint_eq(y->atomics, MOST);
	ck_assert_uint_eq(word_at(y, 0), 1000 + MOST);
	for (uint32_t i = 0; i < MOST; i++)
		ck_assert_uint_eq(word_at(x, READ_AT + 8 * i), 1000 + i);
}

START_TEST(lost_results_of_atomics)
{
	lose_the_results_of_adds();
	ck_assert_uint_eq(sent_in(290), 2 * MOST);
	expect_some("   262.1 a   timeout, 6 left, rewind to 100\n"
		    "   267.1 b > ATOMIC_ACK 100 orig 1000\n"
		    "   277.1 b > ATOMIC_ACK 227 orig 1127\n"
		    "   282.1 a   send 128 SUCCESS\n");
	expect_each_added_once();
}
END_TEST

/* Its record keeps all results, and all of them leave. */
START_TEST(lost_results_of_a_destroyed_qp)
{
	lose_the_results_of_adds();
	node_remove_qp(b);
	b = NULL;
	ck_assert_uint_eq(sent_in(290), 2 * MOST);
	expect_some("   262.1 a   timeout, 6 left, rewind to 100\n"
		    "   267.1 ? > ATOMIC_ACK 100 orig 1000\n"
		    "   277.1 ? > ATOMIC_ACK 227 orig 1127\n"
		    "   282.1 a   send 128 SUCCESS\n");
	expect_each_added_once();
}
END_TEST

/* FLUSHes count at a requester of ours. The responder takes as many without an RNR NAK. */
START_TEST(flushes)
{
	connect_with(MOST);
	for (uint32_t i = 0; i < MOST; i++)
		POST(a, FLUSH, 0, .feth = { .placement = FETH_GLOBAL }, .flush_len = 8);
	ck_assert_uint_eq(sent_in(11), 2 * MOST);
	ck_assert_uint_eq(y->counters.send_rnr_err, 0);
	expect_some("     5.0 b > READ_RESP_ONLY 227 len 0\n"
		    "    10.0 a   send 128 SUCCESS\n");
}
END_TEST

/* The responder allows one less than the requester sends. */
START_TEST(more_than_the_responder_allows)
{
	connect_with(MOST);
	b->qp.attr.max_dest_rd_atomic = MOST - 1;
	for (uint32_t i = 0; i < MOST; i++)
		READ(8, .from = READ_AT + 8 * i);
	world_run(&w);
	expect_some("     5.0 b > READ_RESP_ONLY 226 len 8\n"
		    "     5.0 b > NAK 227 invalid request\n"
		    "     5.0 b   to ERR\n"
		    "     5.0 b   event QP_REQ_ERR\n"
		    "    10.0 a   send 127 SUCCESS\n"
		    "    10.0 a   send 128 REM_INV_REQ_ERR\n");
}
END_TEST

RUN_TESTS("outstanding", rdma_rxe_allows_as_many, reads, lost_responses, lost_results_of_atomics,
	  lost_results_of_a_destroyed_qp, flushes, more_than_the_responder_allows)
