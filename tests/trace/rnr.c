/* SPDX-License-Identifier: MIT */
/* Traces of receivers that are not ready. */
#include "tests/trace/fixture.h"

START_TEST(receive_is_posted_later)
{
	connect_ends(NULL);
	SEND(64);
	world_run_until(&w, 25);
	RECV(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    20.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    25.0 b > RNR_NAK 100 timer 1\n"
	       "    30.0 a   wait until 40.0, rewind to 100\n"
	       "    40.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    45.0 b > ACK 100 msn 1\n"
	       "    45.0 b   recv 1 SUCCESS len 64\n"
	       "    50.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(budget_used_up)
{
	struct node_qp_opts opts = world_opts();

	opts.rnr_retry = 2;
	connect_ends(&opts);
	SEND(64);
	SEND(65);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 65 ackreq\n"
	       "     5.0 b   early SEND_ONLY 101\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    20.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    25.0 b > RNR_NAK 100 timer 1\n"
	       "    30.0 a   wait until 40.0, rewind to 100\n"
	       "    40.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    45.0 b > RNR_NAK 100 timer 1\n"
	       "    50.0 a   to ERR\n"
	       "    50.0 a   send 1 RNR_RETRY_EXC_ERR\n"
	       "    50.0 a   send 2 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(no_budget_at_all)
{
	struct node_qp_opts opts = world_opts();

	opts.rnr_retry = 0;
	connect_ends(&opts);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 RNR_RETRY_EXC_ERR\n");
}
END_TEST

START_TEST(seven_is_forever)
{
	struct node_qp_opts opts = world_opts();

	opts.rnr_timer = 31;
	connect_ends(&opts);
	SEND(64);
	world_run_until(&w, 20e6);
	skip();
	RECV(64);
	world_run(&w);
	expect("20152730.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "20152735.0 b > ACK 100 msn 1\n"
	       "20152735.0 b   recv 1 SUCCESS len 64\n"
	       "20152740.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(code_0_is_the_longest)
{
	struct node_qp_opts opts = world_opts();

	opts.rnr_timer = 0;
	connect_ends(&opts);
	SEND(64);
	world_run_until(&w, 400000);
	RECV(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 0\n"
	       "    10.0 a   wait until 655370.0, rewind to 100\n"
	       "655370.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "655375.0 b > ACK 100 msn 1\n"
	       "655375.0 b   recv 1 SUCCESS len 64\n"
	       "655380.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(a_long_message_waits_at_its_first_packet)
{
	connect_ends(NULL);
	SEND(2500);
	world_run_until(&w, 18);
	RECV(4000);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_LAST 102 len 452 ackreq\n"
	       "     5.0 b   early SEND_MIDDLE 101\n"
	       "     5.0 b   early SEND_LAST 102\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    20.0 a > SEND_FIRST 100 len 1024 ackreq\n"
	       "    25.0 b > ACK 100 msn 0\n"
	       "    30.0 a > SEND_MIDDLE 101 len 1024\n"
	       "    30.0 a > SEND_LAST 102 len 452 ackreq\n"
	       "    35.0 b > ACK 102 msn 1\n"
	       "    35.0 b   recv 1 SUCCESS len 2500\n"
	       "    40.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 2500);
}
END_TEST

START_TEST(a_write_with_immediate_waits_at_its_last)
{
	connect_ends(NULL);
	POST(a, RDMA_WRITE_WITH_IMM, 2500, .imm = 9);
	world_run_until(&w, 18);
	RECV(0);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_LAST_IMM 102 len 452 imm 0x9 ackreq\n"
	       "     5.0 b > RNR_NAK 102 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 102\n"
	       "    20.0 a > WRITE_LAST_IMM 102 len 452 imm 0x9 ackreq\n"
	       "    25.0 b > ACK 102 msn 1\n"
	       "    25.0 b   recv 1 SUCCESS len 2500 imm 0x9\n"
	       "    30.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(those_behind_wait_too)
{
	connect_ends(NULL);
	RECV(64);
	SEND(10);
	SEND(11);
	SEND(12);
	world_run_until(&w, 17);
	RECV(64);
	RECV(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 11 ackreq\n"
	       "     0.0 a > SEND_ONLY 102 len 12 ackreq\n"
	       "     5.0 b   early SEND_ONLY 102\n"
	       "     5.0 b > RNR_NAK 101 timer 1\n"
	       "     5.0 b   recv 1 SUCCESS len 10\n"
	       "    10.0 a   wait until 20.0, rewind to 101\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    20.0 a > SEND_ONLY 101 len 11 ackreq\n"
	       "    25.0 b > ACK 101 msn 2\n"
	       "    25.0 b   recv 2 SUCCESS len 11\n"
	       "    30.0 a > SEND_ONLY 102 len 12 ackreq\n"
	       "    30.0 a   send 2 SUCCESS\n"
	       "    35.0 b > ACK 102 msn 3\n"
	       "    35.0 b   recv 3 SUCCESS len 12\n"
	       "    40.0 a   send 3 SUCCESS\n");
}
END_TEST

START_TEST(budget_comes_back_with_progress)
{
	struct node_qp_opts opts = world_opts();

	opts.rnr_retry = 1;
	connect_ends(&opts);
	SEND(10);
	SEND(11);
	world_run_until(&w, 16);
	RECV(64);
	world_run_until(&w, 40);
	RECV(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 11 ackreq\n"
	       "     5.0 b   early SEND_ONLY 101\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    20.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "    25.0 b > ACK 100 msn 1\n"
	       "    25.0 b   recv 1 SUCCESS len 10\n"
	       "    30.0 a > SEND_ONLY 101 len 11 ackreq\n"
	       "    30.0 a   send 1 SUCCESS\n"
	       "    35.0 b > RNR_NAK 101 timer 1\n"
	       "    40.0 a   wait until 50.0, rewind to 101\n"
	       "    50.0 a > SEND_ONLY 101 len 11 ackreq\n"
	       "    55.0 b > ACK 101 msn 2\n"
	       "    55.0 b   recv 2 SUCCESS len 11\n"
	       "    60.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(nak_lost)
{
	connect_ends(NULL);
	fault("drop b RNR_NAK 100");
	SEND(64);
	world_run_until(&w, 100);
	RECV(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b x RNR_NAK 100 timer 1\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > SEND_ONLY 100 len 64 ackreq\n"
	       "   267.1 b > ACK 100 msn 1\n"
	       "   267.1 b   recv 1 SUCCESS len 64\n"
	       "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

/* Sends the same packet four times before the first RNR NAK comes: three probes. The NAKs of the
 * four copies come 20 us apart, the back-off is 10 us. Those of what is sent between them are
 * lost. */
static void naks_come_late(void)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 10; /* 4.2 ms */
	opts.rnr_retry = 1;
	x->engine.cfg.probe_ns = 50000;
	connect_ends(&opts);
	fault("delay b RNR_NAK 100 395");
	fault("delay b RNR_NAK 100 365");
	fault("delay b RNR_NAK 100 285");
	fault("delay b RNR_NAK 100 105");
	fault("drop b RNR_NAK 100 x3");
	SEND(64);
	world_run_until(&w, 470);
	expect_some("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
		    "    50.0 a   probe of psn 100\n"
		    "   150.0 a   probe of psn 100\n"
		    "   350.0 a   probe of psn 100\n"
		    "   405.0 a   wait until 415.0, rewind to 100\n"
		    "   415.0 a > SEND_ONLY 100 len 64 ackreq\n"
		    "   425.0 a   wait until 435.0, rewind to 100\n"
		    "   445.0 a   wait until 455.0, rewind to 100\n"
		    "   465.0 a   wait until 475.0, rewind to 100\n");
}

/* They spend one retry. */
START_TEST(naks_of_one_request_sent_again)
{
	naks_come_late();
	RECV(64);
	world_run(&w);
	expect("   475.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "   480.0 b > ACK 100 msn 1\n"
	       "   480.0 b   recv 1 SUCCESS len 64\n"
	       "   485.0 a   send 1 SUCCESS\n");
}
END_TEST

/* The NAK of what was sent after the back-off spends the next. */
START_TEST(nak_after_the_late_ones)
{
	naks_come_late();
	world_run(&w);
	expect("   475.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "   480.0 b > RNR_NAK 100 timer 1\n"
	       "   485.0 a   to ERR\n"
	       "   485.0 a   send 1 RNR_RETRY_EXC_ERR\n");
}
END_TEST

/* A probe is received while the requester backs off for 655 ms: nothing is left to wait for. */
START_TEST(progress_ends_the_back_off)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 10; /* 4.2 ms */
	opts.rnr_timer = 0;
	x->engine.cfg.probe_ns = 50000;
	connect_ends(&opts);
	fault("delay b RNR_NAK 100 49");
	SEND(64);
	world_run_until(&w, 20);
	RECV(64);
	RECV(64);
	world_run_until(&w, 59);
	SEND(63);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b l RNR_NAK 100 timer 0\n"
	       "    50.0 a   probe of psn 100\n"
	       "    50.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    55.0 b > ACK 100 msn 1\n"
	       "    55.0 b   recv 1 SUCCESS len 64\n"
	       "    59.0 a   wait until 655419.0, rewind to 100\n"
	       "    60.0 a > SEND_ONLY 101 len 63 ackreq\n"
	       "    60.0 a   send 1 SUCCESS\n"
	       "    65.0 b > ACK 101 msn 2\n"
	       "    65.0 b   recv 2 SUCCESS len 63\n"
	       "    70.0 a   send 2 SUCCESS\n");
}
END_TEST

/* A receiver that is not ready for long drops all that follows the request: the window leaves once,
 * then the oldest packet alone, and everything once that is acknowledged. */
START_TEST(a_window_is_not_sent_again_while_nothing_is_ready)
{
	connect_ends(NULL);
	for (uint32_t i = 0; i < 100; i++)
		SEND(64);
	world_run_until(&w, 1000);
	ck_assert_uint_ge(x->counters.rcvd_rnr_err, 40);
	ck_assert_uint_le(y->counters.out_of_seq_request, 99);
	for (uint32_t i = 0; i < 100; i++)
		RECV(64);
	world_run(&w);
	ck_assert_uint_eq(y->counters.rdma_recvs, 100);
	ck_assert_uint_le(x->counters.sent_pkts, 100 + x->counters.rcvd_rnr_err + 100);
}
END_TEST

RUN_TESTS("rnr", receive_is_posted_later, budget_used_up, no_budget_at_all, seven_is_forever,
	  code_0_is_the_longest, a_long_message_waits_at_its_first_packet,
	  a_write_with_immediate_waits_at_its_last, those_behind_wait_too,
	  budget_comes_back_with_progress, nak_lost, naks_of_one_request_sent_again,
	  nak_after_the_late_ones, progress_ends_the_back_off,
	  a_window_is_not_sent_again_while_nothing_is_ready)
