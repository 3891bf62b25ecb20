/* SPDX-License-Identifier: MIT */
/* Traces of deferred memory accesses: the host reports that memory is not ready, and only the queue
 * pair that needs it waits. */
#include "tests/trace/fixture.h"

#define PLACE 0x300000u

/* Defers accesses to a node's memory from PLACE on, for the first N microseconds. */
static void defer_until(struct node *node, uint64_t us)
{
	node->deferred_at = node->base + PLACE;
	node->deferred_end = node->base + node->mem_len;
	node->deferred_until_ns = us * 1000;
}

START_TEST(a_write_comes_again)
{
	connect_ends(NULL);
	defer_until(y, 2000);
	WRITE(64, .to = PLACE);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 14\n"
	       "    10.0 a   wait until 1290.0, rewind to 100\n"
	       "  1290.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "  1295.0 b > RNR_NAK 100 timer 14\n"
	       "  1300.0 a   wait until 2580.0, rewind to 100\n"
	       "  2580.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "  2585.0 b > ACK 100 msn 1\n"
	       "  2590.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, PLACE, 64);
}
END_TEST

/* Packets that were stored stay valid, and only the rest is requested again. */
START_TEST(in_the_middle_of_a_write)
{
	connect_ends(NULL);
	defer_until(y, 1000);
	WRITE(2500, .to = PLACE - 1024);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "     5.0 b   early WRITE_LAST 102\n"
	       "     5.0 b > RNR_NAK 101 timer 14\n"
	       "    10.0 a   wait until 1290.0, rewind to 101\n"
	       "  1290.0 a > WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "  1295.0 b > ACK 101 msn 0\n"
	       "  1300.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "  1305.0 b > ACK 102 msn 1\n"
	       "  1310.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, PLACE - 1024, 2500);
}
END_TEST

START_TEST(a_receive)
{
	connect_ends(NULL);
	defer_until(y, 1000);
	world_recv(&w, b, PLACE, 4096);
	SEND(2500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_LAST 102 len 452 ackreq\n"
	       "     5.0 b   early SEND_MIDDLE 101\n"
	       "     5.0 b   early SEND_LAST 102\n"
	       "     5.0 b > RNR_NAK 100 timer 14\n"
	       "    10.0 a   wait until 1290.0, rewind to 100\n"
	       "  1290.0 a > SEND_FIRST 100 len 1024 ackreq\n"
	       "  1295.0 b > ACK 100 msn 0\n"
	       "  1300.0 a > SEND_MIDDLE 101 len 1024\n"
	       "  1300.0 a > SEND_LAST 102 len 452 ackreq\n"
	       "  1305.0 b > ACK 102 msn 1\n"
	       "  1305.0 b   recv 1 SUCCESS len 2500\n"
	       "  1310.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, PLACE, 2500);
}
END_TEST

/* An atomic that is requested several times is executed once. */
START_TEST(an_atomic)
{
	connect_ends(NULL);
	set_word(y, PLACE, 40);
	defer_until(y, 3000);
	ADD(2, .to = PLACE, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 14\n"
	       "    10.0 a   wait until 1290.0, rewind to 100\n"
	       "  1290.0 a > FETCH_ADD 100 ackreq\n"
	       "  1295.0 b > RNR_NAK 100 timer 14\n"
	       "  1300.0 a   wait until 2580.0, rewind to 100\n"
	       "  2580.0 a > FETCH_ADD 100 ackreq\n"
	       "  2585.0 b > RNR_NAK 100 timer 14\n"
	       "  2590.0 a   wait until 3870.0, rewind to 100\n"
	       "  3870.0 a > FETCH_ADD 100 ackreq\n"
	       "  3875.0 b > ATOMIC_ACK 100 orig 40\n"
	       "  3880.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, PLACE), 42);
	ck_assert_uint_eq(word_at(x, READ_AT), 40);
	ck_assert_uint_eq(y->atomics, 1);
}
END_TEST

/* The responder's delay is its own: the requester waits as for any slow response. */
START_TEST(a_read)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 10; /* 4.2 ms */
	connect_ends(&opts);
	defer_until(y, 1500);
	READ(2500, .to = PLACE - 1024, .from = READ_AT);
	SEND(0);
	RECV(0);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "     0.0 a > SEND_ONLY 103 len 0 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b   recv 1 SUCCESS len 0\n"
	       "  2005.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "  2005.0 b > READ_RESP_LAST 102 len 452\n"
	       "  2005.0 b > ACK 103 msn 2\n"
	       "  2010.0 a   send 1 SUCCESS\n"
	       "  2010.0 a   send 2 SUCCESS\n");
	expect_same(x, READ_AT, y, PLACE - 1024, 2500);
}
END_TEST

