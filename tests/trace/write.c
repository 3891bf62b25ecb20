/* SPDX-License-Identifier: MIT */
/* Traces of RDMA WRITE: one packet, several, none, with immediate. */
#include "tests/trace/fixture.h"

START_TEST(one_packet)
{
	connect_ends(NULL);
	WRITE(64, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 64);
}
END_TEST

START_TEST(several_packets)
{
	connect_ends(NULL);
	WRITE(3500, .to = 0x1001);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "     5.0 b > ACK 103 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, 0x1001, 3500);
}
END_TEST

START_TEST(no_bytes_need_no_keys)
{
	connect_ends(NULL);
	WRITE(0, .rkey = UINT32_MAX, .lkey = UINT32_MAX);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 0 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(immediate)
{
	connect_ends(NULL);
	RECV(0);
	RECV(0);
	RECV(0);
	POST(a, RDMA_WRITE_WITH_IMM, 16, .imm = 1);
	POST(a, RDMA_WRITE_WITH_IMM, 2500, .imm = 2, .to = 0x1000);
	POST(a, RDMA_WRITE_WITH_IMM, 0, .imm = 3);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY_IMM 100 len 16 imm 0x1 ackreq\n"
	       "     0.0 a > WRITE_FIRST 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_LAST_IMM 103 len 452 imm 0x2 ackreq\n"
	       "     0.0 a > WRITE_ONLY_IMM 104 len 0 imm 0x3 ackreq\n"
	       "     5.0 b > ACK 104 msn 3\n"
	       "     5.0 b   recv 1 SUCCESS len 16 imm 0x1\n"
	       "     5.0 b   recv 2 SUCCESS len 2500 imm 0x2\n"
	       "     5.0 b   recv 3 SUCCESS len 0 imm 0x3\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n"
	       "    10.0 a   send 3 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 2500);
}
END_TEST

START_TEST(then_send_tells)
{
	/* Bytes written before a SEND are stored when the receive completes. */
	connect_ends(NULL);
	RECV(8);
	WRITE(2000, .to = 0x3000, .quiet = true);
	SEND(8);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_LAST 101 len 976 ackreq\n"
	       "     0.0 a > SEND_ONLY 102 len 8 ackreq\n"
	       "     5.0 b > ACK 102 msn 2\n"
	       "     5.0 b   recv 1 SUCCESS len 8\n"
	       "    10.0 a   send 2 SUCCESS\n");
	expect_same(x, 0, y, 0x3000, 2000);
}
END_TEST

RUN_TESTS("write", one_packet, several_packets, no_bytes_need_no_keys, immediate, then_send_tells)
