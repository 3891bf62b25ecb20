/* SPDX-License-Identifier: MIT */
/* Traces of selective repeat: the responder holds requests after a missing one, and the requester
 * resends the missing one alone. In loss.c, neither does. */
#include "tests/trace/fixture.h"

static void connect_holding(bool a_holds, bool b_holds)
{
	if (a_holds)
		node_hold(x);
	if (b_holds)
		node_hold(y);
	x->engine.cfg.probe_ns = 50000;
	connect_ends(NULL);
}

START_TEST(first)
{
	connect_holding(true, true);
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
	       "    10.0 a   probe of psn 100\n"
	       "    10.0 a > SEND_FIRST 100 len 1024 ackreq\n"
	       "    15.0 b > ACK 103 msn 1\n"
	       "    15.0 b   recv 1 SUCCESS len 3500\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 3500);
}
END_TEST

START_TEST(middle)
{
	connect_holding(true, true);
	fault("drop a WRITE_MIDDLE 101");
	WRITE(3500, .to = 0x1000);
	WRITE(64, .to = 0x3000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "     0.0 a > WRITE_ONLY 104 len 64 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 102\n"
	       "     5.0 b   early WRITE_LAST 103\n"
	       "     5.0 b   early WRITE_ONLY 104\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "    10.0 a   probe of psn 101\n"
	       "    10.0 a > WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "    15.0 b > ACK 104 msn 2\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 3500);
}
END_TEST