START_TEST(what_is_to_be_sent)
{
	connect_ends(NULL);
	defer_until(x, 1500);
	WRITE(2500, .from = PLACE - 1024);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "  2000.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "  2000.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "  2005.0 b > ACK 102 msn 1\n"
	       "  2010.0 a   send 1 SUCCESS\n");
	expect_same(x, PLACE - 1024, y, 0, 2500);
}
END_TEST

/* The timer does not run for requests that were not sent, so a deferral of any length spends no
 * retry. */
START_TEST(costs_no_retries)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 0;
	opts.rnr_retry = 0;
	connect_ends(&opts);
	defer_until(x, 20000);
	WRITE(2500, .from = PLACE - 1024);
	world_run(&w);
	skip();
	expect_same(x, PLACE - 1024, y, 0, 2500);
	defer_until(x, w.now_ns / 1000 + 20000);
	READ(2500, .to = 4096, .from = PLACE - 1024);
	world_run(&w);
	expect_some("a   send 2 SUCCESS\n");
	expect_same(x, PLACE - 1024, y, 4096, 2500);
}
END_TEST

/* A deferred request after others is sent as soon as its time is over. */
START_TEST(behind_others)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 10; /* 4.2 ms */
	connect_ends(&opts);
	defer_until(x, 500);
	for (int i = 0; i < 8; i++)
		WRITE(64, .quiet = true);
	WRITE(64, .from = PLACE);
	fault("drop b ACK 107");
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 102 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 103 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 104 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 105 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 106 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 107 len 64 ackreq\n"
	       "     5.0 b x ACK 107 msn 8\n"
	       "  5194.3 a   timeout, 6 left, rewind to 100\n"
	       "  5194.3 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "  5194.3 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "  5194.3 a > WRITE_ONLY 102 len 64 ackreq\n"
	       "  5194.3 a > WRITE_ONLY 103 len 64 ackreq\n"
	       "  5194.3 a > WRITE_ONLY 104 len 64 ackreq\n"
	       "  5194.3 a > WRITE_ONLY 105 len 64 ackreq\n"
	       "  5194.3 a > WRITE_ONLY 106 len 64 ackreq\n"
	       "  5194.3 a > WRITE_ONLY 107 len 64 ackreq\n"
	       "  5199.3 b   duplicate WRITE_ONLY 100\n"
	       "  5199.3 b   duplicate WRITE_ONLY 101\n"
	       "  5199.3 b   duplicate WRITE_ONLY 102\n"
	       "  5199.3 b   duplicate WRITE_ONLY 103\n"
	       "  5199.3 b   duplicate WRITE_ONLY 104\n"
	       "  5199.3 b   duplicate WRITE_ONLY 105\n"
	       "  5199.3 b   duplicate WRITE_ONLY 106\n"
	       "  5199.3 b   duplicate WRITE_ONLY 107\n"
	       "  5199.3 b > ACK 107 msn 8\n"
	       "  5204.3 a > WRITE_ONLY 108 len 64 ackreq\n"
	       "  5209.3 b > ACK 108 msn 9\n"
	       "  5214.3 a   send 9 SUCCESS\n");
}
END_TEST

/* Two reasons to wait, one of which ends first. */
START_TEST(behind_one_that_the_peer_is_not_ready_for)
{
	connect_ends(NULL);
	defer_until(x, 1500);
	SEND(64);
	world_run_until(&w, 7);
	WRITE(64, .from = PLACE);
	world_run_until(&w, 15);
	RECV(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "  1007.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "  1012.0 b > ACK 100 msn 1\n"
	       "  1012.0 b   recv 1 SUCCESS len 64\n"
	       "  1017.0 a   send 1 SUCCESS\n"
	       "  2017.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "  2022.0 b > ACK 101 msn 2\n"
	       "  2027.0 a   send 2 SUCCESS\n");
}
END_TEST

