/* SPDX-License-Identifier: MIT */
/* Traces of a requester that hears nothing for a good while, and asks again by its oldest packet, long before its ACK timer is over: a
 * lost ACK or NAK that nothing behind it makes good then costs little. */
#include "tests/trace/fixture.h"

static void connect_probing(void)
{
	struct node_qp_opts opts = world_opts();

	x->engine.cfg.probe_ns = 50000;
	connect_ends(&opts);
}

START_TEST(lost_ack)
{
	connect_probing();
	fault("drop b ACK 102");
	RECV(4000);
	SEND(2500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_LAST 102 len 452 ackreq\n"
	       "     5.0 b x ACK 102 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 2500\n"
	       "    50.0 a   asks again with 100\n"
	       "    50.0 a > SEND_FIRST 100 len 1024 ackreq\n"
	       "    55.0 b   duplicate SEND_FIRST 100\n"
	       "    55.0 b > ACK 102 msn 1\n"
	       "    60.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
}
END_TEST

START_TEST(lost_nak)
{
	connect_probing();
	fault("drop a SEND_FIRST 100");
	fault("drop b NAK 100");
	RECV(4000);
	SEND(2500);
	world_run(&w);
	expect_some("     5.0 b x NAK 100 sequence\n"
		    "    50.0 a   asks again with 100\n"
		    "    50.0 a > SEND_FIRST 100 len 1024 ackreq\n"
		    "    55.0 b > ACK 100 msn 0\n"
		    "    60.0 a > SEND_MIDDLE 101 len 1024\n"
		    "    60.0 a > SEND_LAST 102 len 452 ackreq\n"
		    "    65.0 b > ACK 102 msn 1\n"
		    "    70.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
}
END_TEST

START_TEST(lost_last_packet)
{
	connect_probing();
	fault("drop a WRITE_LAST 102");
	WRITE(2500);
	world_run(&w);
	expect_some("    50.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
		    "    55.0 b > ACK 101 msn 0\n"
		    "    60.0 a > WRITE_LAST 102 len 452 ackreq\n"
		    "    70.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(lost_read_answer)
{
	connect_probing();
	fault("drop b READ_RESP_ONLY 100");
	READ(64, .from = READ_AT);
	world_run(&w);
	expect_some("    50.0 a > READ_REQUEST 100 len 64 ackreq\n"
		    "    55.0 b > READ_RESP_ONLY 100 len 64\n"
		    "    60.0 a   send 1 SUCCESS\n");
}
END_TEST

/* Once: nothing but the timer may go on after that, and it is where it was. */
START_TEST(lost_as_well)
{
	connect_probing();
	fault("drop b ACK 100");
	fault("drop b ACK 100");
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b x ACK 100 msn 1\n"
	       "    50.0 a   asks again with 100\n"
	       "    50.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "    55.0 b   duplicate WRITE_ONLY 100\n"
	       "    55.0 b x ACK 100 msn 1\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   267.1 b   duplicate WRITE_ONLY 100\n"
	       "   267.1 b > ACK 100 msn 1\n"
	       "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

/* The peer was only slow: one packet too many. */
START_TEST(asked_for_nothing)
{
	connect_probing();
	world_sleep(&w, y, 80000);
	RECV(64);
	RECV(64);
	SEND(64);
	SEND(60);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 60 ackreq\n"
	       "    50.0 a   asks again with 100\n"
	       "    50.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    80.0 b   duplicate SEND_ONLY 100\n"
	       "    80.0 b > ACK 101 msn 2\n"
	       "    80.0 b   recv 1 SUCCESS len 64\n"
	       "    80.0 b   recv 2 SUCCESS len 60\n"
	       "    85.0 a   send 1 SUCCESS\n"
	       "    85.0 a   send 2 SUCCESS\n");
}
END_TEST

/* A timer that is as short is asked for by whoever set it. */
START_TEST(not_beside_a_short_timer)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 4; /* 65 us */
	x->engine.cfg.probe_ns = 50000;
	connect_ends(&opts);
	fault("drop b ACK 100");
	WRITE(64);
	world_run(&w);
	expect_some("    65.5 a   timeout, 6 left, rewind to 100\n");
}
END_TEST

START_TEST(not_while_the_peer_asked_for_peace)
{
	struct node_qp_opts opts = world_opts();

	opts.rnr_timer = 10; /* 320 us */
	x->engine.cfg.probe_ns = 50000;
	connect_ends(&opts);
	SEND(64);
	world_run_until(&w, 100);
	RECV(64);
	world_run(&w);
	expect_some("     5.0 b > RNR");
	ck_assert_uint_eq(y->counters.send_rnr_err, 1);
	ck_assert_uint_eq(y->arrived, 2);
}
END_TEST

RUN_TESTS("probe", lost_ack, lost_nak, lost_last_packet, lost_read_answer, lost_as_well,
	  asked_for_nothing, not_beside_a_short_timer, not_while_the_peer_asked_for_peace)
