/* SPDX-License-Identifier: MIT */
/* Traces of injected errors (rxe_host_ops.completing): a completion that would have been success
 * fails its QP as an error of its own does. */
#include "tests/trace/fixture.h"

START_TEST(second_send)
{
	connect_ends(NULL);
	node_tell(a, false, 2, RXE_WC_REM_ACCESS_ERR);
	WRITE(64);
	WRITE(64);
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 102 len 64 ackreq\n"
	       "     5.0 b > ACK 102 msn 3\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 REM_ACCESS_ERR\n"
	       "    10.0 a   send 3 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(only_what_completes_counts)
{
	connect_ends(NULL);
	node_tell(a, false, 2, RXE_WC_RETRY_EXC_ERR);
	WRITE(64);
	WRITE(64, .quiet = true);
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 102 len 64 ackreq\n"
	       "     5.0 b > ACK 102 msn 3\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 3 RETRY_EXC_ERR\n");
}
END_TEST

START_TEST(one_ack_for_several)
{
	/* The ACK acknowledges more than the request that fails: the rest is flushed, though the
	 * peer has executed it. */
	connect_ends(NULL);
	node_tell(a, false, 1, RXE_WC_GENERAL_ERR);
	WRITE(3000);
	WRITE(64);
	READ(64, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_LAST 102 len 952 ackreq\n"
	       "     0.0 a > WRITE_ONLY 103 len 64 ackreq\n"
	       "     0.0 a > READ_REQUEST 104 len 64 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 104 len 64\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 GENERAL_ERR\n"
	       "    10.0 a   send 2 WR_FLUSH_ERR\n"
	       "    10.0 a   send 3 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(a_read)
{
	connect_ends(NULL);
	node_tell(a, false, 1, RXE_WC_LOC_PROT_ERR);
	READ(3000, .from = READ_AT);
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 3000 ackreq\n"
	       "     0.0 a > WRITE_ONLY 103 len 64 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 102 len 952\n"
	       "     5.0 b > ACK 103 msn 2\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 LOC_PROT_ERR\n"
	       "    10.0 a   send 2 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(an_answer_behind_it)
{
	/* A NAK that also acknowledges the request that fails is ignored by the QP in ERR. */
	connect_ends(NULL);
	node_tell(a, false, 1, RXE_WC_BAD_RESP_ERR);
	WRITE(64);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 64 ackreq\n"
	       "     5.0 b > RNR_NAK 101 timer 1\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 BAD_RESP_ERR\n"
	       "    10.0 a   send 2 WR_FLUSH_ERR\n");
	ck_assert_uint_eq(x->counters.rcvd_rnr_err, 0);
}
END_TEST

START_TEST(a_receive)
{
	connect_ends(NULL);
	node_tell(b, true, 2, RXE_WC_LOC_LEN_ERR);
	RECV(64);
	RECV(64);
	RECV(64);
	SEND(64);
	SEND(64);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 64 ackreq\n"
	       "     0.0 a > SEND_ONLY 102 len 64 ackreq\n"
	       "     5.0 b > NAK 101 remote operational\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "     5.0 b   recv 2 LOC_LEN_ERR\n"
	       "     5.0 b   recv 3 WR_FLUSH_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 REM_OP_ERR\n"
	       "    10.0 a   send 3 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(a_receive_of_an_srq)
{
	struct node_qp_opts opts = world_opts();

	opts.use_srq = true;
	connect_ends(&opts);
	node_tell(b, true, 1, RXE_WC_LOC_PROT_ERR);
	world_srq_recv(&w, y, 1, RECV_AT, 64);
	world_srq_recv(&w, y, 2, RECV_AT, 64);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > NAK 100 remote operational\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 LOC_PROT_ERR\n"
	       "     5.0 b   event QP_LAST_WQE_REACHED\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_OP_ERR\n"
	       "    10.0 a   event QP_LAST_WQE_REACHED\n");
}
END_TEST

START_TEST(an_immediate)
{
	connect_ends(NULL);
	node_tell(b, true, 1, RXE_WC_FATAL_ERR);
	RECV(0);
	POST(a, RDMA_WRITE_WITH_IMM, 64, .imm = 7);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY_IMM 100 len 64 imm 0x7 ackreq\n"
	       "     5.0 b > NAK 100 remote operational\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 FATAL_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_OP_ERR\n");
}
END_TEST

START_TEST(unreliable)
{
	/* UC: a failed send leaves the receiving half alive; a failed receive does not. */
	struct node_qp_opts opts = world_opts();

	opts.type = RXE_QPT_UC;
	connect_ends(&opts);
	node_tell(a, false, 1, RXE_WC_GENERAL_ERR);
	node_tell(b, true, 1, RXE_WC_LOC_PROT_ERR);
	RECV(64);
	RECV(64);
	SEND(64);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64\n"
	       "     0.0 a   send 1 GENERAL_ERR\n"
	       "     0.0 a   send 2 WR_FLUSH_ERR\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 LOC_PROT_ERR\n"
	       "     5.0 b   recv 2 WR_FLUSH_ERR\n");
	ck_assert_int_eq(a->qp.state, RXE_QPS_SQE);
	ck_assert_int_eq(b->qp.state, RXE_QPS_ERR);
}
END_TEST

RUN_TESTS("injected", second_send, only_what_completes_counts, one_ack_for_several, a_read,
	  an_answer_behind_it, a_receive, a_receive_of_an_srq, an_immediate, unreliable)
