/* SPDX-License-Identifier: MIT */
/* Traces of XRC: a sends (XRC_SEND), b is its target (XRC_RECV), and every request names an SRQ of y (annex A14). */
#include "tests/trace/fixture.h"

#define SRQN 0x20001u

static struct node_qp_opts xrc(void)
{
	struct node_qp_opts opts = world_opts();

	opts.type = RXE_QPT_XRC_SEND;
	return opts;
}

static void connect_xrc(void)
{
	const struct node_qp_opts opts = xrc();

	connect_ends(&opts);
	ck_assert_uint_eq(y->srq.srqn, SRQN);
}

START_TEST(send)
{
	connect_xrc();
	world_srq_recv(&w, y, 71, RECV_AT, 4000);
	SEND(2100);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 srq 0x20001 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 srq 0x20001 len 1024\n"
	       "     0.0 a > SEND_LAST 102 srq 0x20001 len 52 ackreq\n"
	       "     5.0 b > ACK 102 msn 1\n"
	       "     5.0 b   recv 71 SUCCESS len 2100\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 2100);
}
END_TEST

START_TEST(write_read_atomic)
{
	connect_xrc();
	set_word(y, 0x80000, 40);
	WRITE(1500, .to = 0x1000);
	READ(1500, .to = 0x1000, .from = READ_AT);
	ADD(2, .to = 0x80000, .from = 0x90000);
	SWAP(42, 7, .to = 0x80000, .from = 0x90008);
	world_run(&w);
	expect_some("     0.0 a > WRITE_FIRST 100 srq 0x20001 len 1024\n"
		    "     0.0 a > WRITE_LAST 101 srq 0x20001 len 476 ackreq\n"
		    "     0.0 a > READ_REQUEST 102 srq 0x20001 len 1500 ackreq\n"
		    "     0.0 a > FETCH_ADD 104 srq 0x20001 ackreq\n"
		    "     0.0 a > CMP_SWAP 105 srq 0x20001 ackreq\n"
		    "     5.0 b > READ_RESP_FIRST 102 len 1024\n"
		    "     5.0 b > READ_RESP_LAST 103 len 476\n"
		    "     5.0 b > ATOMIC_ACK 104 orig 40\n"
		    "     5.0 b > ATOMIC_ACK 105 orig 42\n"
		    "    10.0 a   send 1 SUCCESS\n"
		    "    10.0 a   send 2 SUCCESS\n"
		    "    10.0 a   send 3 SUCCESS\n"
		    "    10.0 a   send 4 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 1500);
	expect_same(x, READ_AT, y, 0x1000, 1500);
	ck_assert_uint_eq(word_at(y, 0x80000), 7);
}
END_TEST

START_TEST(write_with_immediate)
{
	connect_xrc();
	world_srq_recv(&w, y, 71, RECV_AT, 0);
	POST(a, RDMA_WRITE_WITH_IMM, 64, .imm = 0x1234, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY_IMM 100 srq 0x20001 len 64 imm 0x1234 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 71 SUCCESS len 64 imm 0x1234\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

/* The duplicate is acknowledged, and spends no receive. */
START_TEST(ack_is_lost)
{
	connect_xrc();
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	world_srq_recv(&w, y, 72, RECV_AT, 64);
	fault("drop b ACK 100");
	SEND(64);
	world_run(&w);
	expect_some("     5.0 b x ACK 100 msn 1\n"
		    "     5.0 b   recv 71 SUCCESS len 64\n"
		    " a   timeout, 6 left, rewind to 100\n"
		    " a > SEND_ONLY 100 srq 0x20001 len 64 ackreq\n"
		    " b > ACK 100 msn 1\n"
		    " a   send 1 SUCCESS\n");
	ck_assert_uint_eq(rxe_ring_used(&y->srq.rq), 1);
}
END_TEST

/* An atomic's duplicate is answered from memory. */
START_TEST(atomic_answer_is_lost)
{
	connect_xrc();
	set_word(y, 0x80000, 40);
	fault("drop b ATOMIC_ACK 100");
	ADD(2, .to = 0x80000, .from = 0x90000);
	world_run(&w);
	expect_some(" b x ATOMIC_ACK 100 orig 40\n"
		    " a > FETCH_ADD 100 srq 0x20001 ackreq\n"
		    " b > ATOMIC_ACK 100 orig 40\n"
		    " a   send 1 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0x80000), 42);
}
END_TEST

START_TEST(empty_is_rnr)
{
	connect_xrc();
	SEND(10);
	world_run_until(&w, 12);
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 srq 0x20001 len 10 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    20.0 a > SEND_ONLY 100 srq 0x20001 len 10 ackreq\n"
	       "    25.0 b > ACK 100 msn 1\n"
	       "    25.0 b   recv 71 SUCCESS len 10\n"
	       "    30.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(no_such_srq)
{
	connect_xrc();
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	SEND(10, .srqn = SRQN + 1);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 srq 0x20002 len 10 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "     5.0 b   event QP_LAST_WQE_REACHED\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
	ck_assert_uint_eq(rxe_ring_used(&y->srq.rq), 1);
}
END_TEST

/* Also a write, which spends no receive: its key is one of the SRQ's domain. */
START_TEST(write_to_an_srq_of_another_domain)
{
	connect_xrc();
	y->srq.xrcd = NODE_XRCD + 1;
	WRITE(10, .to = 0x1000);
	world_run(&w);
	expect_some("     5.0 b > NAK 100 invalid request\n"
		    "     5.0 b   to ERR\n"
		    "    10.0 a   send 1 REM_INV_REQ_ERR\n");
	ck_assert(node_is_untouched(y, 0x1000, 10));
}
END_TEST

START_TEST(key_of_another_protection_domain)
{
	connect_xrc();
	y->srq.pd++;
	WRITE(10, .to = 0x1000);
	world_run(&w);
	expect_some("     5.0 b > NAK 100 remote access\n"
		    "     5.0 b   event QP_ACCESS_ERR\n"
		    "    10.0 a   send 1 REM_ACCESS_ERR\n");
	ck_assert(node_is_untouched(y, 0x1000, 10));
}
END_TEST

/* What it had taken of the SRQ goes with it; the message is refused. */
START_TEST(srq_goes_in_the_middle)
{
	connect_xrc();
	world_srq_recv(&w, y, 71, RECV_AT, 4000);
	fault("delay a SEND_LAST 101 20");
	SEND(2000);
	world_run_until(&w, 10);
	rxe_srq_fini(&y->engine, &y->srq);
	world_run(&w);
	expect_some("    25.0 b > NAK 101 invalid request\n"
		    "    25.0 b   to ERR\n"
		    "    30.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

/* Two targets, one SRQ: each completion names the queue pair that it came by. */
START_TEST(two_targets)
{
	const struct node_qp_opts opts = xrc();
	struct end *c, *d;

	connect_xrc();
	world_pair(&w, x, y, &opts, &c, &d);
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	world_srq_recv(&w, y, 72, RECV_AT + 64, 64);
	SEND(10);
	POST(c, SEND, 11);
	world_run(&w);
	expect_some("     5.0 b   recv 71 SUCCESS len 10\n"
		    "     5.0 d   recv 72 SUCCESS len 11\n");
}
END_TEST

/* In error it flushes the receive that it holds, and no other. */
START_TEST(target_to_error)
{
	connect_xrc();
	world_srq_recv(&w, y, 71, RECV_AT, 4000);
	world_srq_recv(&w, y, 72, RECV_AT, 4000);
	fault("drop a SEND_LAST 101");
	SEND(2000);
	world_run_until(&w, 6);
	world_modify(&w, b, RXE_QPS_ERR);
	world_run_until(&w, 7);
	expect_some("     6.0 b   to ERR\n"
		    "     6.0 b   recv 71 WR_FLUSH_ERR\n"
		    "     6.0 b   event QP_LAST_WQE_REACHED\n");
	ck_assert_uint_eq(rxe_ring_used(&y->srq.rq), 1);
}
END_TEST

/* Each has its half only. */
START_TEST(halves)
{
	const struct rxe_recv_wr recv = { .wr_id = 1 };

	connect_xrc();
	ck_assert_int_eq(rxe_post_recv(&x->engine, &a->qp, &recv, 0), POST_NO_RECV);
	ck_assert_int_eq(rxe_post_recv(&y->engine, &b->qp, &recv, 0), POST_NO_RECV);
	ck_assert_int_eq(POST(b, SEND, 8), POST_BAD_OPCODE);
	ck_assert_int_eq(SEND(8, .srqn = 0x1000000), POST_BAD_AV);
	inject(a, OP_SEND_ONLY, 100, 8); /* of RC */
	world_run(&w);
	ck_assert_uint_eq(y->counters.rcvd_dropped, 1);
}
END_TEST

RUN_TESTS("xrc", send, write_read_atomic, write_with_immediate, ack_is_lost, atomic_answer_is_lost,
	  empty_is_rnr, no_such_srq, write_to_an_srq_of_another_domain,
	  key_of_another_protection_domain, srq_goes_in_the_middle, two_targets, target_to_error,
	  halves)