/* The memory of a READ response is deferred. Responses after it are dropped, and count as no
 * loss. */
START_TEST(where_a_read_lands)
{
	connect_ends(NULL);
	defer_until(x, 900);
	READ(2500, .from = PLACE - 1024);
	SEND(64);
	RECV(64);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "     0.0 a > SEND_ONLY 103 len 64 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 102 len 452\n"
	       "     5.0 b > ACK 103 msn 2\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "    10.0 a   deferred until 1010.0 from 101\n"
	       "  1010.0 a > READ_REQUEST 101 len 1476 ackreq\n"
	       "  1010.0 a > SEND_ONLY 103 len 64 ackreq\n"
	       "  1015.0 b   duplicate READ_REQUEST 101\n"
	       "  1015.0 b   duplicate SEND_ONLY 103\n"
	       "  1015.0 b > READ_RESP_FIRST 101 len 1024\n"
	       "  1015.0 b > READ_RESP_LAST 102 len 452\n"
	       "  1015.0 b > ACK 103 msn 2\n"
	       "  1020.0 a   send 1 SUCCESS\n"
	       "  1020.0 a   send 2 SUCCESS\n");
	expect_same(x, PLACE - 1024, y, 0, 2500);
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
}
END_TEST

/* A missing response is asked for once the queue pair may send again. */
START_TEST(behind_a_read_that_lost_a_response)
{
	node_hold(x);
	connect_ends(NULL);
	defer_until(x, 900);
	fault("drop b READ_RESP_MIDDLE 101");
	READ(2500, .from = READ_AT);
	WRITE(64, .from = PLACE, .to = 0x1000);
	world_run_until(&w, 200);
	expect("     0.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b x READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 102 len 452\n");
	world_run(&w);
	expect_some("  1000.0 a > READ_REQUEST 101 len 1476 ackreq\n"
		    "  1000.0 a > WRITE_ONLY 103 len 64 ackreq\n");
	expect_same(x, READ_AT, y, 0, 2500);
}
END_TEST

