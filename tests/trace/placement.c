/* SPDX-License-Identifier: MIT */
/* Traces of FLUSH and ATOMIC WRITE (annex A19): each has a response of its own, a READ response
 * without payload, as rdma_rxe sends it. */
#include <string.h>

#include "tests/trace/fixture.h"

#define PLACE 0x300000u

#define FLUSH(type, n, ...)                                                                        \
	POST(a, FLUSH, 0, .feth = { .placement = (type) }, .flush_len = (n), __VA_ARGS__)
#define FLUSH_REGION(type, ...) POST(a, FLUSH, 0, .feth = { (type), FETH_REGION }, __VA_ARGS__)
#define STORE(...)		POST(a, ATOMIC_WRITE, 8, __VA_ARGS__)

static void expect_durable(uint32_t at, uint32_t len)
{
	ck_assert(y->durable);
	ck_assert(memcmp(y->durable + at, y->mem + at, len) == 0);
}

/* Defers accesses to y's memory from PLACE on, for the first N microseconds. */
static void defer_until(uint64_t us)
{
	y->deferred_at = y->base + PLACE;
	y->deferred_end = y->base + y->mem_len;
	y->deferred_until_ns = us * 1000;
}

/* The ACK timeout is 4.2 ms. */
static void connect_patient(void)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 10;
	connect_ends(&opts);
}

/* A key of 64 bytes at PLACE. */
static uint32_t narrow_key(uint32_t rights)
{
	return node_reg(y, PLACE, 64, rights);
}

/* The response also acknowledges the WRITE. */
START_TEST(flush_behind_a_write)
{
	connect_ends(NULL);
	WRITE(64, .to = PLACE);
	FLUSH(FETH_GLOBAL, 64, .to = PLACE);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > FLUSH 101 global len 64 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 101 len 0\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(y->persists, 0);
}
END_TEST

START_TEST(persistent_range)
{
	connect_ends(NULL);
	WRITE(3000, .to = PLACE);
	FLUSH(FETH_GLOBAL | FETH_PERSISTENT, 2048, .to = PLACE);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_LAST 102 len 952 ackreq\n"
	       "     0.0 a > FLUSH 103 global persistent len 2048 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 103 len 0\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
	expect_durable(PLACE, 2048);
	ck_assert_uint_eq(y->durable[PLACE + 2048], 0);
}
END_TEST

