/* SPDX-License-Identifier: MIT */
/* Traces of RDMA READ: one packet, several, none, scattered, and more than one request covers. */
#include "tests/trace/fixture.h"

START_TEST(one_packet)
{
	connect_ends(NULL);
	READ(64, .from = READ_AT, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 64 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 64\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0x1000, 64);
}
END_TEST

START_TEST(several_packets)
{
	connect_ends(NULL);
	READ(3500, .from = READ_AT, .to = 0x1003);
	READ(2048, .from = READ_AT + 4000);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 3500 ackreq\n"
	       "     0.0 a > READ_REQUEST 104 len 2048 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 102 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 103 len 428\n"
	       "     5.0 b > READ_RESP_FIRST 104 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 105 len 1024\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
	expect_same(x, READ_AT, y, 0x1003, 3500);
	expect_same(x, READ_AT + 4000, y, 0, 2048);
}
END_TEST

START_TEST(no_bytes_need_no_keys)
{
	connect_ends(NULL);
	READ(0, .rkey = UINT32_MAX, .lkey = UINT32_MAX);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 0 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 0\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(into_pieces)
{
	connect_ends(NULL);
	READ(3001, .from = READ_AT + 1, .to = 0x1000, .pieces = 8);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 3001 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 102 len 953\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT + 1, y, 0x1000, 3001);
}
END_TEST

START_TEST(a_long_one_asks_again_and_again)
{
	connect_with_mtu(4096);
	READ(150000, .from = READ_AT);
	world_run_until(&w, 0);
	expect("     0.0 a > READ_REQUEST 100 len 65536 ackreq\n"
	       "     0.0 a > READ_REQUEST 116 len 65536 ackreq\n"
	       "     0.0 a > READ_REQUEST 132 len 18928 ackreq\n");
	world_run(&w);
	expect_some("READ_RESP_LAST 115 len 4096\nREAD_RESP_FIRST 116 len 4096\nREAD_RESP_LAST 136 "
		    "len 2544\nsend 1 SUCCESS");
	expect_same(x, READ_AT, y, 0, 150000);
}
END_TEST

START_TEST(between_sends)
{
	connect_ends(NULL);
	RECV(64);
	RECV(64);
	SEND(8);
	READ(1500, .from = READ_AT);
	SEND(9);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 8 ackreq\n"
	       "     0.0 a > READ_REQUEST 101 len 1500 ackreq\n"
	       "     0.0 a > SEND_ONLY 103 len 9 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 101 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 102 len 476\n"
	       "     5.0 b > ACK 103 msn 3\n"
	       "     5.0 b   recv 1 SUCCESS len 8\n"
	       "     5.0 b   recv 2 SUCCESS len 9\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n"
	       "    10.0 a   send 3 SUCCESS\n");
}
END_TEST

RUN_TESTS("read", one_packet, several_packets, no_bytes_need_no_keys, into_pieces,
	  a_long_one_asks_again_and_again, between_sends)
