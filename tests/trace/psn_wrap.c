/* SPDX-License-Identifier: MIT */
/* Traces of PSNs that wrap around 2^24. */
#include "tests/trace/fixture.h"

START_TEST(send)
{
	struct node_qp_opts opts = world_opts();

	opts.psn = 0xfffffe;
	connect_ends(&opts);
	RECV(8000);
	SEND(5000);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 16777214 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 16777215 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 0 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 1 len 1024\n"
	       "     0.0 a > SEND_LAST 2 len 904 ackreq\n"
	       "     5.0 b > ACK 2 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 5000\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 5000);
}
END_TEST

START_TEST(read)
{
	struct node_qp_opts opts = world_opts();

	opts.psn = 0xffffff;
	connect_ends(&opts);
	READ(3000, .from = READ_AT);
	READ(10, .from = READ_AT + 4000);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 16777215 len 3000 ackreq\n"
	       "     0.0 a > READ_REQUEST 2 len 10 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 16777215 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 0 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 1 len 952\n"
	       "     5.0 b > READ_RESP_ONLY 2 len 10\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 3000);
}
END_TEST

START_TEST(loss_before_and_behind)
{
	struct node_qp_opts opts = world_opts();

	opts.psn = 0xfffffe;
	connect_ends(&opts);
	fault("drop a WRITE_MIDDLE 16777215");
	fault("drop a WRITE_MIDDLE 1");
	WRITE(5000, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 16777214 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 16777215 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 0 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 1 len 1024\n"
	       "     0.0 a > WRITE_LAST 2 len 904 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 0\n"
	       "     5.0 b   early WRITE_LAST 2\n"
	       "     5.0 b > NAK 16777215 sequence\n"
	       "    10.0 a   rewind to 16777215\n"
	       "    10.0 a > WRITE_MIDDLE 16777215 len 1024\n"
	       "    10.0 a > WRITE_MIDDLE 0 len 1024\n"
	       "    10.0 a > WRITE_MIDDLE 1 len 1024\n"
	       "    10.0 a > WRITE_LAST 2 len 904 ackreq\n"
	       "    15.0 b > ACK 2 msn 1\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 5000);
}
END_TEST

START_TEST(read_response_lost)
{
	struct node_qp_opts opts = world_opts();

	opts.psn = 0xfffffe;
	connect_ends(&opts);
	fault("drop b READ_RESP_MIDDLE 16777215");
	READ(4000, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 16777214 len 4000 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 16777214 len 1024\n"
	       "     5.0 b x READ_RESP_MIDDLE 16777215 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 0 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 1 len 928\n"
	       "    10.0 a   rewind to 16777215\n"
	       "    10.0 a > READ_REQUEST 16777215 len 2976 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 16777215\n"
	       "    15.0 b > READ_RESP_FIRST 16777215 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 0 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 1 len 928\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 4000);
}
END_TEST

START_TEST(atomic_answered_again)
{
	struct node_qp_opts opts = world_opts();

	opts.psn = 0xffffff;
	connect_ends(&opts);
	fault("drop b ATOMIC_ACK 16777215");
	set_word(y, 0, 3);
	ADD(1, .from = READ_AT);
	ADD(1, .from = READ_AT + 8);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 16777215 ackreq\n"
	       "     0.0 a > FETCH_ADD 0 ackreq\n"
	       "     5.0 b x ATOMIC_ACK 16777215 orig 3\n"
	       "     5.0 b > ATOMIC_ACK 0 orig 4\n"
	       "    10.0 a   rewind to 16777215\n"
	       "    10.0 a > FETCH_ADD 16777215 ackreq\n"
	       "    10.0 a > FETCH_ADD 0 ackreq\n"
	       "    15.0 b   duplicate FETCH_ADD 16777215\n"
	       "    15.0 b   duplicate FETCH_ADD 0\n"
	       "    15.0 b > ATOMIC_ACK 16777215 orig 3\n"
	       "    15.0 b > ATOMIC_ACK 0 orig 4\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(y->atomics, 2);
}
END_TEST

/* The ACK of 0xffffff alone: the next unacknowledged PSN is 0. */
START_TEST(ack_of_the_last_number)
{
	struct node_qp_opts opts = world_opts();

	opts.psn = 0xffffff;
	connect_ends(&opts);
	WRITE(64);
	world_run_until(&w, 6);
	WRITE(65);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 16777215 len 64 ackreq\n"
	       "     5.0 b > ACK 16777215 msn 1\n"
	       "     6.0 a > WRITE_ONLY 0 len 65 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    11.0 b > ACK 0 msn 2\n"
	       "    16.0 a   send 2 SUCCESS\n");
}
END_TEST

RUN_TESTS("psn_wrap", send, read, loss_before_and_behind, read_response_lost, atomic_answered_again,
	  ack_of_the_last_number)
