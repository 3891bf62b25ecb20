/* SPDX-License-Identifier: MIT */
/* Traces of shared receive queues. */
#include "tests/trace/fixture.h"

START_TEST(two_qps_draw_from_one)
{
	struct end *c, *d;
	struct node_qp_opts opts = world_opts();

	opts.use_srq = true;
	connect_ends(&opts);
	world_pair(&w, x, y, &opts, &c, &d);
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	world_srq_recv(&w, y, 72, RECV_AT + 64, 64);
	SEND(10);
	POST(c, SEND, 11);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "     0.0 c > SEND_ONLY 100 len 11 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 d > ACK 100 msn 1\n"
	       "     5.0 b   recv 71 SUCCESS len 10\n"
	       "     5.0 d   recv 72 SUCCESS len 11\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 c   send 1 SUCCESS\n");
}
END_TEST

START_TEST(messages_interleave)
{
	struct end *c, *d;
	struct node_qp_opts opts = world_opts();

	opts.use_srq = true;
	connect_ends(&opts);
	world_pair(&w, x, y, &opts, &c, &d);
	world_srq_recv(&w, y, 71, RECV_AT, 4000);
	world_srq_recv(&w, y, 72, RECV_AT + 4000, 4000);
	fault("delay a SEND_LAST 102 4");
	fault("delay c SEND_LAST 102 3");
	SEND(2500);
	POST(c, SEND, 2400, .from = 0x8000);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a l SEND_LAST 102 len 452 ackreq\n"
	       "     0.0 c > SEND_FIRST 100 len 1024\n"
	       "     0.0 c > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 c l SEND_LAST 102 len 352 ackreq\n"
	       "     8.0 d > ACK 102 msn 1\n"
	       "     8.0 d   recv 72 SUCCESS len 2400\n"
	       "     9.0 b > ACK 102 msn 1\n"
	       "     9.0 b   recv 71 SUCCESS len 2500\n"
	       "    13.0 c   send 1 SUCCESS\n"
	       "    14.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 2500);
	expect_same(x, 0x8000, y, RECV_AT + 4000, 2400);
}
END_TEST

START_TEST(empty_is_rnr)
{
	struct node_qp_opts opts = world_opts();

	opts.use_srq = true;
	connect_ends(&opts);
	SEND(10);
	world_run_until(&w, 12);
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    20.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "    25.0 b > ACK 100 msn 1\n"
	       "    25.0 b   recv 71 SUCCESS len 10\n"
	       "    30.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(limit)
{
	struct node_qp_opts opts = world_opts();

	opts.use_srq = true;
	connect_ends(&opts);
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	world_srq_recv(&w, y, 72, RECV_AT, 64);
	rxe_srq_arm(&y->engine, &y->srq, 1);
	SEND(10);
	SEND(11);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 11 ackreq\n"
	       "     5.0 *   event SRQ_LIMIT_REACHED\n"
	       "     5.0 b > ACK 101 msn 2\n"
	       "     5.0 b   recv 71 SUCCESS len 10\n"
	       "     5.0 b   recv 72 SUCCESS len 11\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(error_takes_only_its_own)
{
	struct node_qp_opts opts = world_opts();

	opts.use_srq = true;
	connect_ends(&opts);
	world_srq_recv(&w, y, 71, RECV_AT, 4000);
	world_srq_recv(&w, y, 72, RECV_AT, 64);
	fault("drop a SEND_LAST 101");
	SEND(2000);
	world_run_until(&w, 6);
	world_modify(&w, b, RXE_QPS_ERR);
	world_run_until(&w, 7);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a x SEND_LAST 101 len 976 ackreq\n"
	       "     6.0 b   to ERR\n"
	       "     6.0 b   recv 71 WR_FLUSH_ERR\n"
	       "     6.0 b   event QP_LAST_WQE_REACHED\n");
	ck_assert_uint_eq(rxe_ring_used(&y->srq.rq), 1);
}
END_TEST

RUN_TESTS("srq", two_qps_draw_from_one, messages_interleave, empty_is_rnr, limit,
	  error_takes_only_its_own)
