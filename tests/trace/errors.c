/* SPDX-License-Identifier: MIT */
/* Traces of faults that a responder detects: its NAK, and completions and events of both sides. */
#include "emu/rc/nak.h"
#include "tests/trace/fixture.h"

START_TEST(write_with_a_wrong_key)
{
	connect_ends(NULL);
	RECV(64);
	WRITE(64);
	WRITE(64, .rkey = 0x12345);
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 102 len 64 ackreq\n"
	       "     5.0 b > NAK 101 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 WR_FLUSH_ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 REM_ACCESS_ERR\n"
	       "    10.0 a   send 3 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(write_beyond_the_region)
{
	connect_ends(NULL);
	WRITE(3500, .rkey = node_reg(y, 0, 2000, RXE_REMOTE_WRITE));
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 102 len 1024\n"
	       "     0.0 a > WRITE_LAST 103 len 428 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
	ck_assert_uint_eq(y->writes, 0);
}
END_TEST

START_TEST(write_to_a_region_without_the_right)
{
	connect_ends(NULL);
	WRITE(64, .rkey = node_reg(y, 0, 2000, RXE_REMOTE_READ));
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(write_to_a_qp_without_the_right)
{
	struct node_qp_opts opts = world_opts();

	opts.rights = RXE_REMOTE_READ;
	connect_ends(&opts);
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

START_TEST(region_goes_in_the_middle)
{
	uint32_t key;

	connect_ends(NULL);
	key = node_reg(y, 0, 4096, RXE_REMOTE_WRITE);
	fault("delay a WRITE_LAST 102 10");
	WRITE(2500, .rkey = key);
	world_run_until(&w, 6);
	node_dereg(y, key);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a l WRITE_LAST 102 len 452 ackreq\n"
	       "    15.0 b > NAK 102 remote access\n"
	       "    15.0 b   to ERR\n"
	       "    15.0 b   event QP_ACCESS_ERR\n"
	       "    20.0 a   to ERR\n"
	       "    20.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(read_with_a_wrong_key)
{
	connect_ends(NULL);
	READ(64, .from = READ_AT, .rkey = 0x12345);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 64 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(read_beyond_the_region)
{
	connect_ends(NULL);
	READ(64, .from = READ_AT, .to = NODE_MEM_BYTES - 63);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 64 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(read_from_a_qp_without_the_right)
{
	struct node_qp_opts opts = world_opts();

	opts.rights = RXE_REMOTE_WRITE;
	connect_ends(&opts);
	READ(64, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 64 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

START_TEST(read_of_unmapped_memory)
{
	connect_ends(NULL);
	y->unmapped_at = y->base + 0x1400;
	y->unmapped_end = y->base + 0x2000;
	READ(3000, .from = READ_AT, .to = 0x1000);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 3000 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > NAK 101 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(answers_before_the_nak_still_leave)
{
	connect_ends(NULL);
	READ(1500, .from = READ_AT);
	READ(64, .from = READ_AT, .rkey = 1);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 1500 ackreq\n"
	       "     0.0 a > READ_REQUEST 102 len 64 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 101 len 476\n"
	       "     5.0 b > NAK 102 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(atomic_with_a_wrong_key)
{
	connect_ends(NULL);
	ADD(1, .from = READ_AT, .rkey = 0x12345);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(atomic_on_a_region_without_the_right)
{
	connect_ends(NULL);
	ADD(1, .from = READ_AT, .rkey = node_reg(y, 0, 64, RXE_REMOTE_WRITE));
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(atomic_that_is_not_aligned)
{
	connect_ends(NULL);
	ADD(1, .from = READ_AT, .to = 4);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
	ck_assert_uint_eq(y->atomics, 0);
}
END_TEST

START_TEST(send_longer_than_the_receive)
{
	connect_ends(NULL);
	RECV(16);
	RECV(64);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 LOC_LEN_ERR\n"
	       "     5.0 b   recv 2 WR_FLUSH_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

START_TEST(send_of_several_longer_than_the_receive)
{
	connect_ends(NULL);
	RECV(1500);
	SEND(2500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_LAST 102 len 452 ackreq\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 LOC_LEN_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

START_TEST(receive_with_a_wrong_key)
{
	connect_ends(NULL);
	world_recv_key(&w, b, RECV_AT, 64, 0x12345);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > NAK 100 remote operational\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 LOC_PROT_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_OP_ERR\n");
}
END_TEST

START_TEST(receive_without_local_write)
{
	connect_ends(NULL);
	world_recv_key(&w, b, 0, 64, node_reg(y, 0, 64, RXE_REMOTE_READ));
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > NAK 100 remote operational\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 LOC_PROT_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_OP_ERR\n");
}
END_TEST

START_TEST(invalidate_of_what_is_not_a_window)
{
	connect_ends(NULL);
	RECV(64);
	POST(a, SEND_WITH_INV, 16, .imm = y->key);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY_INV 100 len 16 inv 0x10051 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 REM_INV_REQ_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(write_with_immediate_that_loses_its_region)
{
	uint32_t key;

	connect_ends(NULL);
	key = node_reg(y, 0, 4096, RXE_REMOTE_WRITE);
	RECV(0);
	fault("delay a WRITE_LAST_IMM 101 10");
	POST(a, RDMA_WRITE_WITH_IMM, 1500, .rkey = key);
	world_run_until(&w, 6);
	node_dereg(y, key);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a l WRITE_LAST_IMM 101 len 476 imm 0x0 ackreq\n"
	       "    15.0 b > NAK 101 remote access\n"
	       "    15.0 b   to ERR\n"
	       "    15.0 b   recv 1 LOC_ACCESS_ERR\n"
	       "    20.0 a   to ERR\n"
	       "    20.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(write_with_immediate_to_a_wrong_key)
{
	connect_ends(NULL);
	RECV(0);
	RECV(0);
	POST(a, RDMA_WRITE_WITH_IMM, 64, .rkey = 0x12345);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY_IMM 100 len 64 imm 0x0 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 LOC_ACCESS_ERR\n"
	       "     5.0 b   recv 2 WR_FLUSH_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

/* Without a receive nothing completes there, and the event says so. */
START_TEST(write_with_immediate_to_a_wrong_key_and_no_receive)
{
	connect_ends(NULL);
	POST(a, RDMA_WRITE_WITH_IMM, 64, .rkey = 0x12345);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY_IMM 100 len 64 imm 0x0 ackreq\n"
	       "     5.0 b > NAK 100 remote access\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_ACCESS_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(too_many_reads)
{
	/* The requester may have two in flight, the responder allows one. */
	connect_ends(NULL);
	b->qp.attr.max_dest_rd_atomic = 1;
	READ(8, .from = READ_AT);
	READ(8, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 8 ackreq\n"
	       "     0.0 a > READ_REQUEST 101 len 8 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 8\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 REM_INV_REQ_ERR\n");
}
END_TEST

/* The QPs were connected before with the same numbers and PSNs, and a packet of that connection was
 * under way. The responder takes it for the first packet of the new one. */
START_TEST(packet_of_an_earlier_connection)
{
	connect_ends(NULL);
	RECV(4000);
	RECV(4000);
	inject(a, OP_SEND_ONLY, 100, 64);
	SEND(2500);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_LAST 102 len 452 ackreq\n"
	       "     5.0 b   duplicate SEND_FIRST 100\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "     5.0 b   recv 2 WR_FLUSH_ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
	ck_assert_int_eq(b->qp.rc.reply.fault, RC_FAULT_SEQUENCE);
}
END_TEST

/* ATOMIC WRITEs count as READs do. */
START_TEST(too_many_atomic_writes)
{
	connect_ends(NULL);
	b->qp.attr.max_dest_rd_atomic = 1;
	POST(a, ATOMIC_WRITE, 8, .to = 0x4000);
	POST(a, ATOMIC_WRITE, 8, .to = 0x4008);
	world_run(&w);
	expect("     0.0 a > ATOMIC_WRITE 100 len 8 ackreq\n"
	       "     0.0 a > ATOMIC_WRITE 101 len 8 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 0\n"
	       "     5.0 b > NAK 101 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 REM_INV_REQ_ERR\n");
	ck_assert(node_is_untouched(y, 0x4008, 8));
}
END_TEST

RUN_TESTS("errors", write_with_a_wrong_key, write_beyond_the_region,
	  write_to_a_region_without_the_right, write_to_a_qp_without_the_right,
	  region_goes_in_the_middle, read_with_a_wrong_key, read_beyond_the_region,
	  read_from_a_qp_without_the_right, read_of_unmapped_memory,
	  answers_before_the_nak_still_leave, atomic_with_a_wrong_key,
	  atomic_on_a_region_without_the_right, atomic_that_is_not_aligned,
	  send_longer_than_the_receive, send_of_several_longer_than_the_receive,
	  receive_with_a_wrong_key, receive_without_local_write, invalidate_of_what_is_not_a_window,
	  write_with_immediate_that_loses_its_region, write_with_immediate_to_a_wrong_key,
	  write_with_immediate_to_a_wrong_key_and_no_receive, too_many_reads,
	  packet_of_an_earlier_connection, too_many_atomic_writes)
