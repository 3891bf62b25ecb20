/* SPDX-License-Identifier: MIT */
/* Traces of malformed requests: out of sequence, or of a wrong length. */
#include "tests/trace/fixture.h"

START_TEST(middle_without_a_first)
{
	connect_ends(NULL);
	inject(a, OP_SEND_MIDDLE, 100, 1024);
	world_run(&w);
	expect("     0.0 a > SEND_MIDDLE 100 len 1024 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

START_TEST(last_without_a_first)
{
	connect_ends(NULL);
	inject(a, OP_WRITE_LAST, 100, 8);
	world_run(&w);
	expect("     0.0 a > WRITE_LAST 100 len 8 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

START_TEST(first_inside_a_message)
{
	connect_ends(NULL);
	RECV(4000);
	inject(a, OP_SEND_FIRST, 100, 1024);
	inject(a, OP_SEND_FIRST, 101, 1024);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024 ackreq\n"
	       "     0.0 a > SEND_FIRST 101 len 1024 ackreq\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

START_TEST(read_inside_a_message)
{
	connect_ends(NULL);
	RECV(4000);
	inject(a, OP_SEND_FIRST, 100, 1024);
	inject(a, OP_READ_REQUEST, 101, 8);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024 ackreq\n"
	       "     0.0 a > READ_REQUEST 101 len 8 ackreq\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

START_TEST(write_inside_a_send)
{
	connect_ends(NULL);
	RECV(4000);
	inject(a, OP_SEND_FIRST, 100, 1024);
	inject(a, OP_WRITE_LAST, 101, 8);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024 ackreq\n"
	       "     0.0 a > WRITE_LAST 101 len 8 ackreq\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

START_TEST(first_that_is_short)
{
	connect_ends(NULL);
	RECV(4000);
	inject(a, OP_SEND_FIRST, 100, 1023);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1023 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

START_TEST(only_longer_than_the_mtu)
{
	connect_ends(NULL);
	RECV(4000);
	inject(a, OP_SEND_ONLY, 100, 1025);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 1025 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

START_TEST(last_without_bytes)
{
	connect_ends(NULL);
	RECV(4000);
	inject(a, OP_SEND_FIRST, 100, 1024);
	inject(a, OP_SEND_LAST, 101, 0);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024 ackreq\n"
	       "     0.0 a > SEND_LAST 101 len 0 ackreq\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

START_TEST(write_first_as_long_as_its_message)
{
	connect_ends(NULL);
	inject(a, OP_WRITE_FIRST, 100, 1024);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

/* A WRITE of 1032 bytes whose last packet has len bytes. */
static void inject_write_that_ends_with(uint32_t len)
{
	static const uint8_t payload[1024];
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_RC, OP_WRITE_FIRST), .psn = 100 },
		.reth = { .va = y->base, .rkey = y->key, .len = 1032 },
		.payload_len = 1024,
	};

	world_inject(&w, a, &packet, payload);
	inject(a, OP_WRITE_LAST, 101, len);
	world_run(&w);
}

START_TEST(write_longer_than_its_header_says)
{
	connect_ends(NULL);
	inject_write_that_ends_with(9);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_LAST 101 len 9 ackreq\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
	ck_assert_uint_eq(y->writes, 1024);
}
END_TEST

START_TEST(write_shorter_than_its_header_says)
{
	connect_ends(NULL);
	inject_write_that_ends_with(7);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_LAST 101 len 7 ackreq\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
}
END_TEST

START_TEST(what_comes_after_a_fatal_nak_is_not_looked_at)
{
	connect_ends(NULL);
	RECV(64);
	inject(a, OP_SEND_LAST, 100, 8);
	inject(a, OP_WRITE_ONLY, 100, 8);
	inject(a, OP_SEND_ONLY, 101, 8);
	world_run(&w);
	expect("     0.0 a > SEND_LAST 100 len 8 ackreq\n"
	       "     0.0 a > WRITE_ONLY 100 len 8 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 8 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n");
	ck_assert_uint_eq(y->writes, 0);
}
END_TEST

RUN_TESTS("malformed", middle_without_a_first, last_without_a_first, first_inside_a_message,
	  read_inside_a_message, write_inside_a_send, first_that_is_short, only_longer_than_the_mtu,
	  last_without_bytes, write_first_as_long_as_its_message, write_longer_than_its_header_says,
	  write_shorter_than_its_header_says, what_comes_after_a_fatal_nak_is_not_looked_at)
