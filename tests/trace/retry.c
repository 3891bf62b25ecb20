/* SPDX-License-Identifier: MIT */
/* Traces of the local ACK timeout and its budget. */
#include "tests/trace/fixture.h"

START_TEST(exhausted)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 2;
	connect_ends(&opts);
	fault("drop a * * x99");
	RECV(64);
	SEND(64);
	SEND(65);
	world_run(&w);
	expect("     0.0 a x SEND_ONLY 100 len 64 ackreq\n"
	       "     0.0 a x SEND_ONLY 101 len 65 ackreq\n"
	       "   262.1 a   timeout, 1 left, rewind to 100\n"
	       "   262.1 a x SEND_ONLY 100 len 64 ackreq\n"
	       "   262.1 a x SEND_ONLY 101 len 65 ackreq\n"
	       "   524.3 a   timeout, 0 left, rewind to 100\n"
	       "   524.3 a x SEND_ONLY 100 len 64 ackreq\n"
	       "   524.3 a x SEND_ONLY 101 len 65 ackreq\n"
	       "   786.4 a   to ERR\n"
	       "   786.4 a   send 1 RETRY_EXC_ERR\n"
	       "   786.4 a   send 2 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(no_retries)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 0;
	connect_ends(&opts);
	fault("drop a * * x99");
	WRITE(64);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "   262.1 a   to ERR\n"
	       "   262.1 a   send 1 RETRY_EXC_ERR\n");
}
END_TEST

START_TEST(timeout_0_waits_forever)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 0;
	connect_ends(&opts);
	fault("drop a WRITE_ONLY 100");
	WRITE(64);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n");
	ck_assert_uint_eq(rxe_engine_deadline(&x->engine), UINT64_MAX);
	/* The NAK of a later request shows the loss. */
	WRITE(65);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "     5.0 b   early WRITE_ONLY 101\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "    10.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "    15.0 b > ACK 101 msn 2\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(budget_comes_back_with_progress)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 1;
	connect_ends(&opts);
	fault("drop a WRITE_ONLY 100");
	fault("drop a WRITE_ONLY 101");
	WRITE(64);
	world_run(&w);
	WRITE(65);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "   262.1 a   timeout, 0 left, rewind to 100\n"
	       "   262.1 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   267.1 b > ACK 100 msn 1\n"
	       "   272.1 a   send 1 SUCCESS\n"
	       "   524.3 a x WRITE_ONLY 101 len 65 ackreq\n"
	       "   786.4 a   timeout, 0 left, rewind to 101\n"
	       "   786.4 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "   791.4 b > ACK 101 msn 2\n"
	       "   796.4 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(timer_starts_again_with_progress)
{
	connect_ends(NULL);
	fault("drop a WRITE_ONLY 101 x2");
	WRITE(64);
	world_run_until(&w, 2);
	WRITE(65);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     2.0 a x WRITE_ONLY 101 len 65 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "   272.1 a   timeout, 6 left, rewind to 101\n"
	       "   272.1 a x WRITE_ONLY 101 len 65 ackreq\n"
	       "   534.3 a   timeout, 5 left, rewind to 101\n"
	       "   534.3 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "   539.3 b > ACK 101 msn 2\n"
	       "   544.3 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(naks_spend_it_too)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 1;
	opts.timeout = 0;
	connect_ends(&opts);
	fault("drop a WRITE_FIRST 100 x9");
	WRITE(2500);
	world_run(&w);
	expect("     0.0 a x WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 101\n"
	       "     5.0 b   early WRITE_LAST 102\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a x WRITE_FIRST 100 len 1024\n"
	       "    10.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "    10.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "    15.0 b   early WRITE_MIDDLE 101\n"
	       "    15.0 b   early WRITE_LAST 102\n"
	       "    15.0 b > NAK 100 sequence\n"
	       "    20.0 a   to ERR\n"
	       "    20.0 a   send 1 RETRY_EXC_ERR\n");
}
END_TEST

RUN_TESTS("retry", exhausted, no_retries, timeout_0_waits_forever, budget_comes_back_with_progress,
	  timer_starts_again_with_progress, naks_spend_it_too)