/* Nothing after it shows that it is missing. */
START_TEST(last)
{
	connect_holding(true, true);
	fault("drop a WRITE_LAST 103");
	WRITE(3500, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a x WRITE_LAST 103 len 428 ackreq\n"
	       "    50.0 a   probe of psn 100\n"
	       "    50.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
	       "    55.0 b   duplicate WRITE_FIRST 100\n"
	       "    55.0 b > ACK 102 msn 0\n"
	       "   110.0 a   probe of psn 103\n"
	       "   110.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "   115.0 b > ACK 103 msn 1\n"
	       "   120.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 3500);
}
END_TEST

/* Each NAK names one. The packet that fills the first gap asks for a response: the next NAK. */
START_TEST(two)
{
	connect_holding(true, true);
	fault("drop a WRITE_FIRST 100");
	fault("drop a WRITE_MIDDLE 102");
	WRITE(4500, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a x WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 103 len 1024\n"
	       "     0.0 a > WRITE_LAST 104 len 404 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 101\n"
	       "     5.0 b   early WRITE_MIDDLE 103\n"
	       "     5.0 b   early WRITE_LAST 104\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   probe of psn 100\n"
	       "    10.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
	       "    15.0 b > NAK 102 sequence\n"
	       "    20.0 a   probe of psn 102\n"
	       "    20.0 a > WRITE_MIDDLE 102 len 1024 ackreq\n"
	       "    25.0 b > ACK 104 msn 1\n"
	       "    30.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 4500);
	ck_assert_uint_eq(y->counters.out_of_seq_request, 3);
}
END_TEST

START_TEST(nak_lost)
{
	connect_holding(true, true);
	fault("drop a WRITE_MIDDLE 101");
	fault("drop b NAK 101");
	WRITE(3500, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 102\n"
	       "     5.0 b   early WRITE_LAST 103\n"
	       "     5.0 b x NAK 101 sequence\n"
	       "    50.0 a   probe of psn 100\n"
	       "    50.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
	       "    55.0 b   duplicate WRITE_FIRST 100\n"
	       "    55.0 b > ACK 100 msn 0\n"
	       "    60.0 a   rewind to 101\n"
	       "    60.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "    60.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "    60.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "    65.0 b   duplicate WRITE_MIDDLE 102\n"
	       "    65.0 b   duplicate WRITE_LAST 103\n"
	       "    65.0 b > ACK 103 msn 1\n"
	       "    70.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(resent_packet_lost)
{
	connect_holding(true, true);
	fault("drop a WRITE_MIDDLE 101 x2");
	WRITE(3500, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 102\n"
	       "     5.0 b   early WRITE_LAST 103\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "    10.0 a   probe of psn 101\n"
	       "    10.0 a x WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "    60.0 a   probe of psn 101\n"
	       "    60.0 a > WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "    65.0 b > ACK 103 msn 1\n"
	       "    70.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(ack_lost)
{
	connect_holding(true, true);
	fault("drop a WRITE_MIDDLE 101");
	fault("drop b ACK 103");
	WRITE(3500, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 102\n"
	       "     5.0 b   early WRITE_LAST 103\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "    10.0 a   probe of psn 101\n"
	       "    10.0 a > WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "    15.0 b x ACK 103 msn 1\n"
	       "    60.0 a   probe of psn 101\n"
	       "    60.0 a > WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "    65.0 b   duplicate WRITE_MIDDLE 101\n"
	       "    65.0 b > ACK 103 msn 1\n"
	       "    70.0 a   send 1 SUCCESS\n");
}
END_TEST

/* Late, not lost: nothing but that packet is sent twice. */
START_TEST(late)
{
	connect_holding(true, true);
	fault("delay a WRITE_FIRST 100 7");
	WRITE(3500, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a l WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 101\n"
	       "     5.0 b   early WRITE_MIDDLE 102\n"
	       "     5.0 b   early WRITE_LAST 103\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   probe of psn 100\n"
	       "    10.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
	       "    12.0 b > ACK 103 msn 1\n"
	       "    15.0 b   duplicate WRITE_FIRST 100\n"
	       "    15.0 b > ACK 103 msn 1\n"
	       "    17.0 a   send 1 SUCCESS\n");
}
END_TEST

/* The response to the resent packet covers that packet alone: the peer has dropped what came after
 * it. After three such the requester resends everything at once. */
START_TEST(peer_that_drops)
{
	connect_holding(true, false);
	fault("drop a WRITE_MIDDLE 101");
	WRITE(3500, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 102\n"
	       "     5.0 b   early WRITE_LAST 103\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "    10.0 a   probe of psn 101\n"
	       "    10.0 a > WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "    15.0 b > ACK 101 msn 0\n"
	       "    20.0 a   rewind to 102\n"
	       "    20.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "    20.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "    25.0 b > ACK 103 msn 1\n"
	       "    30.0 a   send 1 SUCCESS\n");
	fault("drop a WRITE_MIDDLE 105");
	WRITE(3500, .to = 0x1000);
	world_run(&w);
	fault("drop a WRITE_MIDDLE 109");
	WRITE(3500, .to = 0x1000);
	world_run(&w);
	skip();
	fault("drop a WRITE_MIDDLE 113");
	WRITE(3500, .to = 0x1000);
	world_run(&w);
	expect("   150.0 a > WRITE_FIRST 112 len 1024\n"
	       "   150.0 a x WRITE_MIDDLE 113 len 1024\n"
	       "   150.0 a > WRITE_MIDDLE 114 len 1024\n"
	       "   150.0 a > WRITE_LAST 115 len 428 ackreq\n"
	       "   155.0 b   early WRITE_MIDDLE 114\n"
	       "   155.0 b   early WRITE_LAST 115\n"
	       "   155.0 b > NAK 113 sequence\n"
	       "   160.0 a   rewind to 113\n"
	       "   160.0 a > WRITE_MIDDLE 113 len 1024\n"
	       "   160.0 a > WRITE_MIDDLE 114 len 1024\n"
	       "   160.0 a > WRITE_LAST 115 len 428 ackreq\n"
	       "   165.0 b > ACK 115 msn 4\n"
	       "   170.0 a   send 4 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 3500);
}
END_TEST

/* A requester that resends everything, as rdma_rxe. The second gap closes by itself, so no NAK is
 * sent for it. */
START_TEST(requester_that_rewinds)
{
	connect_holding(false, true);
	fault("drop a WRITE_FIRST 100");
	fault("drop a WRITE_MIDDLE 102");
	WRITE(4500, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a x WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a x WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 103 len 1024\n"
	       "     0.0 a > WRITE_LAST 104 len 404 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 101\n"
	       "     5.0 b   early WRITE_MIDDLE 103\n"
	       "     5.0 b   early WRITE_LAST 104\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > WRITE_FIRST 100 len 1024\n"
	       "    10.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "    10.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "    10.0 a > WRITE_MIDDLE 103 len 1024 ackreq\n"
	       "    10.0 a > WRITE_LAST 104 len 404 ackreq\n"
	       "    15.0 b   duplicate WRITE_MIDDLE 101\n"
	       "    15.0 b   duplicate WRITE_MIDDLE 103\n"
	       "    15.0 b   duplicate WRITE_LAST 104\n"
	       "    15.0 b > ACK 104 msn 1\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 4500);
}
END_TEST

START_TEST(read_request)
{
	connect_holding(true, true);
	fault("drop a READ_REQUEST 100");
	READ(2000, .from = READ_AT);
	READ(64, .from = READ_AT + 0x1000);
	world_run(&w);
	expect("     0.0 a x READ_REQUEST 100 len 2000 ackreq\n"
	       "     0.0 a > READ_REQUEST 102 len 64 ackreq\n"
	       "     5.0 b   early READ_REQUEST 102\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > READ_REQUEST 100 len 2000 ackreq\n"
	       "    10.0 a > READ_REQUEST 102 len 64 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 102\n"
	       "    15.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 101 len 976\n"
	       "    15.0 b > READ_RESP_ONLY 102 len 64\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

/* Two gaps in the response: one request asks for both, and for what lies between. rdma_rxe answers
 * no duplicate that lies before the last one it answered of the same READ. */
START_TEST(read_responses)
{
	connect_holding(true, true);
	fault("drop b READ_RESP_MIDDLE 101");
	fault("drop b READ_RESP_MIDDLE 103");
	fault("drop b READ_RESP_MIDDLE 104");
	READ(7000, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 7000 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b x READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 102 len 1024\n"
	       "     5.0 b x READ_RESP_MIDDLE 103 len 1024\n"
	       "     5.0 b x READ_RESP_MIDDLE 104 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 105 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 106 len 856\n"
	       "    10.0 a > READ_REQUEST 101 len 4096 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 101\n"
	       "    15.0 b > READ_RESP_FIRST 101 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 102 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 103 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 104 len 1024\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 7000);
}
END_TEST

/* The response to the second request is lost in turn, the earlier part of it. */
START_TEST(read_responses_lost_again)
{
	connect_holding(true, true);
	fault("drop b READ_RESP_MIDDLE 101");
	fault("drop b READ_RESP_MIDDLE 103");
	fault("drop b READ_RESP_FIRST 101");
	READ(7000, .from = READ_AT);
	world_run(&w);
	expect_some("10.0 a > READ_REQUEST 101 len 3072 ackreq\n"
		    "15.0 b   duplicate READ_REQUEST 101\n"
		    "15.0 b x READ_RESP_FIRST 101 len 1024\n"
		    "15.0 b > READ_RESP_MIDDLE 102 len 1024\n"
		    "15.0 b > READ_RESP_LAST 103 len 1024\n"
		    "60.0 a   probe of psn 101\n"
		    "60.0 a > READ_REQUEST 101 len 1024 ackreq\n"
		    "65.0 b   duplicate READ_REQUEST 101\n"
		    "65.0 b > READ_RESP_ONLY 101 len 1024\n"
		    "70.0 a   send 1 SUCCESS");
	expect_same(x, READ_AT, y, 0, 7000);
}
END_TEST

/* The response to a READ that was sent later shows that the part was lost again. */
START_TEST(read_response_lost_again)
{
	connect_holding(true, true);
	fault("drop b READ_RESP_FIRST 100");
	fault("drop b READ_RESP_ONLY 100");
	READ(2000, .from = READ_AT);
	world_run_until(&w, 11);
	READ(64, .from = READ_AT + 0x1000);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 2000 ackreq\n"
	       "     5.0 b x READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 101 len 976\n"
	       "    10.0 a > READ_REQUEST 100 len 1024 ackreq\n"
	       "    11.0 a > READ_REQUEST 102 len 64 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 100\n"
	       "    15.0 b x READ_RESP_ONLY 100 len 1024\n"
	       "    16.0 b > READ_RESP_ONLY 102 len 64\n"
	       "    21.0 a > READ_REQUEST 100 len 1024 ackreq\n"
	       "    26.0 b   duplicate READ_REQUEST 100\n"
	       "    26.0 b > READ_RESP_ONLY 100 len 1024\n"
	       "    31.0 a   send 1 SUCCESS\n"
	       "    31.0 a   send 2 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 2000);
}
END_TEST

/* Half a packet ahead of a missing one: it counts as lost. */
START_TEST(read_response_too_short)
{
	connect_holding(true, true);
	READ(3000, .from = READ_AT);
	world_flush(&w);
	inject(b, OP_READ_RESP_MIDDLE, 101, 512);
	fault("drop b READ_RESP_FIRST 100");
	fault("drop b READ_RESP_MIDDLE 101");
	world_run(&w);
	expect_some("    10.0 a > READ_REQUEST 100 len 2048 ackreq\n"
		    "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 3000);
}
END_TEST

/* The WRITE after the missing response completes with it. */
START_TEST(read_response_and_ack)
{
	connect_holding(true, true);
	fault("drop b READ_RESP_ONLY 100");
	READ(64, .from = READ_AT);
	WRITE(64, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "     5.0 b x READ_RESP_ONLY 100 len 64\n"
	       "     5.0 b > ACK 101 msn 2\n"
	       "    10.0 a > READ_REQUEST 100 len 64 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 100\n"
	       "    15.0 b > READ_RESP_ONLY 100 len 64\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(atomic_request)
{
	connect_holding(true, true);
	set_word(y, 0, 5);
	fault("drop a FETCH_ADD 100");
	ADD(1, .from = READ_AT);
	ADD(1, .from = READ_AT + 8);
	world_run(&w);
	expect("     0.0 a x FETCH_ADD 100 ackreq\n"
	       "     0.0 a > FETCH_ADD 101 ackreq\n"
	       "     5.0 b   early FETCH_ADD 101\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > FETCH_ADD 100 ackreq\n"
	       "    10.0 a > FETCH_ADD 101 ackreq\n"
	       "    15.0 b   duplicate FETCH_ADD 101\n"
	       "    15.0 b > ATOMIC_ACK 100 orig 5\n"
	       "    15.0 b > ATOMIC_ACK 101 orig 6\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0), 7);
	ck_assert_uint_eq(word_at(x, READ_AT), 5);
	ck_assert_uint_eq(word_at(x, READ_AT + 8), 6);
}
END_TEST

START_TEST(atomic_response)
{
	connect_holding(true, true);
	set_word(y, 0, 5);
	fault("drop b ATOMIC_ACK 100");
	ADD(1, .from = READ_AT);
	ADD(1, .from = READ_AT + 8);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     0.0 a > FETCH_ADD 101 ackreq\n"
	       "     5.0 b x ATOMIC_ACK 100 orig 5\n"
	       "     5.0 b > ATOMIC_ACK 101 orig 6\n"
	       "    10.0 a > FETCH_ADD 100 ackreq\n"
	       "    15.0 b   duplicate FETCH_ADD 100\n"
	       "    15.0 b > ATOMIC_ACK 100 orig 5\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(y->atomics, 2);
	ck_assert_uint_eq(word_at(x, READ_AT), 5);
	ck_assert_uint_eq(word_at(x, READ_AT + 8), 6);
}
END_TEST

/* No receive is posted for a message that was held: what follows it is resent, as always after an
 * RNR NAK. */
START_TEST(not_ready)
{
	connect_holding(true, true);
	fault("drop a SEND_ONLY 100");
	RECV(64);
	SEND(64);
	SEND(64);
	WRITE(64, .to = 0x1000);
	world_run_until(&w, 18);
	RECV(64);
	world_run(&w);
	expect("     0.0 a x SEND_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 102 len 64 ackreq\n"
	       "     5.0 b   early SEND_ONLY 101\n"
	       "     5.0 b   early WRITE_ONLY 102\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   probe of psn 100\n"
	       "    10.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    15.0 b > RNR_NAK 101 timer 1\n"
	       "    15.0 b   recv 1 SUCCESS len 64\n"
	       "    20.0 a   wait until 30.0, rewind to 101\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    30.0 a > SEND_ONLY 101 len 64 ackreq\n"
	       "    35.0 b > ACK 101 msn 2\n"
	       "    35.0 b   recv 2 SUCCESS len 64\n"
	       "    40.0 a > WRITE_ONLY 102 len 64 ackreq\n"
	       "    40.0 a   send 2 SUCCESS\n"
	       "    45.0 b > ACK 102 msn 3\n"
	       "    50.0 a   send 3 SUCCESS\n");
}
END_TEST

/* When it is resent, the first READ is two. With the one that was held they would be too many. */
START_TEST(too_many_reads)
{
	struct node_qp_opts opts = world_opts();

	node_hold(y);
	opts.rd_atomic = 2;
	connect_ends(&opts);
	a->qp.rc.req.window.packets = 16;
	fault("drop a READ_REQUEST 100");
	READ(16384, .from = READ_AT);
	READ(64, .from = READ_AT + 0x8000);
	world_flush(&w);
	a->qp.rc.req.window.packets = 8;
	world_run(&w);
	expect("     0.0 a x READ_REQUEST 100 len 8192 ackreq\n"
	       "     0.0 a > READ_REQUEST 108 len 8192 ackreq\n"
	       "     5.0 b   early READ_REQUEST 108\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > READ_REQUEST 100 len 4096 ackreq\n"
	       "    10.0 a > READ_REQUEST 104 len 4096 ackreq\n"
	       "    15.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 102 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 103 len 1024\n"
	       "    15.0 b > READ_RESP_FIRST 104 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 105 len 1024\n"
	       "    15.0 b > READ_RESP_MIDDLE 106 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 107 len 1024\n"
	       "    20.0 a > READ_REQUEST 108 len 4096 ackreq\n"
	       "    20.0 a > READ_REQUEST 112 len 4096 ackreq\n"
	       "    25.0 b > READ_RESP_FIRST 108 len 1024\n"
	       "    25.0 b > READ_RESP_MIDDLE 109 len 1024\n"
	       "    25.0 b > READ_RESP_MIDDLE 110 len 1024\n"
	       "    25.0 b > READ_RESP_LAST 111 len 1024\n"
	       "    25.0 b > READ_RESP_FIRST 112 len 1024\n"
	       "    25.0 b > READ_RESP_MIDDLE 113 len 1024\n"
	       "    25.0 b > READ_RESP_MIDDLE 114 len 1024\n"
	       "    25.0 b > READ_RESP_LAST 115 len 1024\n"
	       "    30.0 a > READ_REQUEST 116 len 64 ackreq\n"
	       "    30.0 a   send 1 SUCCESS\n"
	       "    35.0 b > READ_RESP_ONLY 116 len 64\n"
	       "    40.0 a   send 2 SUCCESS\n");
}
END_TEST

/* Memory of requests that were held is free again, whatever becomes of the QP. */
START_TEST(reset_releases)
{
	connect_holding(true, true);
	fault("drop a WRITE_FIRST 100 x99");
	WRITE(3500, .to = 0x1000);
	world_run_until(&w, 6);
	ck_assert_uint_eq(b->qp.rc.hold.count, 3);
	world_modify(&w, b, RXE_QPS_ERR);
	ck_assert_uint_eq(b->qp.rc.hold.count, 0);
	world_modify(&w, a, RXE_QPS_RESET);
	world_run(&w);
}
END_TEST

/* The round trip of a request that is sent again is not timed (Karn). */
START_TEST(what_is_asked_for_again_is_not_timed)
{
	connect_holding(true, true);
	fault("drop b READ_RESP_MIDDLE 101");
	READ(3500, .from = READ_AT);
	world_flush(&w);
	ck_assert(a->qp.rc.req.rtt.is_timing);
	world_run_until(&w, 12);
	expect_some("    10.0 a > READ_REQUEST 101 len 1024 ackreq\n");
	ck_assert(!a->qp.rc.req.rtt.is_timing);
	world_run(&w);
	expect_same(x, READ_AT, y, 0, 3500);
}
END_TEST

RUN_TESTS("selective", first, middle, last, two, nak_lost, resent_packet_lost, ack_lost, late,
	  peer_that_drops, requester_that_rewinds, read_request, read_responses,
	  read_responses_lost_again, read_response_lost_again, read_response_too_short,
	  read_response_and_ack, atomic_request, atomic_response, not_ready, too_many_reads,
	  reset_releases, what_is_asked_for_again_is_not_timed)
