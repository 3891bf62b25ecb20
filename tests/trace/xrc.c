/* SPDX-License-Identifier: MIT */
/* Traces of XRC: a sends (XRC_SEND), b is its target (XRC_RECV), and every request names an SRQ of
 * y (annex A14). */
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
	ck_assert_uint_eq(y->strange_dones, 0);
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

/* A second SRQ of y: other receives, another protection domain, another CQ. */
static uint32_t add_srq(bool is_foreign)
{
	node_add_xsrq(y, 1, NODE_OTHER_PD, NODE_XRCD, is_foreign);
	return y->xsrq[1].srq.srqn;
}

static void recv_from_second(uint64_t wr_id, uint32_t to, uint32_t len)
{
	struct rxe_mr *mr = &y->mrs->entry[y->num_mrs + 1];
	const struct rxe_sge sge = { .addr = y->base + to,
				     .length = len,
				     .lkey = node_reg(y, to, len, RXE_LOCAL_WRITE) };
	const struct rxe_recv_wr wr = { .wr_id = wr_id, .num_sge = 1, .sges = &sge };

	mr->pd = NODE_OTHER_PD;
	ck_assert_int_eq(node_xsrq_recv(y, 1, &wr), POST_OK);
}

/* Each request has the receives and the CQ of the SRQ that it names, whichever was named before. */
START_TEST(an_srq_for_each_request)
{
	uint32_t other;

	connect_xrc();
	other = add_srq(false);
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	world_srq_recv(&w, y, 72, RECV_AT, 64);
	recv_from_second(81, RECV_AT + 0x1000, 64);
	SEND(10);
	SEND(11, .srqn = other);
	SEND(12);
	world_run_until(&w, 4.5);
	y->asleep_until_ns = 6000; /* arrives, and no process polls yet */
	world_run_until(&w, 6);
	world_run(&w);
	expect_some("     6.0 b   recv 71 SUCCESS len 10\n"
		    "     6.0 b   recv 72 SUCCESS len 12\n"
		    "     6.0 b   recv 81 SUCCESS len 11\n");
	ck_assert_uint_eq(y->cq.tail, 2);
	ck_assert_uint_eq(y->xcq.tail, 1);
}
END_TEST

/* A key counts in the domain of the SRQ that is named now, not of one before. */
START_TEST(a_domain_for_each_request)
{
	uint32_t other, key;

	connect_xrc();
	other = add_srq(false);
	key = node_reg(y, 0x1000, 64, RXE_REMOTE_WRITE);
	y->mrs->entry[y->num_mrs].pd = NODE_OTHER_PD;
	WRITE(10, .to = 0x2000);
	WRITE(10, .to = 0x1000, .rkey = key, .srqn = other);
	WRITE(10, .to = 0x1000, .rkey = key);
	world_run(&w);
	expect_some("    10.0 a   send 1 SUCCESS\n"
		    "    10.0 a   send 2 SUCCESS\n"
		    "    10.0 a   send 3 REM_ACCESS_ERR\n");
}
END_TEST

/* All packets of a message name the same one. */
START_TEST(another_srq_half_way)
{
	struct wire_packet last = {
		.bth = { .opcode = opcode_make(WIRE_XRC, OP_SEND_LAST),
			 .psn = 101,
			 .ack_req = true },
		.payload_len = 8,
	};

	connect_xrc();
	last.xrc_srqn = add_srq(false);
	world_srq_recv(&w, y, 71, RECV_AT, 4000);
	recv_from_second(81, RECV_AT + 0x1000, 64);
	fault("drop a SEND_LAST 101");
	SEND(1032);
	world_run_until(&w, 1);
	world_inject(&w, a, &last, y->mem);
	world_run(&w);
	expect_some("     6.0 b > NAK 101 invalid request\n"
		    "     6.0 b   to ERR\n");
}
END_TEST

/* Nor does one that could not land, and comes again with another name, get the receive that the
 * first took. */
