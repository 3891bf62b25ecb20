/* SPDX-License-Identifier: MIT */
/* Traces of fenced requests. */
#include "tests/trace/fixture.h"

START_TEST(waits_for_a_read)
{
	connect_ends(NULL);
	RECV(64);
	READ(2500, .from = READ_AT);
	SEND(64, .flags = RXE_SEND_FENCE);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 102 len 452\n"
	       "    10.0 a > SEND_ONLY 103 len 64 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    15.0 b > ACK 103 msn 2\n"
	       "    15.0 b   recv 1 SUCCESS len 64\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(waits_for_an_atomic)
{
	connect_ends(NULL);
	set_word(y, 0, 1);
	ADD(5, .from = READ_AT);
	WRITE(8, .flags = RXE_SEND_FENCE);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     5.0 b > ATOMIC_ACK 100 orig 1\n"
	       "    10.0 a > WRITE_ONLY 101 len 8 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    15.0 b > ACK 101 msn 2\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(does_not_wait_for_writes)
{
	connect_ends(NULL);
	WRITE(8);
	WRITE(9, .flags = RXE_SEND_FENCE);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 8 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 9 ackreq\n"
	       "     5.0 b > ACK 101 msn 2\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(those_behind_wait_behind_it)
{
	connect_ends(NULL);
	READ(8, .from = READ_AT);
	WRITE(9, .flags = RXE_SEND_FENCE);
	WRITE(10);
	READ(11, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 8 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 8\n"
	       "    10.0 a > WRITE_ONLY 101 len 9 ackreq\n"
	       "    10.0 a > WRITE_ONLY 102 len 10 ackreq\n"
	       "    10.0 a > READ_REQUEST 103 len 11 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    15.0 b > READ_RESP_ONLY 103 len 11\n"
	       "    20.0 a   send 2 SUCCESS\n"
	       "    20.0 a   send 3 SUCCESS\n"
	       "    20.0 a   send 4 SUCCESS\n");
}
END_TEST

START_TEST(holds_when_sent_again)
{
	/* Both are lost; the second does not overtake the response when it is sent again. */
	connect_ends(NULL);
	fault("drop b READ_RESP_ONLY 100");
	READ(8, .from = READ_AT);
	WRITE(9, .flags = RXE_SEND_FENCE);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 8 ackreq\n"
	       "     5.0 b x READ_RESP_ONLY 100 len 8\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > READ_REQUEST 100 len 8 ackreq\n"
	       "   267.1 b   duplicate READ_REQUEST 100\n"
	       "   267.1 b > READ_RESP_ONLY 100 len 8\n"
	       "   272.1 a > WRITE_ONLY 101 len 9 ackreq\n"
	       "   272.1 a   send 1 SUCCESS\n"
	       "   277.1 b > ACK 101 msn 2\n"
	       "   282.1 a   send 2 SUCCESS\n");
}
END_TEST

RUN_TESTS("fence", waits_for_a_read, waits_for_an_atomic, does_not_wait_for_writes,
	  those_behind_wait_behind_it, holds_when_sent_again)