START_TEST(where_an_atomic_lands)
{
	connect_ends(NULL);
	set_word(y, 0, 7);
	defer_until(x, 900);
	ADD(1, .from = PLACE);
	ADD(1, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     0.0 a > FETCH_ADD 101 ackreq\n"
	       "     5.0 b > ATOMIC_ACK 100 orig 7\n"
	       "     5.0 b > ATOMIC_ACK 101 orig 8\n"
	       "    10.0 a   deferred until 1010.0 from 100\n"
	       "  1010.0 a > FETCH_ADD 100 ackreq\n"
	       "  1010.0 a > FETCH_ADD 101 ackreq\n"
	       "  1015.0 b   duplicate FETCH_ADD 100\n"
	       "  1015.0 b   duplicate FETCH_ADD 101\n"
	       "  1015.0 b > ATOMIC_ACK 100 orig 7\n"
	       "  1015.0 b > ATOMIC_ACK 101 orig 8\n"
	       "  1020.0 a   send 1 SUCCESS\n"
	       "  1020.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(word_at(x, PLACE), 7);
	ck_assert_uint_eq(word_at(x, READ_AT), 8);
	ck_assert_uint_eq(word_at(y, 0), 9);
	ck_assert_uint_eq(y->atomics, 2);
}
END_TEST

/* Another connected pair of the same two hosts. */
START_TEST(others_go_on)
{
	struct node_qp_opts opts = world_opts();
	struct end *c, *d;

	connect_ends(NULL);
	world_pair(&w, x, y, &opts, &c, &d);
	defer_until(y, 2000);
	WRITE(64, .to = PLACE);
	POST(c, RDMA_WRITE, 64);
	world_run_until(&w, 100);
	POST(c, RDMA_READ, 64, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 c > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 14\n"
	       "     5.0 d > ACK 100 msn 1\n"
	       "    10.0 a   wait until 1290.0, rewind to 100\n"
	       "    10.0 c   send 1 SUCCESS\n"
	       "   100.0 c > READ_REQUEST 101 len 64 ackreq\n"
	       "   105.0 d > READ_RESP_ONLY 101 len 64\n"
	       "   110.0 c   send 2 SUCCESS\n"
	       "  1290.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "  1295.0 b > RNR_NAK 100 timer 14\n"
	       "  1300.0 a   wait until 2580.0, rewind to 100\n"
	       "  2580.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "  2585.0 b > ACK 100 msn 1\n"
	       "  2590.0 a   send 1 SUCCESS\n");
}
END_TEST

/* UC sends later, and drops a packet whose memory is deferred; the receive serves the next
 * message. */
START_TEST(unreliable)
{
	struct node_qp_opts opts = world_opts();

	opts.type = RXE_QPT_UC;
	connect_ends(&opts);
	defer_until(x, 500);
	defer_until(y, 2000);
	world_recv(&w, b, PLACE, 64);
	SEND(64, .from = PLACE);
	world_run_until(&w, 3000);
	ck_assert_uint_eq(y->counters.rcvd_dropped, 1);
	SEND(64);
	world_run(&w);
	expect("  1000.0 a > SEND_ONLY 100 len 64\n"
	       "  1000.0 a   send 1 SUCCESS\n"
	       "  3000.0 a > SEND_ONLY 101 len 64\n"
	       "  3000.0 a   send 2 SUCCESS\n"
	       "  3005.0 b   recv 1 SUCCESS len 64\n");
	expect_same(x, 0, y, PLACE, 64);
}
END_TEST

START_TEST(datagrams)
{
	struct node_qp_opts opts = world_opts();

	opts.type = RXE_QPT_UD;
	connect_ends(&opts);
	defer_until(x, 500);
	defer_until(y, 2000);
	world_recv(&w, b, PLACE, 104);
	SEND(64, .from = PLACE);
	world_run_until(&w, 3000);
	ck_assert_uint_eq(y->counters.rcvd_dropped, 1);
	SEND(64);
	world_run(&w);
	expect("  1000.0 a > SEND_ONLY 100 len 64\n"
	       "  1000.0 a   send 1 SUCCESS\n"
	       "  3000.0 a > SEND_ONLY 101 len 64\n"
	       "  3000.0 a   send 2 SUCCESS\n"
	       "  3005.0 b   recv 1 SUCCESS len 104\n");
	expect_same(x, 0, y, PLACE + 40, 64);
}
END_TEST

/* A queue pair in ERR drops its deferred access. */
START_TEST(ends_meanwhile)
{
	connect_ends(NULL);
	defer_until(x, 1500);
	WRITE(64, .from = PLACE);
	world_run_until(&w, 700);
	world_modify(&w, a, RXE_QPS_ERR);
	world_run(&w);
	expect("   700.0 a   to ERR\n"
	       "   700.0 a   send 1 WR_FLUSH_ERR\n");
}
END_TEST

/* The ACK of the write may be delayed, but not longer than the response before it is deferred. When
 * the delay ends first, the queue pair is not called again and again. */
START_TEST(a_held_ack_behind_a_read)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 10; /* 4.2 ms */
	connect_ends(&opts);
	defer_until(y, 900);
	b->qp.rc.reply.ack_delay_ns = 20000;
	b->qp.rc.reply.piggybacks = b->qp.rc.reply.threshold;
	READ(64, .to = PLACE, .from = READ_AT);
	WRITE(8);
	world_run_until(&w, 24);
	(void)world_step(&w, 26000); /* the delay ends */
	ck_assert_uint_gt(rxe_engine_deadline(&y->engine), 26000);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 8 ackreq\n"
	       "  1005.0 b > READ_RESP_ONLY 100 len 64\n"
	       "  1005.0 b > ACK 101 msn 2\n"
	       "  1010.0 a   send 1 SUCCESS\n"
	       "  1010.0 a   send 2 SUCCESS\n");
}
END_TEST

RUN_TESTS("deferred", a_write_comes_again, in_the_middle_of_a_write, a_receive, an_atomic, a_read,
	  what_is_to_be_sent, costs_no_retries, behind_others,
	  behind_one_that_the_peer_is_not_ready_for, where_a_read_lands,
	  behind_a_read_that_lost_a_response, where_an_atomic_lands, others_go_on, unreliable,
	  datagrams, ends_meanwhile, a_held_ack_behind_a_read)
