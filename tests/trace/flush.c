/* SPDX-License-Identifier: MIT */
/* Traces of flushed queues. */
#include "tests/trace/fixture.h"

START_TEST(program_moves_to_err)
{
	connect_ends(NULL);
	RECV(64);
	RECV(64);
	fault("drop a * * x99");
	WRITE(64, .quiet = true);
	SEND(64);
	world_run_until(&w, 3);
	world_modify(&w, a, RXE_QPS_ERR);
	world_modify(&w, b, RXE_QPS_ERR);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a x SEND_ONLY 101 len 64 ackreq\n"
	       "     3.0 a   to ERR\n"
	       "     3.0 b   to ERR\n"
	       "     3.0 a   send 1 WR_FLUSH_ERR\n"
	       "     3.0 a   send 2 WR_FLUSH_ERR\n"
	       "     3.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     3.0 b   recv 2 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(posted_to_err)
{
	connect_ends(NULL);
	world_modify(&w, a, RXE_QPS_ERR);
	world_modify(&w, b, RXE_QPS_ERR);
	SEND(64, .quiet = true);
	RECV(64);
	world_run(&w);
	expect("     0.0 a   to ERR\n"
	       "     0.0 b   to ERR\n"
	       "     0.0 a   send 1 WR_FLUSH_ERR\n"
	       "     0.0 b   recv 1 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(in_the_middle_of_a_message)
{
	connect_ends(NULL);
	RECV(4000);
	RECV(4000);
	fault("drop a SEND_LAST 102");
	SEND(2500);
	world_run_until(&w, 7);
	world_modify(&w, b, RXE_QPS_ERR);
	world_run_until(&w, 300);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a x SEND_LAST 102 len 452 ackreq\n"
	       "     7.0 b   to ERR\n"
	       "     7.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     7.0 b   recv 2 WR_FLUSH_ERR\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > SEND_FIRST 100 len 1024\n"
	       "   262.1 a > SEND_MIDDLE 101 len 1024\n"
	       "   262.1 a > SEND_LAST 102 len 452 ackreq\n");
}
END_TEST

START_TEST(answers_to_the_dead_are_not_taken)
{
	connect_ends(NULL);
	WRITE(64);
	world_run_until(&w, 7);
	world_modify(&w, a, RXE_QPS_ERR);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     7.0 a   to ERR\n"
	       "     7.0 a   send 1 WR_FLUSH_ERR\n");
	ck_assert_uint_eq(x->counters.rcvd_dropped, 1);
}
END_TEST

START_TEST(reset_leaves_nothing)
{
	connect_ends(NULL);
	RECV(64);
	SEND(64);
	SEND(64);
	world_modify(&w, a, RXE_QPS_RESET);
	world_run(&w);
	expect("");
	ck_assert_uint_eq(rxe_engine_deadline(&x->engine), UINT64_MAX);
}
END_TEST

RUN_TESTS("flush", program_moves_to_err, posted_to_err, in_the_middle_of_a_message,
	  answers_to_the_dead_are_not_taken, reset_leaves_nothing)
