/* SPDX-License-Identifier: MIT */
/* Traces of two ends that send at the same time. */
#include "tests/trace/fixture.h"

START_TEST(an_ack_rides_behind_a_request)
{
	/* At 10 us b gets the response that its fenced request waits for, and a request to
	 * acknowledge: both leave in one train. */
	connect_ends(NULL);
	RECV(64);
	world_recv(&w, a, RECV_AT, 64);
	POST(b, RDMA_READ, 8, .from = READ_AT);
	POST(b, SEND, 64, .flags = RXE_SEND_FENCE);
	world_run_until(&w, 5);
	SEND(64);
	world_run_until(&w, 9);
	ck_assert_uint_eq(w.trains, 3);
	world_run_until(&w, 11);
	ck_assert_uint_eq(w.trains, 4);
	world_run(&w);
	expect("     0.0 b > READ_REQUEST 500 len 8 ackreq\n"
	       "     5.0 a > READ_RESP_ONLY 500 len 8\n"
	       "     5.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    10.0 b > SEND_ONLY 501 len 64 ackreq\n"
	       "    10.0 b > ACK 100 msn 1\n"
	       "    10.0 b   send 1 SUCCESS\n"
	       "    10.0 b   recv 1 SUCCESS len 64\n"
	       "    15.0 a > ACK 501 msn 2\n"
	       "    15.0 a   recv 1 SUCCESS len 64\n"
	       "    15.0 a   send 1 SUCCESS\n"
	       "    20.0 b   send 2 SUCCESS\n");
}
END_TEST

START_TEST(writes_cross)
{
	connect_ends(NULL);
	WRITE(2500, .to = 0x1000);
	POST(b, RDMA_WRITE, 2500, .to = 0x2000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "     0.0 b > WRITE_FIRST 500 len 1024\n"
	       "     0.0 b > WRITE_MIDDLE 501 len 1024\n"
	       "     0.0 b > WRITE_LAST 502 len 452 ackreq\n"
	       "     5.0 a > ACK 502 msn 1\n"
	       "     5.0 b > ACK 102 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 b   send 1 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 2500);
	expect_same(y, 0, x, 0x2000, 2500);
}
END_TEST

START_TEST(reads_cross)
{
	connect_ends(NULL);
	READ(1500, .from = READ_AT);
	POST(b, RDMA_READ, 1500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 1500 ackreq\n"
	       "     0.0 b > READ_REQUEST 500 len 1500 ackreq\n"
	       "     5.0 a > READ_RESP_FIRST 500 len 1024\n"
	       "     5.0 a > READ_RESP_LAST 501 len 476\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 101 len 476\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 b   send 1 SUCCESS\n");
}
END_TEST

START_TEST(losses_cross)
{
	connect_ends(NULL);
	fault("drop a WRITE_FIRST 100");
	fault("drop b WRITE_MIDDLE 501");
	WRITE(2500, .to = 0x1000);
	POST(b, RDMA_WRITE, 2500, .to = 0x2000);
	world_run(&w);
	expect("     0.0 a x WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "     0.0 b > WRITE_FIRST 500 len 1024\n"
	       "     0.0 b x WRITE_MIDDLE 501 len 1024\n"
	       "     0.0 b > WRITE_LAST 502 len 452 ackreq\n"
	       "     5.0 b   early WRITE_MIDDLE 101\n"
	       "     5.0 b   early WRITE_LAST 102\n"
	       "     5.0 a   early WRITE_LAST 502\n"
	       "     5.0 a > NAK 501 sequence\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 b   rewind to 501\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > WRITE_FIRST 100 len 1024\n"
	       "    10.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "    10.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "    10.0 b > WRITE_MIDDLE 501 len 1024\n"
	       "    10.0 b > WRITE_LAST 502 len 452 ackreq\n"
	       "    15.0 a > ACK 502 msn 1\n"
	       "    15.0 b > ACK 102 msn 1\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 b   send 1 SUCCESS\n");
	expect_same(x, 0, y, 0x1000, 2500);
	expect_same(y, 0, x, 0x2000, 2500);
}
END_TEST

RUN_TESTS("both_ways", an_ack_rides_behind_a_request, writes_cross, reads_cross, losses_cross)