START_TEST(another_srq_when_it_comes_again)
{
	struct wire_packet again = {
		.bth = { .opcode = opcode_make(WIRE_XRC, OP_SEND_ONLY),
			 .psn = 100,
			 .ack_req = true },
		.payload_len = 8,
	};

	connect_xrc();
	again.xrc_srqn = add_srq(false);
	y->xsrq[1].srq.pd = NODE_PD;
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	y->deferred_at = y->base + RECV_AT;
	y->deferred_end = y->deferred_at + 64;
	y->deferred_until_ns = 8000;
	SEND(8);
	world_run_until(&w, 6);
	world_inject(&w, a, &again, y->mem);
	world_run(&w);
	expect_some("     5.0 b > RNR_NAK 100 timer 14\n"
		    "    11.0 b > NAK 100 invalid request\n"
		    "    11.0 b   recv 71 WR_FLUSH_ERR\n");
	ck_assert_uint_eq(y->xcq.tail, 0);
}
END_TEST

START_TEST(read_answer_is_lost)
{
	connect_xrc();
	fault("drop b READ_RESP_ONLY 100");
	READ(64, .from = READ_AT);
	world_run(&w);
	expect_some(" a > READ_REQUEST 100 srq 0x20001 len 64 ackreq\n"
		    " b > READ_RESP_ONLY 100 len 64\n"
		    " a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 64);
}
END_TEST

/* Its completion would have nowhere to go. */
/* A duplicate that names an SRQ of another domain, a key that there is not, or an SRQ that was
 * destroyed. */
START_TEST(read_again_that_makes_no_sense)
{
	struct wire_packet again = {
		.bth = { .opcode = opcode_make(WIRE_XRC, OP_READ_REQUEST), .psn = 100 },
	};

	connect_xrc();
	READ(64, .from = READ_AT);
	world_run(&w);
	skip();
	again.reth = (struct reth){ .va = y->base, .rkey = y->key, .len = 64 };
	again.xrc_srqn = add_srq(false);
	y->xsrq[1].srq.pd = NODE_OTHER_PD;
	world_inject(&w, a, &again, NULL);
	again.xrc_srqn = y->srq.srqn + 100;
	world_inject(&w, a, &again, NULL);
	again.xrc_srqn = y->srq.srqn;
	again.reth.rkey = UINT32_MAX;
	world_inject(&w, a, &again, NULL);
	world_run(&w);
	ck_assert_uint_eq(y->counters.duplicate_request, 3);
	ck_assert_uint_eq(y->sent, 1);
	ck_assert_int_eq(b->qp.state, RXE_QPS_RTS);
}
END_TEST

START_TEST(cq_of_the_srq_has_overrun)
{
	connect_xrc();
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	y->cq.overrun = true;
	SEND(10);
	world_run(&w);
	expect_some(" b > NAK 100 remote operational\n"
		    " a   send 1 REM_OP_ERR\n");
}
END_TEST

/* Another process has the SRQ: its receive is asked for, and its completion told. */
START_TEST(srq_of_another_process)
{
	uint32_t other;

	connect_xrc();
	other = add_srq(true);
	recv_from_second(81, RECV_AT, 4000);
	SEND(2100, .srqn = other);
	world_run(&w);
	expect_some("     5.0 b > ACK 102 msn 1\n"
		    "     5.0 b   recv 81 SUCCESS len 2100\n"
		    "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 2100);
}
END_TEST

/* What the host said of an earlier receive does not stick to the queue pair when it is connected
 * again. */
START_TEST(an_injected_error_is_for_one_receive)
{
	struct node_qp_opts opts = xrc(), others = xrc();
	uint32_t other;

	connect_xrc();
	w.trace.quiet = 1;
	other = add_srq(true);
	recv_from_second(81, RECV_AT, 64);
	recv_from_second(82, RECV_AT, 64);
	node_tell(b, true, 1, RXE_WC_GENERAL_ERR);
	SEND(64, .srqn = other);
	world_run(&w);
	world_modify(&w, a, RXE_QPS_RESET);
	world_modify(&w, b, RXE_QPS_RESET);
	others.type = RXE_QPT_XRC_RECV;
	others.psn = 500;
	node_connect(a, b, &opts, others.psn);
	node_connect(b, a, &others, opts.psn);
	w.trace.quiet = 0;
	SEND(65, .srqn = other);
	world_run(&w);
	expect_some(" b   recv 82 LOC_LEN_ERR\n"
		    " a   send 2 REM_INV_REQ_ERR\n");
}
END_TEST

/* ... which does not answer at once when the message is whole: it is told when the peer sends the
 * packet again, and once. */
START_TEST(completed_by_the_duplicate)
{
	uint32_t other;

	connect_xrc();
	other = add_srq(true);
	recv_from_second(81, RECV_AT, 64);
	recv_from_second(82, RECV_AT, 64);
	y->done_deferred_until_ns = 1000000;
	SEND(64, .srqn = other);
	world_run(&w);
	expect_some("     5.0 b > RNR_NAK 100 timer 14\n"
		    "  1295.0 b > ACK 100 msn 1\n"
		    "  1295.0 b   recv 81 SUCCESS len 64\n"
		    "  1300.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(rxe_ring_used(&y->xsrq[1].srq.rq), 1);
}
END_TEST

/* The last ACK is lost: the TIME_WAIT answers for an XRC target are XRC packets. */
START_TEST(destroyed_target)
{
	connect_xrc();
	world_srq_recv(&w, y, 71, RECV_AT, 64);
	fault("drop b ACK 100");
	SEND(64);
	world_run_until(&w, 6);
	node_remove_qp(b);
	world_run(&w);
	expect_some("   267.1 ? > ACK 100 msn 1\n"
		    "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

/* Each has its half only. */
START_TEST(halves)
{
	const struct rxe_recv_wr recv = { .wr_id = 1 };
	struct wire_packet request = {
		.bth = { .opcode = opcode_make(WIRE_XRC, OP_SEND_ONLY), .psn = 500 },
		.payload_len = 8,
	};
	struct wire_packet answer = {
		.bth = { .opcode = opcode_make(WIRE_XRC, OP_ACKNOWLEDGE), .psn = 500 },
	};

	connect_xrc();
	ck_assert_int_eq(rxe_post_recv(&x->engine, &a->qp, &recv, 0), POST_NO_RECV);
	ck_assert_int_eq(rxe_post_recv(&y->engine, &b->qp, &recv, 0), POST_NO_RECV);
	ck_assert_int_eq(POST(b, SEND, 8), POST_BAD_OPCODE);
	ck_assert_int_eq(SEND(8, .srqn = 0x1000000), POST_BAD_AV);
	inject(a, OP_SEND_ONLY, 100, 8); /* of RC */
	world_run(&w);
	ck_assert_uint_eq(y->counters.rcvd_dropped, 1);
	world_inject(&w, b, &request, y->mem);
	world_inject(&w, a, &answer, NULL);
	skip();
	world_run(&w);
	expect("");
	ck_assert_uint_eq(x->counters.rcvd_dropped, 1);
	ck_assert_uint_eq(y->counters.rcvd_dropped, 2);
}
END_TEST

RUN_TESTS("xrc", send, write_read_atomic, write_with_immediate, ack_is_lost, atomic_answer_is_lost,
	  empty_is_rnr, no_such_srq, write_to_an_srq_of_another_domain,
	  key_of_another_protection_domain, srq_goes_in_the_middle, two_targets, target_to_error,
	  an_srq_for_each_request, a_domain_for_each_request, another_srq_half_way,
	  another_srq_when_it_comes_again, read_answer_is_lost, read_again_that_makes_no_sense,
	  cq_of_the_srq_has_overrun, srq_of_another_process, an_injected_error_is_for_one_receive,
	  completed_by_the_duplicate, destroyed_target, halves)
