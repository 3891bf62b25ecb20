/* SPDX-License-Identifier: MIT */
/* Traces of duplicates: answered again, executed once. */
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
	/* A duplicate of an older atomic than the last RXE_MAX_RD_ATOMIC is dropped. */
	struct node_qp_opts opts = world_opts();
	uint32_t i;

	opts.depth = RXE_MAX_RD_ATOMIC + 1;
	connect_ends(&opts);
	set_word(y, 0, 0);
	for (i = 0; i < RXE_MAX_RD_ATOMIC + 1; i++)
		ADD(1, .from = READ_AT);
	world_run_until(&w, 1000);
	skip();
	inject(a, OP_FETCH_ADD, 100, 0);
	inject(a, OP_FETCH_ADD, 101, 0);
	world_run(&w);
	expect("  1000.0 a > FETCH_ADD 100 ackreq\n"
	       "  1000.0 a > FETCH_ADD 101 ackreq\n"
	       "  1005.0 b   duplicate FETCH_ADD 100\n"
	       "  1005.0 b   duplicate FETCH_ADD 101\n"
	       "  1005.0 b > ATOMIC_ACK 101 orig 1\n");
	ck_assert_uint_eq(y->atomics, RXE_MAX_RD_ATOMIC + 1);
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

/* A READ request as a would send it, except for these fields. */
static void inject_read(uint32_t psn, uint64_t va, uint32_t rkey, uint32_t len)
{
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_RC, OP_READ_REQUEST), .psn = psn },
		.reth = { .va = va, .rkey = rkey, .len = len },
	};

	world_inject(&w, a, &packet, NULL);
}

static void expect_b_lives(void)
{
	ck_assert_int_eq(b->qp.state, RXE_QPS_RTS);
	ck_assert_uint_eq(y->num_events, 0);
}

START_TEST(rest_of_a_read)
{
	connect_ends(NULL);
	READ(3000, .from = READ_AT, .to = 0x1000);
	world_run(&w);
	skip();
	inject_read(101, y->base + 0x1000 + 1024, y->key, 1976);
	inject_read(101, y->base + 0x1000 + 1024, y->key, 1024);
	world_run(&w);
	expect("   262.1 a > READ_REQUEST 101 len 1976\n"
	       "   262.1 a > READ_REQUEST 101 len 1024\n"
	       "   267.1 b   duplicate READ_REQUEST 101\n"
	       "   267.1 b   duplicate READ_REQUEST 101\n"
	       "   267.1 b > READ_RESP_FIRST 101 len 1024\n"
	       "   267.1 b > READ_RESP_LAST 102 len 952\n");
}
END_TEST

START_TEST(two_reads_asked_for_as_one)
{
	connect_ends(NULL);
	READ(2048, .from = READ_AT, .to = 0x1000);
	READ(1000, .from = READ_AT, .to = 0x1800);
	world_run(&w);
	skip();
	inject_read(101, y->base + 0x1400, y->key, 2024);
	inject_read(101, y->base + 0x1400, y->key, 2025);
	world_run(&w);
	expect("   262.1 a > READ_REQUEST 101 len 2024\n"
	       "   262.1 a > READ_REQUEST 101 len 2025\n"
	       "   267.1 b   duplicate READ_REQUEST 101\n"
	       "   267.1 b   duplicate READ_REQUEST 101\n"
	       "   267.1 b > READ_RESP_FIRST 101 len 1024\n"
	       "   267.1 b > READ_RESP_LAST 102 len 1000\n");
}
END_TEST

/* Packets of a stranger who knows only the QPN. */
START_TEST(reads_that_never_were_are_dropped)
{
	uint32_t other;

	connect_ends(NULL);
	other = node_reg(y, 0x2000, 0x1000, RXE_REMOTE_READ);
	WRITE(8);
	READ(3000, .from = READ_AT, .to = 0x1000);
	READ(1000, .from = READ_AT, .to = 0x1000);
	world_run(&w);
	skip();
	inject_read(50, y->base, y->key, 8);
	inject_read(50, y->base, UINT32_MAX, 8);
	inject_read(100, y->base, y->key, 8);
	inject_read(100, y->base, UINT32_MAX, 8);
	inject_read(101, y->base + 0x1000, UINT32_MAX, 3000);
	inject_read(101, y->base + 0x2000, other, 8);
	inject_read(101, y->base + 0x1008, y->key, 8);
	inject_read(101, y->base + 0x1000, y->key, 3001);
	inject_read(102, y->base + 0x1000, y->key, 8);
	world_run(&w);
	expect_some("   267.1 b   duplicate READ_REQUEST 102\n");
	ck_assert_uint_eq(y->counters.duplicate_request, 9);
	ck_assert_uint_eq(y->sent, 4); /* the responses to two READs */
	expect_b_lives();
}
END_TEST

