/* SPDX-License-Identifier: MIT */
/* Traces of packets that come twice, or come again: answered again, done once. */
#include "tests/trace/fixture.h"

START_TEST(send)
{
	connect_ends(NULL);
	fault("dup a SEND_ONLY 100");
	RECV(64);
	RECV(64);
	SEND(64);
	world_run(&w);
	expect("     0.0 a d SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b   duplicate SEND_ONLY 100\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(write)
{
	connect_ends(NULL);
	fault("dup a WRITE_ONLY 100");
	WRITE(64);
	world_run(&w);
	expect("     0.0 a d WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b   duplicate WRITE_ONLY 100\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(read)
{
	connect_ends(NULL);
	fault("dup a READ_REQUEST 100");
	READ(1500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a d READ_REQUEST 100 len 1500 ackreq\n"
	       "     5.0 b   duplicate READ_REQUEST 100\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 101 len 476\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(atomic)
{
	connect_ends(NULL);
	fault("dup a FETCH_ADD 100");
	set_word(y, 0, 1);
	ADD(5, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a d FETCH_ADD 100 ackreq\n"
	       "     5.0 b   duplicate FETCH_ADD 100\n"
	       "     5.0 b > ATOMIC_ACK 100 orig 1\n"
	       "    10.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0), 6);
	ck_assert_uint_eq(y->atomics, 1);
}
END_TEST

START_TEST(ack)
{
	connect_ends(NULL);
	fault("dup b ACK 100");
	WRITE(64);
	world_run_until(&w, 3);
	WRITE(65);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     3.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "     5.0 b d ACK 100 msn 1\n"
	       "     8.0 b > ACK 101 msn 2\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    13.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(read_response)
{
	connect_ends(NULL);
	fault("dup b READ_RESP_FIRST 100");
	READ(1500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 1500 ackreq\n"
	       "     5.0 b d READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 101 len 476\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(nak)
{
	connect_ends(NULL);
	fault("drop a WRITE_FIRST 100");
	fault("dup b NAK 100");
	WRITE(2500);
	world_run(&w);
	expect("     0.0 a x WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 101\n"
	       "     5.0 b   early WRITE_LAST 102\n"
	       "     5.0 b d NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > WRITE_FIRST 100 len 1024\n"
	       "    10.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "    10.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "    15.0 b > ACK 102 msn 1\n"
	       "    20.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(middle_of_a_message)
{
	connect_ends(NULL);
	fault("dup a SEND_MIDDLE 101");
	RECV(4000);
	SEND(2500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a d SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_LAST 102 len 452 ackreq\n"
	       "     5.0 b   duplicate SEND_MIDDLE 101\n"
	       "     5.0 b > ACK 102 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 2500\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 2500);
}
END_TEST

START_TEST(sent_again_after_the_ack_was_lost)
{
	connect_ends(NULL);
	fault("drop b ACK 102");
	RECV(4000);
	RECV(4000);
	SEND(2500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_LAST 102 len 452 ackreq\n"
	       "     5.0 b x ACK 102 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 2500\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > SEND_FIRST 100 len 1024\n"
	       "   262.1 a > SEND_MIDDLE 101 len 1024\n"
	       "   262.1 a > SEND_LAST 102 len 452 ackreq\n"
	       "   267.1 b   duplicate SEND_FIRST 100\n"
	       "   267.1 b   duplicate SEND_MIDDLE 101\n"
	       "   267.1 b   duplicate SEND_LAST 102\n"
	       "   267.1 b > ACK 102 msn 1\n"
	       "   272.1 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(y->counters.duplicate_request, 3);
}
END_TEST

START_TEST(atomic_from_long_ago_is_not_known)
{
	/* Sixteen results are kept; the seventeenth last is dropped in silence. */
	uint32_t i;

	connect_ends(NULL);
	set_word(y, 0, 0);
	for (i = 0; i < 17; i++)
		ADD(1, .from = READ_AT);
	world_run(&w);
	skip();
	inject(a, OP_FETCH_ADD, 100, 0);
	inject(a, OP_FETCH_ADD, 101, 0);
	world_run(&w);
	expect("   262.1 a > FETCH_ADD 100 ackreq\n"
	       "   262.1 a > FETCH_ADD 101 ackreq\n"
	       "   267.1 b   duplicate FETCH_ADD 100\n"
	       "   267.1 b   duplicate FETCH_ADD 101\n"
	       "   267.1 b > ATOMIC_ACK 101 orig 1\n");
	ck_assert_uint_eq(y->atomics, 17);
}
END_TEST

START_TEST(read_beyond_what_was_asked_is_dropped)
{
	connect_ends(NULL);
	READ(8, .from = READ_AT);
	world_run(&w);
	skip();
	inject(a, OP_READ_REQUEST, 100, 3000);
	world_run(&w);
	expect("   262.1 a > READ_REQUEST 100 len 3000 ackreq\n"
	       "   267.1 b   duplicate READ_REQUEST 100\n");
}
END_TEST

RUN_TESTS("duplicate", send, write, read, atomic, ack, read_response, nak, middle_of_a_message,
	  sent_again_after_the_ack_was_lost, atomic_from_long_ago_is_not_known,
	  read_beyond_what_was_asked_is_dropped)
