/* SPDX-License-Identifier: MIT */
/* Traces of loss: each packet of each operation is lost once. A NAK recovers it wherever there can
 * be one. */
#include "tests/trace/fixture.h"

START_TEST(send_first)
{
	connect_ends(NULL);
	fault("drop a SEND_FIRST 100");
	RECV(4000);
	SEND(3500);
	world_run(&w);
	expect("     0.0 a x SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early SEND_MIDDLE 101\n"
	       "     5.0 b   early SEND_MIDDLE 102\n"
	       "     5.0 b   early SEND_LAST 103\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > SEND_FIRST 100 len 1024\n"
	       "    10.0 a > SEND_MIDDLE 101 len 1024\n"
	       "    10.0 a > SEND_MIDDLE 102 len 1024\n"
	       "    10.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "    15.0 b > ACK 103 msn 1\n"
	       "    15.0 b   recv 1 SUCCESS len 3500\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 3500);
}
END_TEST

START_TEST(send_middle)
{
	connect_ends(NULL);
	fault("drop a SEND_MIDDLE 101");
	RECV(4000);
	SEND(3500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a x SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early SEND_MIDDLE 102\n"
	       "     5.0 b   early SEND_LAST 103\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "    10.0 a   rewind to 101\n"
	       "    10.0 a > SEND_MIDDLE 101 len 1024\n"
	       "    10.0 a > SEND_MIDDLE 102 len 1024\n"
	       "    10.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "    15.0 b > ACK 103 msn 1\n"
	       "    15.0 b   recv 1 SUCCESS len 3500\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 3500);
}
END_TEST

START_TEST(send_last)
{
	connect_ends(NULL);
	fault("drop a SEND_LAST 103");
	RECV(4000);
	SEND(3500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a x SEND_LAST 103 len 428 ackreq\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > SEND_FIRST 100 len 1024\n"
	       "   262.1 a > SEND_MIDDLE 101 len 1024\n"
	       "   262.1 a > SEND_MIDDLE 102 len 1024\n"
	       "   262.1 a > SEND_LAST 103 len 428 ackreq\n"
	       "   267.1 b   duplicate SEND_FIRST 100\n"
	       "   267.1 b   duplicate SEND_MIDDLE 101\n"
	       "   267.1 b   duplicate SEND_MIDDLE 102\n"
	       "   267.1 b > ACK 103 msn 1\n"
	       "   267.1 b   recv 1 SUCCESS len 3500\n"
	       "   272.1 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 3500);
}
END_TEST

START_TEST(send_last_with_another_behind)
{
	connect_ends(NULL);
	fault("drop a SEND_LAST 101");
	RECV(4000);
	RECV(64);
	SEND(2000);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a x SEND_LAST 101 len 976 ackreq\n"
	       "     0.0 a > SEND_ONLY 102 len 64 ackreq\n"
	       "     5.0 b   early SEND_ONLY 102\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "    10.0 a   rewind to 101\n"
	       "    10.0 a > SEND_LAST 101 len 976 ackreq\n"
	       "    10.0 a > SEND_ONLY 102 len 64 ackreq\n"
	       "    15.0 b > ACK 102 msn 2\n"
	       "    15.0 b   recv 1 SUCCESS len 2000\n"
	       "    15.0 b   recv 2 SUCCESS len 64\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(write_middle)
{
	connect_ends(NULL);
	fault("drop a WRITE_MIDDLE 102");
	WRITE(5000, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 103 len 1024\n"
	       "     0.0 a > WRITE_LAST 104 len 904 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 103\n"
	       "     5.0 b   early WRITE_LAST 104\n"
	       "     5.0 b > NAK 102 sequence\n"
	       "    10.0 a   rewind to 102\n"
	       "    10.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "    10.0 a > WRITE_MIDDLE 103 len 1024\n"
	       "    10.0 a > WRITE_LAST 104 len 904 ackreq\n"
	       "    15.0 b > ACK 104 msn 1\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 5000);
}
END_TEST

START_TEST(ack)
{
	connect_ends(NULL);
	fault("drop b ACK 100");
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b x ACK 100 msn 1\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   267.1 b   duplicate WRITE_ONLY 100\n"
	       "   267.1 b > ACK 100 msn 1\n"
	       "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(ack_with_another_behind)
{
	connect_ends(NULL);
	fault("drop b ACK 100");
	WRITE(64);
	world_run_until(&w, 1);
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     1.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "     5.0 b x ACK 100 msn 1\n"
	       "     6.0 b > ACK 101 msn 2\n"
	       "    11.0 a   send 1 SUCCESS\n"
	       "    11.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(nak)
{
	connect_ends(NULL);
	fault("drop a SEND_FIRST 100");
	fault("drop b NAK 100");
	RECV(4000);
	SEND(3500);
	world_run(&w);
	expect("     0.0 a x SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early SEND_MIDDLE 101\n"
	       "     5.0 b   early SEND_MIDDLE 102\n"
	       "     5.0 b   early SEND_LAST 103\n"
	       "     5.0 b x NAK 100 sequence\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > SEND_FIRST 100 len 1024\n"
	       "   262.1 a > SEND_MIDDLE 101 len 1024\n"
	       "   262.1 a > SEND_MIDDLE 102 len 1024\n"
	       "   262.1 a > SEND_LAST 103 len 428 ackreq\n"
	       "   267.1 b > ACK 103 msn 1\n"
	       "   267.1 b   recv 1 SUCCESS len 3500\n"
	       "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(the_same_packet_twice)
{
	connect_ends(NULL);
	fault("drop a SEND_FIRST 100 x2");
	RECV(4000);
	SEND(3500);
	world_run(&w);
	expect("     0.0 a x SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early SEND_MIDDLE 101\n"
	       "     5.0 b   early SEND_MIDDLE 102\n"
	       "     5.0 b   early SEND_LAST 103\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a x SEND_FIRST 100 len 1024\n"
	       "    10.0 a > SEND_MIDDLE 101 len 1024\n"
	       "    10.0 a > SEND_MIDDLE 102 len 1024\n"
	       "    10.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "    15.0 b   early SEND_MIDDLE 101\n"
	       "    15.0 b   early SEND_MIDDLE 102\n"
	       "    15.0 b   early SEND_LAST 103\n"
	       "    15.0 b > NAK 100 sequence\n"
	       "    20.0 a   rewind to 100\n"
	       "    20.0 a > SEND_FIRST 100 len 1024\n"
	       "    20.0 a > SEND_MIDDLE 101 len 1024\n"
	       "    20.0 a > SEND_MIDDLE 102 len 1024\n"
	       "    20.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "    25.0 b > ACK 103 msn 1\n"
	       "    25.0 b   recv 1 SUCCESS len 3500\n"
	       "    30.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(read_request)
{
	connect_ends(NULL);
	fault("drop a READ_REQUEST 100");
	READ(2500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a x READ_REQUEST 100 len 2500 ackreq\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "   267.1 b > READ_RESP_FIRST 100 len 1024\n"
	       "   267.1 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "   267.1 b > READ_RESP_LAST 102 len 452\n"
	       "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(read_request_with_another_behind)
{
	connect_ends(NULL);
	fault("drop a READ_REQUEST 100");
	READ(2500, .from = READ_AT);
	WRITE(8);
	world_run(&w);
	expect("     0.0 a x READ_REQUEST 100 len 2500 ackreq\n"
	       "     0.0 a > WRITE_ONLY 103 len 8 ackreq\n"
	       "     5.0 b   early WRITE_ONLY 103\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "    10.0 a > WRITE_ONLY 103 len 8 ackreq\n"
	       "    15.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 102 len 452\n"
	       "    15.0 b > ACK 103 msn 2\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(read_response_only)
{
	connect_ends(NULL);
	fault("drop b READ_RESP_ONLY 100");
	READ(100, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 100 ackreq\n"
	       "     5.0 b x READ_RESP_ONLY 100 len 100\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > READ_REQUEST 100 len 100 ackreq\n"
	       "   267.1 b   duplicate READ_REQUEST 100\n"
	       "   267.1 b > READ_RESP_ONLY 100 len 100\n"
	       "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(read_response_first)
{
	connect_ends(NULL);
	fault("drop b READ_RESP_FIRST 100");
	READ(2500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "     5.0 b x READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 102 len 452\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 100\n"
	       "    15.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 102 len 452\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 2500);
}
END_TEST

START_TEST(read_response_middle)
{
	connect_ends(NULL);
	fault("drop b READ_RESP_MIDDLE 101");
	READ(2500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b x READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 102 len 452\n"
	       "    10.0 a   rewind to 101\n"
	       "    10.0 a > READ_REQUEST 101 len 1476 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 101\n"
	       "    15.0 b > READ_RESP_FIRST 101 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 102 len 452\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 2500);
}
END_TEST

START_TEST(read_response_middle_twice)
{
	connect_ends(NULL);
	fault("drop b READ_RESP_MIDDLE 101");
	fault("drop b READ_RESP_FIRST 101");
	READ(3500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 3500 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b x READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 102 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 103 len 428\n"
	       "    10.0 a   rewind to 101\n"
	       "    10.0 a > READ_REQUEST 101 len 2476 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 101\n"
	       "    15.0 b x READ_RESP_FIRST 101 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 102 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 103 len 428\n"
	       "    20.0 a   rewind to 101\n"
	       "    20.0 a > READ_REQUEST 101 len 2476 ackreq\n"
	       "    25.0 b   duplicate READ_REQUEST 101\n"
	       "    25.0 b > READ_RESP_FIRST 101 len 1024\n"
	       "    25.0 b > READ_RESP_MIDDLE 102 len 1024\n"
	       "    25.0 b > READ_RESP_LAST 103 len 428\n"
	       "    30.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 3500);
}
END_TEST

START_TEST(read_response_last)
{
	connect_ends(NULL);
	fault("drop b READ_RESP_LAST 102");
	READ(2500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b x READ_RESP_LAST 102 len 452\n"
	       "   272.1 a   timeout, 6 left, rewind to 102\n"
	       "   272.1 a > READ_REQUEST 102 len 452 ackreq\n"
	       "   277.1 b   duplicate READ_REQUEST 102\n"
	       "   277.1 b > READ_RESP_ONLY 102 len 452\n"
	       "   282.1 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 2500);
}
END_TEST

START_TEST(read_response_last_with_a_send_behind)
{
	connect_ends(NULL);
	fault("drop b READ_RESP_LAST 102");
	RECV(64);
	READ(2500, .from = READ_AT);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "     0.0 a > SEND_ONLY 103 len 64 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b x READ_RESP_LAST 102 len 452\n"
	       "     5.0 b > ACK 103 msn 2\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "    10.0 a   rewind to 102\n"
	       "    10.0 a > READ_REQUEST 102 len 452 ackreq\n"
	       "    10.0 a > SEND_ONLY 103 len 64 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 102\n"
	       "    15.0 b   duplicate SEND_ONLY 103\n"
	       "    15.0 b > READ_RESP_ONLY 102 len 452\n"
	       "    15.0 b > ACK 103 msn 2\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(acks_behind_a_missing_answer_spend_once)
{
	/* Each duplicate is acknowledged with the newest PSN; only the first such ACK shows that
	 * the READ has no response. */
	uint32_t i;

	connect_ends(NULL);
	fault("drop b READ_RESP_ONLY 100 x2");
	READ(8, .from = READ_AT);
	for (i = 0; i < 3; i++) {
		WRITE(8);
		world_run_until(&w, i + 1);
	}
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 8 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 8 ackreq\n"
	       "     1.0 a > WRITE_ONLY 102 len 8 ackreq\n"
	       "     2.0 a > WRITE_ONLY 103 len 8 ackreq\n"
	       "     5.0 b x READ_RESP_ONLY 100 len 8\n"
	       "     5.0 b > ACK 101 msn 2\n"
	       "     6.0 b > ACK 102 msn 3\n"
	       "     7.0 b > ACK 103 msn 4\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > READ_REQUEST 100 len 8 ackreq\n"
	       "    10.0 a > WRITE_ONLY 101 len 8 ackreq\n"
	       "    10.0 a > WRITE_ONLY 102 len 8 ackreq\n"
	       "    10.0 a > WRITE_ONLY 103 len 8 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 100\n"
	       "    15.0 b   duplicate WRITE_ONLY 101\n"
	       "    15.0 b   duplicate WRITE_ONLY 102\n"
	       "    15.0 b   duplicate WRITE_ONLY 103\n"
	       "    15.0 b x READ_RESP_ONLY 100 len 8\n"
	       "    15.0 b > ACK 103 msn 4\n"
	       "   272.1 a   timeout, 5 left, rewind to 100\n"
	       "   272.1 a > READ_REQUEST 100 len 8 ackreq\n"
	       "   272.1 a > WRITE_ONLY 101 len 8 ackreq\n"
	       "   272.1 a > WRITE_ONLY 102 len 8 ackreq\n"
	       "   272.1 a > WRITE_ONLY 103 len 8 ackreq\n"
	       "   277.1 b   duplicate READ_REQUEST 100\n"
	       "   277.1 b   duplicate WRITE_ONLY 101\n"
	       "   277.1 b   duplicate WRITE_ONLY 102\n"
	       "   277.1 b   duplicate WRITE_ONLY 103\n"
	       "   277.1 b > READ_RESP_ONLY 100 len 8\n"
	       "   277.1 b > ACK 103 msn 4\n"
	       "   282.1 a   send 1 SUCCESS\n"
	       "   282.1 a   send 2 SUCCESS\n"
	       "   282.1 a   send 3 SUCCESS\n"
	       "   282.1 a   send 4 SUCCESS\n");
}
END_TEST

START_TEST(atomic_request)
{
	connect_ends(NULL);
	fault("drop a FETCH_ADD 100");
	set_word(y, 0, 1);
	ADD(5, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a x FETCH_ADD 100 ackreq\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > FETCH_ADD 100 ackreq\n"
	       "   267.1 b > ATOMIC_ACK 100 orig 1\n"
	       "   272.1 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0), 6);
}
END_TEST

START_TEST(atomic_ack)
{
	connect_ends(NULL);
	fault("drop b ATOMIC_ACK 100");
	set_word(y, 0, 1);
	ADD(5, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     5.0 b x ATOMIC_ACK 100 orig 1\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > FETCH_ADD 100 ackreq\n"
	       "   267.1 b   duplicate FETCH_ADD 100\n"
	       "   267.1 b > ATOMIC_ACK 100 orig 1\n"
	       "   272.1 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0), 6);
	ck_assert_uint_eq(word_at(x, READ_AT), 1);
	ck_assert_uint_eq(y->atomics, 1);
}
END_TEST

START_TEST(one_of_three_atomic_acks)
{
	connect_ends(NULL);
	fault("drop b ATOMIC_ACK 101");
	set_word(y, 0, 1);
	ADD(5, .from = READ_AT);
	ADD(6, .from = READ_AT + 8);
	ADD(7, .from = READ_AT + 16);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     0.0 a > FETCH_ADD 101 ackreq\n"
	       "     0.0 a > FETCH_ADD 102 ackreq\n"
	       "     5.0 b > ATOMIC_ACK 100 orig 1\n"
	       "     5.0 b x ATOMIC_ACK 101 orig 6\n"
	       "     5.0 b > ATOMIC_ACK 102 orig 12\n"
	       "    10.0 a   rewind to 101\n"
	       "    10.0 a > FETCH_ADD 101 ackreq\n"
	       "    10.0 a > FETCH_ADD 102 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    15.0 b   duplicate FETCH_ADD 101\n"
	       "    15.0 b   duplicate FETCH_ADD 102\n"
	       "    15.0 b > ATOMIC_ACK 101 orig 6\n"
	       "    15.0 b > ATOMIC_ACK 102 orig 12\n"
	       "    20.0 a   send 2 SUCCESS\n"
	       "    20.0 a   send 3 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0), 19);
	ck_assert_uint_eq(word_at(x, READ_AT + 8), 6);
	ck_assert_uint_eq(word_at(x, READ_AT + 16), 12);
	ck_assert_uint_eq(y->atomics, 3);
}
END_TEST

START_TEST(corrupted_is_lost)
{
	connect_ends(NULL);
	fault("corrupt a SEND_MIDDLE 101");
	RECV(4000);
	SEND(3500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a c SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "     5.0 b   bad ICRC SEND_MIDDLE 101\n"
	       "     5.0 b   early SEND_MIDDLE 102\n"
	       "     5.0 b   early SEND_LAST 103\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "    10.0 a   rewind to 101\n"
	       "    10.0 a > SEND_MIDDLE 101 len 1024\n"
	       "    10.0 a > SEND_MIDDLE 102 len 1024\n"
	       "    10.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "    15.0 b > ACK 103 msn 1\n"
	       "    15.0 b   recv 1 SUCCESS len 3500\n"
	       "    20.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(a_delayed_packet_costs_a_nak)
{
	connect_ends(NULL);
	fault("delay a SEND_MIDDLE 101 3");
	RECV(4000);
	SEND(3500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a l SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early SEND_MIDDLE 102\n"
	       "     5.0 b   early SEND_LAST 103\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "    10.0 a   rewind to 101\n"
	       "    10.0 a > SEND_MIDDLE 101 len 1024\n"
	       "    10.0 a > SEND_MIDDLE 102 len 1024\n"
	       "    10.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "    15.0 b   duplicate SEND_MIDDLE 101\n"
	       "    15.0 b > ACK 103 msn 1\n"
	       "    15.0 b   recv 1 SUCCESS len 3500\n"
	       "    20.0 a   send 1 SUCCESS\n");
}
END_TEST

RUN_TESTS("loss", send_first, send_middle, send_last, send_last_with_another_behind, write_middle,
	  ack, ack_with_another_behind, nak, the_same_packet_twice, read_request,
	  read_request_with_another_behind, read_response_only, read_response_first,
	  read_response_middle, read_response_middle_twice, read_response_last,
	  read_response_last_with_a_send_behind, acks_behind_a_missing_answer_spend_once,
	  atomic_request, atomic_ack, one_of_three_atomic_acks, corrupted_is_lost,
	  a_delayed_packet_costs_a_nak)
