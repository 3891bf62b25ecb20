/* SPDX-License-Identifier: MIT */
/* Traces of faults that a requester detects, in its own memory or in its peer's packets. */
#include "emu/rc/nak.h"
#include "tests/trace/fixture.h"

START_TEST(send_with_a_wrong_key)
{
	connect_ends(NULL);
	SEND(64, .lkey = 0x12345);
	SEND(64);
	world_run(&w);
	expect("     0.0 a   to ERR\n"
	       "     0.0 a   send 1 LOC_PROT_ERR\n"
	       "     0.0 a   send 2 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(those_before_it_finish_first)
{
	connect_ends(NULL);
	RECV(64);
	SEND(64);
	WRITE(2000, .lkey = 0x12345);
	SEND(65);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 LOC_PROT_ERR\n"
	       "    10.0 a   send 3 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(in_the_middle_of_a_message)
{
	connect_ends(NULL);
	x->unmapped_at = x->base + 0x1400;
	x->unmapped_end = x->base + 0x2000;
	WRITE(3000, .from = 0x1000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a   to ERR\n"
	       "     0.0 a   send 1 LOC_PROT_ERR\n");
}
END_TEST

START_TEST(those_before_it_are_sent_again_first)
{
	connect_ends(NULL);
	fault("drop a WRITE_ONLY 100");
	WRITE(64);
	WRITE(64, .lkey = 0x12345);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   267.1 b > ACK 100 msn 1\n"
	       "   272.1 a   to ERR\n"
	       "   272.1 a   send 1 SUCCESS\n"
	       "   272.1 a   send 2 LOC_PROT_ERR\n");
}
END_TEST

START_TEST(read_into_a_wrong_key)
{
	connect_ends(NULL);
	READ(64, .lkey = 0x12345);
	READ(64, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 64 ackreq\n"
	       "     0.0 a > READ_REQUEST 101 len 64 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 64\n"
	       "     5.0 b > READ_RESP_ONLY 101 len 64\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 LOC_PROT_ERR\n"
	       "    10.0 a   send 2 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(read_into_read_only_memory)
{
	connect_ends(NULL);
	READ(64, .lkey = node_reg(x, 0, 64, RXE_REMOTE_READ));
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 64 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 64\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 LOC_PROT_ERR\n");
}
END_TEST

START_TEST(no_reads_allowed)
{
	struct node_qp_opts opts = world_opts();

	opts.rd_atomic = 0;
	connect_ends(&opts);
	RECV(64);
	SEND(64);
	READ(64, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 LOC_QP_OP_ERR\n");
}
END_TEST

START_TEST(answer_that_fits_no_request)
{
	connect_ends(NULL);
	fault("drop a * * x99");
	WRITE(64);
	world_flush(&w);
	inject(b, OP_READ_RESP_ONLY, 100, 64);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 b > READ_RESP_ONLY 100 len 64\n"
	       "     5.0 a   to ERR\n"
	       "     5.0 a   send 1 BAD_RESP_ERR\n");
}
END_TEST

START_TEST(read_answer_of_a_wrong_length)
{
	connect_ends(NULL);
	fault("drop a * * x99");
	READ(64, .from = READ_AT);
	world_flush(&w);
	inject(b, OP_READ_RESP_ONLY, 100, 63);
	world_run(&w);
	expect("     0.0 a x READ_REQUEST 100 len 64 ackreq\n"
	       "     0.0 b > READ_RESP_ONLY 100 len 63\n"
	       "     5.0 a   to ERR\n"
	       "     5.0 a   send 1 BAD_RESP_ERR\n");
}
END_TEST

START_TEST(read_answer_that_ends_too_early)
{
	connect_ends(NULL);
	fault("drop a * * x99");
	READ(3000, .from = READ_AT);
	world_flush(&w);
	inject(b, OP_READ_RESP_FIRST, 100, 1024);
	inject(b, OP_READ_RESP_LAST, 101, 1024);
	world_run(&w);
	expect("     0.0 a x READ_REQUEST 100 len 3000 ackreq\n"
	       "     0.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     0.0 b > READ_RESP_LAST 101 len 1024\n"
	       "     5.0 a   to ERR\n"
	       "     5.0 a   send 1 BAD_RESP_ERR\n");
}
END_TEST

START_TEST(nak_that_nobody_knows)
{
	connect_ends(NULL);
	fault("drop a * * x99");
	WRITE(64);
	world_flush(&w);
	inject_ack(b, 0x6f, 100);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 b > NAK 100 ?\n"
	       "     5.0 a   to ERR\n"
	       "     5.0 a   send 1 BAD_RESP_ERR\n");
}
END_TEST

START_TEST(ghosts_are_ignored)
{
	/* An ACK of a PSN that was never sent, and NAKs of acknowledged requests. */
	connect_ends(NULL);
	WRITE(64);
	world_run_until(&w, 100);
	skip();
	inject_ack(b, AETH_ACK, 101);
	inject_ack(b, RC_NAK_PSN_SEQUENCE, 100);
	inject_ack(b, RC_NAK_REMOTE_ACCESS, 100);
	inject_ack(b, AETH_RNR_NAK | 1, 99);
	inject(b, OP_READ_RESP_ONLY, 100, 64);
	world_run_until(&w, 200);
	WRITE(64);
	world_run(&w);
	expect("   100.0 b > ACK 101 msn 0\n"
	       "   100.0 b > NAK 100 sequence\n"
	       "   100.0 b > NAK 100 remote access\n"
	       "   100.0 b > RNR_NAK 99 timer 1\n"
	       "   100.0 b > READ_RESP_ONLY 100 len 64\n"
	       "   200.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "   205.0 b > ACK 101 msn 2\n"
	       "   210.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(reserved_syndrome_is_ignored)
{
	connect_ends(NULL);
	fault("drop b * *");
	WRITE(64);
	world_flush(&w);
	inject_ack(b, 0x40, 100);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 b x ACK_RESERVED 100 msn 0\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

RUN_TESTS("local_errors", send_with_a_wrong_key, those_before_it_finish_first,
	  in_the_middle_of_a_message, those_before_it_are_sent_again_first, read_into_a_wrong_key,
	  read_into_read_only_memory, no_reads_allowed, answer_that_fits_no_request,
	  read_answer_of_a_wrong_length, read_answer_that_ends_too_early, nak_that_nobody_knows,
	  ghosts_are_ignored, reserved_syndrome_is_ignored)