/* Address and length have no meaning then. */
START_TEST(persistent_region)
{
	connect_ends(NULL);
	FLUSH_REGION(FETH_PERSISTENT, .has_va = true, .va = 1, .flush_len = 0x80000000,
		     .rkey = narrow_key(RXE_FLUSH_PERSISTENT));
	world_run(&w);
	expect("     0.0 a > FLUSH 100 persistent region len 2147483648 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 0\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_durable(PLACE, 64);
	ck_assert_uint_eq(y->durable[PLACE + 64], 0);
}
END_TEST

START_TEST(flush_of_nothing)
{
	connect_ends(NULL);
	FLUSH(FETH_PERSISTENT, 0, .to = PLACE);
	world_run(&w);
	expect("     0.0 a > FLUSH 100 persistent len 0 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 0\n"
	       "    10.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(y->persists, 0);
}
END_TEST

START_TEST(an_atomic_write)
{
	connect_ends(NULL);
	set_word(x, 0x80, 0x1122334455667788);
	STORE(.from = 0x80, .to = PLACE);
	STORE(.from = 0x80, .to = PLACE + 8, .flags = RXE_SEND_INLINE);
	world_run(&w);
	expect("     0.0 a > ATOMIC_WRITE 100 len 8 ackreq\n"
	       "     0.0 a > ATOMIC_WRITE 101 len 8 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 0\n"
	       "     5.0 b > READ_RESP_ONLY 101 len 0\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, PLACE), 0x1122334455667788);
	ck_assert_uint_eq(word_at(y, PLACE + 8), 0x1122334455667788);
}
END_TEST

/* Both count against max_rd_atomic. */
START_TEST(one_at_a_time)
{
	struct node_qp_opts opts = world_opts();

	opts.rd_atomic = 1;
	connect_ends(&opts);
	FLUSH(FETH_GLOBAL, 8, .to = PLACE);
	STORE(.to = PLACE);
	WRITE(8, .to = PLACE + 8);
	world_run(&w);
	expect("     0.0 a > FLUSH 100 global len 8 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 0\n"
	       "    10.0 a > ATOMIC_WRITE 101 len 8 ackreq\n"
	       "    10.0 a > WRITE_ONLY 102 len 8 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    15.0 b > READ_RESP_ONLY 101 len 0\n"
	       "    15.0 b > ACK 102 msn 3\n"
	       "    20.0 a   send 2 SUCCESS\n"
	       "    20.0 a   send 3 SUCCESS\n");
}
END_TEST

/* A peer that does not count FLUSHes, as rdma_rxe, may have a READ outstanding beside one. */
START_TEST(uncounted_flush)
{
	struct node_qp_opts opts = world_opts();

	opts.rd_atomic = 1;
	opts.timeout = 10; /* 4.2 ms */
	connect_ends(&opts);
	defer_until(1000);
	FLUSH(FETH_PERSISTENT, 8, .to = PLACE);
	world_flush(&w);
	a->qp.attr.max_rd_atomic = 2;
	READ(8, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > FLUSH 100 persistent len 8 ackreq\n"
	       "     0.0 a > READ_REQUEST 101 len 8 ackreq\n"
	       "  1005.0 b > READ_RESP_ONLY 100 len 0\n"
	       "  1005.0 b > READ_RESP_ONLY 101 len 8\n"
	       "  1010.0 a   send 1 SUCCESS\n"
	       "  1010.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(fenced_send)
{
	connect_ends(NULL);
	FLUSH(FETH_GLOBAL, 8, .to = PLACE);
	SEND(0, .flags = RXE_SEND_FENCE);
	RECV(0);
	world_run(&w);
	expect("     0.0 a > FLUSH 100 global len 8 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 0\n"
	       "    10.0 a > SEND_ONLY 101 len 0 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    15.0 b > ACK 101 msn 2\n"
	       "    15.0 b   recv 1 SUCCESS len 0\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(lost_requests)
{
	connect_ends(NULL);
	fault("drop a FLUSH 100");
	fault("drop a ATOMIC_WRITE 101");
	FLUSH(FETH_PERSISTENT, 8, .to = PLACE);
	STORE(.to = PLACE);
	world_run(&w);
	expect("     0.0 a x FLUSH 100 persistent len 8 ackreq\n"
	       "     0.0 a x ATOMIC_WRITE 101 len 8 ackreq\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > FLUSH 100 persistent len 8 ackreq\n"
	       "   262.1 a > ATOMIC_WRITE 101 len 8 ackreq\n"
	       "   267.1 b > READ_RESP_ONLY 100 len 0\n"
	       "   267.1 b > READ_RESP_ONLY 101 len 0\n"
	       "   272.1 a   send 1 SUCCESS\n"
	       "   272.1 a   send 2 SUCCESS\n");
}
END_TEST

/* Neither is carried out again. */
START_TEST(lost_responses)
{
	connect_ends(NULL);
	fault("drop b READ_RESP_ONLY 100");
	fault("drop b READ_RESP_ONLY 101");
	STORE(.from = 0x80, .to = PLACE);
	FLUSH(FETH_PERSISTENT, 8, .to = PLACE);
	world_run_until(&w, 100);
	set_word(y, PLACE, 1);
	world_run(&w);
	expect("     0.0 a > ATOMIC_WRITE 100 len 8 ackreq\n"
	       "     0.0 a > FLUSH 101 persistent len 8 ackreq\n"
	       "     5.0 b x READ_RESP_ONLY 100 len 0\n"
	       "     5.0 b x READ_RESP_ONLY 101 len 0\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > ATOMIC_WRITE 100 len 8 ackreq\n"
	       "   262.1 a > FLUSH 101 persistent len 8 ackreq\n"
	       "   267.1 b   duplicate ATOMIC_WRITE 100\n"
	       "   267.1 b   duplicate FLUSH 101\n"
	       "   267.1 b > READ_RESP_ONLY 100 len 0\n"
	       "   267.1 b > READ_RESP_ONLY 101 len 0\n"
	       "   272.1 a   send 1 SUCCESS\n"
	       "   272.1 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, PLACE), 1);
	ck_assert_uint_eq(y->persists, 1);
}
END_TEST

START_TEST(duplicates)
{
	connect_ends(NULL);
	fault("dup a FLUSH 100");
	fault("dup a ATOMIC_WRITE 101");
	FLUSH(FETH_GLOBAL, 8, .to = PLACE);
	STORE(.to = PLACE);
	world_run(&w);
	expect("     0.0 a d FLUSH 100 global len 8 ackreq\n"
	       "     0.0 a d ATOMIC_WRITE 101 len 8 ackreq\n"
	       "     5.0 b   duplicate FLUSH 100\n"
	       "     5.0 b   duplicate ATOMIC_WRITE 101\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 0\n"
	       "     5.0 b > READ_RESP_ONLY 101 len 0\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(y->writes, 8);
}
END_TEST

/* What becomes persistent may take a while: the response waits, and a duplicate of the request gets
 * none of its own. WRITEs and SENDs may pass. */
START_TEST(slow_persistence)
{
	connect_patient();
	defer_until(1500);
	FLUSH(FETH_PERSISTENT, 8, .to = PLACE);
	SEND(0);
	RECV(0);
	world_run(&w);
	expect("     0.0 a > FLUSH 100 persistent len 8 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 0 ackreq\n"
	       "     5.0 b   recv 1 SUCCESS len 0\n"
	       "  2005.0 b > READ_RESP_ONLY 100 len 0\n"
	       "  2005.0 b > ACK 101 msn 2\n"
	       "  2010.0 a   send 1 SUCCESS\n"
	       "  2010.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(y->tickets, 1);
	ck_assert_uint_eq(y->persists, 1);
}
END_TEST

/* The ATOMIC WRITE publishes what the FLUSH makes persistent: it must not pass. */
START_TEST(atomic_write_behind_slow_persistence)
{
	connect_patient();
	defer_until(500);
	FLUSH(FETH_PERSISTENT, 8, .to = PLACE);
	STORE(.to = 0x40);
	world_run(&w);
	expect("     0.0 a > FLUSH 100 persistent len 8 ackreq\n"
	       "     0.0 a > ATOMIC_WRITE 101 len 8 ackreq\n"
	       "  1005.0 b > READ_RESP_ONLY 100 len 0\n"
	       "  1005.0 b > RNR_NAK 101 timer 14\n"
	       "  1010.0 a   wait until 2290.0, rewind to 101\n"
	       "  1010.0 a   send 1 SUCCESS\n"
	       "  2290.0 a > ATOMIC_WRITE 101 len 8 ackreq\n"
	       "  2295.0 b > READ_RESP_ONLY 101 len 0\n"
	       "  2300.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(memory_unmapped_meanwhile)
{
	connect_patient();
	defer_until(500);
	FLUSH(FETH_PERSISTENT, 8, .to = PLACE);
	world_run_until(&w, 100);
	y->unmapped_at = y->base + PLACE;
	y->unmapped_end = y->base + PLACE + 4096;
	world_run(&w);
	expect("     0.0 a > FLUSH 100 persistent len 8 ackreq\n"
	       "  1005.0 b > NAK 100 remote access\n"
	       "  1005.0 b   to ERR\n"
	       "  1005.0 b   event QP_ACCESS_ERR\n"
	       "  1010.0 a   to ERR\n"
	       "  1010.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

static void b_is_destroyed_at(double us)
{
	world_run_until(&w, us);
	node_remove_qp(b);
	b = NULL;
}

/* TIME_WAIT answers for what was carried out. */
START_TEST(destroyed_after_a_flush)
{
	connect_ends(NULL);
	fault("drop b READ_RESP_ONLY 100");
	fault("drop b READ_RESP_ONLY 101");
	FLUSH(FETH_PERSISTENT, 8, .to = PLACE);
	STORE(.to = PLACE);
	b_is_destroyed_at(6);
	skip();
	world_run(&w);
	expect("   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > FLUSH 100 persistent len 8 ackreq\n"
	       "   262.1 a > ATOMIC_WRITE 101 len 8 ackreq\n"
	       "   267.1 ?   duplicate FLUSH 100\n"
	       "   267.1 ?   duplicate ATOMIC_WRITE 101\n"
	       "   267.1 ? > READ_RESP_ONLY 100 len 0\n"
	       "   267.1 ? > READ_RESP_ONLY 101 len 0\n"
	       "   272.1 a   send 1 SUCCESS\n"
	       "   272.1 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(destroyed_before_the_flush)
{
	connect_patient();
	defer_until(1000);
	FLUSH(FETH_PERSISTENT, 8, .to = PLACE);
	b_is_destroyed_at(6);
	skip();
	world_run_until(&w, 5000);
	expect("  4194.3 a   timeout, 6 left, rewind to 100\n"
	       "  4194.3 a > FLUSH 100 persistent len 8 ackreq\n");
}
END_TEST

START_TEST(bad_key)
{
	connect_ends(NULL);
	FLUSH(FETH_GLOBAL, 0, .to = PLACE, .rkey = 0x7777);
	world_run(&w);
	expect("     0.0 a > FLUSH 100 global len 0 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

/* The region gives the range: with a bad key there is none. */
START_TEST(bad_key_of_a_region)
{
	connect_ends(NULL);
	FLUSH_REGION(FETH_GLOBAL, .rkey = 0x7777);
	world_run(&w);
	expect("     0.0 a > FLUSH 100 global region len 0 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(key_without_the_right)
{
	connect_ends(NULL);
	FLUSH(FETH_GLOBAL | FETH_PERSISTENT, 8, .to = PLACE,
	      .rkey = narrow_key(RXE_REMOTE_WRITE | RXE_FLUSH_GLOBAL));
	world_run(&w);
	expect("     0.0 a > FLUSH 100 global persistent len 8 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(range_past_the_region)
{
	connect_ends(NULL);
	FLUSH(FETH_GLOBAL, 65, .to = PLACE, .rkey = narrow_key(RXE_FLUSH_GLOBAL));
	world_run(&w);
	expect("     0.0 a > FLUSH 100 global len 65 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(queue_pair_without_the_right)
{
	struct node_qp_opts opts = world_opts();

	opts.rights = RXE_REMOTE_WRITE | RXE_FLUSH_GLOBAL;
	connect_ends(&opts);
	FLUSH(FETH_PERSISTENT, 8, .to = PLACE);
	world_run(&w);
	expect("     0.0 a > FLUSH 100 persistent len 8 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

START_TEST(misaligned_atomic_write)
{
	connect_ends(NULL);
	STORE(.to = PLACE + 4);
	world_run(&w);
	expect("     0.0 a > ATOMIC_WRITE 100 len 8 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

START_TEST(atomic_write_without_the_right)
{
	connect_ends(NULL);
	STORE(.to = PLACE, .rkey = narrow_key(RXE_REMOTE_READ | RXE_REMOTE_ATOMIC));
	world_run(&w);
	expect("     0.0 a > ATOMIC_WRITE 100 len 8 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(atomic_write_of_four_bytes)
{
	connect_ends(NULL);
	inject(a, OP_ATOMIC_WRITE, 100, 4);
	world_run(&w);
	expect("     0.0 a > ATOMIC_WRITE 100 len 4 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
	ck_assert_uint_eq(y->writes, 0);
}
END_TEST

/* The response must be a READ response, and empty. */
START_TEST(response_with_payload)
{
	connect_ends(NULL);
	fault("drop a FLUSH 100");
	FLUSH(FETH_GLOBAL, 8, .to = PLACE);
	world_flush(&w);
	inject(b, OP_READ_RESP_ONLY, 100, 8);
	world_run_until(&w, 50);
	expect("     0.0 a x FLUSH 100 global len 8 ackreq\n"
	       "     0.0 b > READ_RESP_ONLY 100 len 8\n"
	       "     5.0 a   to ERR\n"
	       "     5.0 a   send 1 BAD_RESP_ERR\n");
}
END_TEST

/* An ACK alone does not complete a FLUSH. */
START_TEST(ack_instead_of_a_response)
{
	connect_ends(NULL);
	fault("drop a FLUSH 100");
	FLUSH(FETH_GLOBAL, 8, .to = PLACE);
	world_flush(&w);
	inject_ack(b, AETH_ACK, 100);
	world_run(&w);
	expect("     0.0 a x FLUSH 100 global len 8 ackreq\n"
	       "     0.0 b > ACK 100 msn 0\n"
	       "     5.0 a   rewind to 100\n"
	       "     5.0 a > FLUSH 100 global len 8 ackreq\n"
	       "    10.0 b > READ_RESP_ONLY 100 len 0\n"
	       "    15.0 a   send 1 SUCCESS\n");
}
END_TEST

RUN_TESTS("placement", flush_behind_a_write, persistent_range, persistent_region, flush_of_nothing,
	  an_atomic_write, one_at_a_time, uncounted_flush, fenced_send, lost_requests,
	  lost_responses, duplicates, slow_persistence, atomic_write_behind_slow_persistence,
	  memory_unmapped_meanwhile, destroyed_after_a_flush, destroyed_before_the_flush, bad_key,
	  bad_key_of_a_region, key_without_the_right, range_past_the_region,
	  queue_pair_without_the_right, misaligned_atomic_write, atomic_write_without_the_right,
	  atomic_write_of_four_bytes, response_with_payload, ack_instead_of_a_response)