START_TEST(duplicate_read_of_an_unmapped_region)
{
	uint32_t key;

	connect_ends(NULL);
	key = node_reg(y, 0, 4096, RXE_REMOTE_READ);
	READ(2000, .from = READ_AT, .rkey = key);
	world_run(&w);
	node_dereg(y, key);
	skip();
	inject_read(100, y->base, key, 2000);
	world_run(&w);
	expect("   262.1 a > READ_REQUEST 100 len 2000\n"
	       "   267.1 b   duplicate READ_REQUEST 100\n");
	expect_b_lives();
}
END_TEST

START_TEST(read_whose_memory_goes_before_it_is_answered_again)
{
	connect_ends(NULL);
	READ(2000, .from = READ_AT, .to = 0x1000);
	world_run(&w);
	y->unmapped_at = y->base + 0x1400;
	y->unmapped_end = y->unmapped_at + 0x1000;
	skip();
	inject_read(100, y->base + 0x1000, y->key, 2000);
	world_run(&w);
	expect("   262.1 a > READ_REQUEST 100 len 2000\n"
	       "   267.1 b   duplicate READ_REQUEST 100\n"
	       "   267.1 b > READ_RESP_FIRST 100 len 1024\n");
	expect_b_lives();
}
END_TEST

START_TEST(read_from_long_ago_is_not_known)
{
	struct node_qp_opts opts = world_opts();
	uint32_t i;

	opts.depth = RC_RECENT_READS + 1;
	connect_ends(&opts);
	for (i = 0; i < RC_RECENT_READS + 1; i++)
		READ(8, .from = READ_AT);
	world_run_until(&w, 1000);
	skip();
	inject_read(100, y->base, y->key, 8);
	inject_read(101, y->base, y->key, 8);
	world_run(&w);
	expect("  1000.0 a > READ_REQUEST 100 len 8\n"
	       "  1000.0 a > READ_REQUEST 101 len 8\n"
	       "  1005.0 b   duplicate READ_REQUEST 100\n"
	       "  1005.0 b   duplicate READ_REQUEST 101\n"
	       "  1005.0 b > READ_RESP_ONLY 101 len 8\n");
}
END_TEST

/* No packet with an old PSN fails the QP, whatever else is wrong with it. */
START_TEST(broken_duplicates)
{
	struct wire_packet swap = {
		.bth = { .opcode = opcode_make(WIRE_RC, OP_CMP_SWAP), .psn = 98 },
		.atomic = { .va = 3, .rkey = UINT32_MAX },
	};
	struct wire_packet wide = {
		.bth = { .opcode = opcode_make(WIRE_RC, OP_WRITE_ONLY), .psn = 99 },
		.reth = { .va = 3, .rkey = UINT32_MAX, .len = UINT32_MAX },
		.payload_len = 8,
	};

	connect_ends(NULL);
	world_inject(&w, a, &swap, NULL);
	world_inject(&w, a, &wide, y->mem);
	inject(a, OP_SEND_MIDDLE, 97, 8);
	inject(a, OP_WRITE_LAST, 97, 0);
	inject(a, OP_SEND_ONLY_INV, 97, 2000);
	inject(a, OP_READ_REQUEST, 97, UINT32_MAX);
	world_run(&w);
	expect_some("     5.0 b   duplicate READ_REQUEST 97\n"
		    "     5.0 b > ACK 99 msn 0\n");
	ck_assert_uint_eq(y->sent, 1);
	ck_assert_uint_eq(y->atomics + y->writes, 0);
	expect_b_lives();
}
END_TEST

RUN_TESTS("duplicate", send, write, read, atomic, ack, read_response, nak, middle_of_a_message,
	  sent_again_after_the_ack_was_lost, atomic_from_long_ago_is_not_known,
	  read_beyond_what_was_asked_is_dropped, rest_of_a_read, two_reads_asked_for_as_one,
	  reads_that_never_were_are_dropped, duplicate_read_of_an_unmapped_region,
	  read_whose_memory_goes_before_it_is_answered_again, read_from_long_ago_is_not_known,
	  broken_duplicates)
