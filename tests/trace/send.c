/* SPDX-License-Identifier: MIT */
/* Traces of SEND: one packet, several, with immediate, inline, gathered, with invalidate. */
#include "tests/trace/fixture.h"

START_TEST(one_packet)
{
	connect_ends(NULL);
	RECV(64);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 64);
}
END_TEST

START_TEST(several_packets)
{
	connect_ends(NULL);
	RECV(4000);
	SEND(3500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a > SEND_LAST 103 len 428 ackreq\n"
	       "     5.0 b > ACK 103 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 3500\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 3500);
}
END_TEST

START_TEST(two_whole_packets)
{
	connect_ends(NULL);
	RECV(4000);
	SEND(2048);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_LAST 101 len 1024 ackreq\n"
	       "     5.0 b > ACK 101 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 2048\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(odd_length_is_padded)
{
	connect_ends(NULL);
	RECV(64);
	SEND(13);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 13 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 13\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, RECV_AT, 13);
	ck_assert_uint_eq(y->writes, 13);
}
END_TEST

START_TEST(no_bytes)
{
	connect_ends(NULL);
	RECV(0);
	SEND(0, .lkey = UINT32_MAX);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 0 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 0\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(immediate)
{
	connect_ends(NULL);
	RECV(64);
	RECV(4000);
	RECV(0);
	POST(a, SEND_WITH_IMM, 16, .imm = 0xa1b2c3d4);
	POST(a, SEND_WITH_IMM, 2500, .imm = 7);
	POST(a, SEND_WITH_IMM, 0, .imm = 8);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY_IMM 100 len 16 imm 0xa1b2c3d4 ackreq\n"
	       "     0.0 a > SEND_FIRST 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a > SEND_LAST_IMM 103 len 452 imm 0x7 ackreq\n"
	       "     0.0 a > SEND_ONLY_IMM 104 len 0 imm 0x8 ackreq\n"
	       "     5.0 b > ACK 104 msn 3\n"
	       "     5.0 b   recv 1 SUCCESS len 16 imm 0xa1b2c3d4\n"
	       "     5.0 b   recv 2 SUCCESS len 2500 imm 0x7\n"
	       "     5.0 b   recv 3 SUCCESS len 0 imm 0x8\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n"
	       "    10.0 a   send 3 SUCCESS\n");
}
END_TEST

START_TEST(inline_bytes)
{
	connect_ends(NULL);
	RECV(64);
	SEND(40, .from = 0x800, .flags = RXE_SEND_INLINE);
	x->mem[0x800] ^= 1; /* the program may reuse its buffer at once */
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 40 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 40\n"
	       "    10.0 a   send 1 SUCCESS\n");
	x->mem[0x800] ^= 1;
	expect_same(x, 0x800, y, RECV_AT, 40);
}
END_TEST

START_TEST(gathered_from_pieces)
{
	connect_ends(NULL);
	RECV(8000);
	SEND(5000, .from = 3, .pieces = 7);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 102 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 103 len 1024\n"
	       "     0.0 a > SEND_LAST 104 len 904 ackreq\n"
	       "     5.0 b > ACK 104 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 5000\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 3, y, RECV_AT, 5000);
}
END_TEST

START_TEST(solicited)
{
	connect_ends(NULL);
	RECV(64);
	RECV(4000);
	SEND(8, .flags = RXE_SEND_SOLICITED);
	SEND(2000, .flags = RXE_SEND_SOLICITED);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 8 solicited ackreq\n"
	       "     0.0 a > SEND_FIRST 101 len 1024\n"
	       "     0.0 a > SEND_LAST 102 len 976 solicited ackreq\n"
	       "     5.0 b > ACK 102 msn 2\n"
	       "     5.0 b   recv 1 SUCCESS len 8 solicited\n"
	       "     5.0 b   recv 2 SUCCESS len 2000 solicited\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(unsignalled)
{
	connect_ends(NULL);
	RECV(64);
	RECV(64);
	SEND(8, .quiet = true);
	SEND(8);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 8 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 8 ackreq\n"
	       "     5.0 b > ACK 101 msn 2\n"
	       "     5.0 b   recv 1 SUCCESS len 8\n"
	       "     5.0 b   recv 2 SUCCESS len 8\n"
	       "    10.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(invalidate)
{
	const uint32_t window = 0x30051;
	struct rxe_bind bind = { .addr = y->base, .len = 4096, .rights = RXE_REMOTE_WRITE };
	struct rxe_span at;

	connect_ends(NULL);
	bind.region = node_reg(y, 0, 4096, RXE_LOCAL_WRITE | RXE_MW_BIND);
	node_open_mw(b, window, &bind);
	RECV(64);
	RECV(4000);
	WRITE(16, .rkey = window);
	POST(a, SEND_WITH_INV, 16, .imm = window);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 16 ackreq\n"
	       "     0.0 a > SEND_ONLY_INV 101 len 16 inv 0x30051 ackreq\n"
	       "     5.0 b > ACK 101 msn 2\n"
	       "     5.0 b   recv 1 SUCCESS len 16 inv 0x30051\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
	/* The key is invalid now. */
	ck_assert_int_eq(rxe_reach(&y->engine, rxe_qp_key_user(&b->qp), window, RXE_REMOTE_WRITE,
				   y->base, 16, &at),
			 MR_BAD_KEY);
}
END_TEST

RUN_TESTS("send", one_packet, several_packets, two_whole_packets, odd_length_is_padded, no_bytes,
	  immediate, inline_bytes, gathered_from_pieces, solicited, unsignalled, invalidate)
