/* SPDX-License-Identifier: MIT */
/* Traces of send queues with a rate limit. At 80 Mb/s a byte takes 0.1 us. */
#include "emu/qp.h"
#include "tests/trace/fixture.h"

#define KBPS 80000

static void set_rate(struct end *end, uint32_t kbps, uint32_t burst)
{
	const struct rxe_qp_attr attr = { .rate_limit = kbps, .max_burst = burst };

	ck_assert_int_eq(
		rxe_qp_modify(&end->node->engine, &end->qp, &attr, RXE_QP_RATE_LIMIT, w.now_ns),
		MODIFY_OK);
}

/* Each packet takes its time, headers and ICRC included, and a pause asks for an ACK: the ACK timer
 * of 262 us does not run meanwhile. */
START_TEST(packet_by_packet)
{
	connect_ends(NULL);
	set_rate(a, KBPS, 1);
	WRITE(3500, .to = 0x1001);
	WRITE(8);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
	       "     5.0 b > ACK 100 msn 0\n"
	       "   105.6 a > WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "   110.6 b > ACK 101 msn 0\n"
	       "   209.6 a > WRITE_MIDDLE 102 len 1024 ackreq\n"
	       "   214.6 b > ACK 102 msn 0\n"
	       "   313.6 a > WRITE_LAST 103 len 428 ackreq\n"
	       "   318.6 b > ACK 103 msn 1\n"
	       "   323.6 a   send 1 SUCCESS\n"
	       "   358.0 a > WRITE_ONLY 104 len 8 ackreq\n"
	       "   363.0 b > ACK 104 msn 2\n"
	       "   368.0 a   send 2 SUCCESS\n");
	expect_same(x, 0, y, 0x1001, 3500);
}
END_TEST

/* What fits the burst leaves at once, and again after a pause. */
START_TEST(bursts)
{
	connect_ends(NULL);
	set_rate(a, KBPS, 3000);
	WRITE(5000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "     5.0 b > ACK 101 msn 0\n"
	       "    12.0 a > WRITE_MIDDLE 102 len 1024 ackreq\n"
	       "    17.0 b > ACK 102 msn 0\n"
	       "   116.0 a > WRITE_MIDDLE 103 len 1024 ackreq\n"
	       "   121.0 b > ACK 103 msn 0\n"
	       "   220.0 a > WRITE_LAST 104 len 904 ackreq\n"
	       "   225.0 b > ACK 104 msn 1\n"
	       "   230.0 a   send 1 SUCCESS\n");
}
END_TEST

/* Responses are not limited, nor is the other direction. */
START_TEST(requests_only)
{
	connect_ends(NULL);
	set_rate(b, KBPS, 1);
	READ(3000);
	WRITE(3000);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 3000 ackreq\n"
	       "     0.0 a > WRITE_FIRST 103 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 104 len 1024\n"
	       "     0.0 a > WRITE_LAST 105 len 952 ackreq\n"
	       "     5.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 102 len 952\n"
	       "     5.0 b > ACK 105 msn 2\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
}
END_TEST

/* A queue that waits for its rate goes on at once when the limit is lifted. */
START_TEST(lifted)
{
	connect_ends(NULL);
	set_rate(a, 1, 1);
	WRITE(2000);
	world_run_until(&w, 1000);
	expect("     0.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
	       "     5.0 b > ACK 100 msn 0\n");
	set_rate(a, 0, 0);
	world_run(&w);
	expect("  1000.0 a > WRITE_LAST 101 len 976 ackreq\n"
	       "  1005.0 b > ACK 101 msn 1\n"
	       "  1010.0 a   send 1 SUCCESS\n");
}
END_TEST

/* A lost packet is sent again at the rate also. */
START_TEST(resent_at_the_rate)
{
	connect_ends(NULL);
	set_rate(a, KBPS, 1);
	fault("drop a WRITE_MIDDLE 101");
	WRITE(3000);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
	       "     5.0 b > ACK 100 msn 0\n"
	       "   105.6 a x WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "   209.6 a > WRITE_LAST 102 len 952 ackreq\n"
	       "   214.6 b   early WRITE_LAST 102\n"
	       "   214.6 b > NAK 101 sequence\n"
	       "   219.6 a   rewind to 101\n"
	       "   306.4 a > WRITE_MIDDLE 101 len 1024 ackreq\n"
	       "   311.4 b > ACK 101 msn 0\n"
	       "   410.4 a > WRITE_LAST 102 len 952 ackreq\n"
	       "   415.4 b > ACK 102 msn 1\n"
	       "   420.4 a   send 1 SUCCESS\n");
}
END_TEST

RUN_TESTS("rate", packet_by_packet, bursts, requests_only, lifted, resent_at_the_rate)
