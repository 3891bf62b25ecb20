/* SPDX-License-Identifier: MIT */
/* Traces of probes: a requester without a response sends its oldest packet again, long before its
 * ACK timer expires. So a lost ACK or NAK at the end costs little. */
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
	       "    50.0 a   probe of psn 100\n"
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
		    "    50.0 a   probe of psn 100\n"
		    "    50.0 a > SEND_FIRST 100 len 1024 ackreq\n"
		    "    55.0 b > ACK 100 msn 0\n"
		    "    60.0 a > SEND_MIDDLE 101 len 1024\n"
		    "    60.0 a > SEND_LAST 102 len 452 ackreq\n"
		    "    65.0 b > ACK 102 msn 1\n"
		    "    70.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
}
END_TEST

/* The first response acknowledges what was before; then the missing packet is the oldest. */
START_TEST(lost_last_packet)
{
	connect_probing();
	fault("drop a WRITE_LAST 102");
	WRITE(2500);
	world_run(&w);
	expect_some("    50.0 a > WRITE_FIRST 100 len 1024 ackreq\n"
		    "    55.0 b > ACK 101 msn 0\n"
		    "   110.0 a > WRITE_LAST 102 len 452 ackreq\n"
		    "   120.0 a   send 1 SUCCESS\n");
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

/* The next probe follows after twice the time. The ACK timer is unchanged. */
START_TEST(lost_as_well)
{
	connect_probing();
	fault("drop b ACK 100 x3");
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b x ACK 100 msn 1\n"
	       "    50.0 a   probe of psn 100\n"
	       "    50.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "    55.0 b   duplicate WRITE_ONLY 100\n"
	       "    55.0 b x ACK 100 msn 1\n"
	       "   150.0 a   probe of psn 100\n"
	       "   150.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   155.0 b   duplicate WRITE_ONLY 100\n"
	       "   155.0 b x ACK 100 msn 1\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   267.1 b   duplicate WRITE_ONLY 100\n"
	       "   267.1 b > ACK 100 msn 1\n"
	       "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

/* Two packets were lost at the end: the probe delivers the first, and the packets after it are
 * sent again at once. */
START_TEST(lost_last_packets)
{
	connect_probing();
	fault("drop a WRITE_ONLY *");
	fault("drop a WRITE_ONLY *");
	WRITE(64);
	WRITE(65);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a x WRITE_ONLY 101 len 65 ackreq\n"
	       "    50.0 a   probe of psn 100\n"
	       "    50.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "    55.0 b > ACK 100 msn 1\n"
	       "    60.0 a   rewind to 101\n"
	       "    60.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "    60.0 a   send 1 SUCCESS\n"
	       "    65.0 b > ACK 101 msn 2\n"
	       "    70.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
}
END_TEST

/* The probe asks for one packet. Its response shows that the others are missing. */
START_TEST(lost_long_read_answer)
{
	connect_probing();
	fault("drop b * * x3");
	READ(2500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 2500 ackreq\n"
	       "     5.0 b x READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b x READ_RESP_MIDDLE 101 len 1024\n"
	       "     5.0 b x READ_RESP_LAST 102 len 452\n"
	       "    50.0 a   probe of psn 100\n"
	       "    50.0 a > READ_REQUEST 100 len 1024 ackreq\n"
	       "    55.0 b   duplicate READ_REQUEST 100\n"
	       "    55.0 b > READ_RESP_ONLY 100 len 1024\n"
	       "    60.0 a   rewind to 101\n"
	       "    60.0 a > READ_REQUEST 101 len 1476 ackreq\n"
	       "    65.0 b   duplicate READ_REQUEST 101\n"
	       "    65.0 b > READ_RESP_FIRST 101 len 1024\n"
	       "    65.0 b > READ_RESP_LAST 102 len 452\n"
	       "    70.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 2500);
}
END_TEST

/* The usual setting: a probe after 8 ms, an ACK timer four times as long. */
static void connect_patient(void)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 13; /* 33.6 ms */
	x->engine.cfg.probe_ns = 8000000;
	connect_ends(&opts);
}

/* Where packets are lost and a round trip takes 10 us, the probe is sent earlier, but not
 * before 100 us, because a peer may be busy for a moment. */
START_TEST(sooner_where_packets_get_lost)
{
	connect_patient();
	fault("drop a WRITE_ONLY 101");
	fault("drop b ACK 103");
	WRITE(64);
	world_run_until(&w, 20);
	WRITE(64);
	WRITE(64);
	world_run_until(&w, 60);
	skip();
	WRITE(64);
	world_run(&w);
	expect_some("    60.0 a > WRITE_ONLY 103 len 64 ackreq\n"
		    "    65.0 b x ACK 103 msn 4\n"
		    "   160.0 a   probe of psn 103\n"
		    "   170.0 a   send 4 SUCCESS\n");
}
END_TEST

/* Without losses, short round trips do not shorten the probe: most probes would be useless. */
START_TEST(no_sooner_without_losses)
{
	connect_patient();
	fault("drop b ACK 101");
	WRITE(64);
	world_run_until(&w, 20);
	skip();
	WRITE(64);
	world_run(&w);
	expect_some("    20.0 a > WRITE_ONLY 101 len 64 ackreq\n"
		    "    25.0 b x ACK 101 msn 2\n"
		    "  8020.0 a   probe of psn 101\n"
		    "  8030.0 a   send 2 SUCCESS\n");
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
	       "    50.0 a   probe of psn 100\n"
	       "    50.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    80.0 b   duplicate SEND_ONLY 100\n"
	       "    80.0 b > ACK 101 msn 2\n"
	       "    80.0 b   recv 1 SUCCESS len 64\n"
	       "    80.0 b   recv 2 SUCCESS len 60\n"
	       "    85.0 a   send 1 SUCCESS\n"
	       "    85.0 a   send 2 SUCCESS\n");
}
END_TEST

/* An ACK timer shorter than the probe is kept as the program set it. */
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

START_TEST(not_during_an_rnr_back_off)
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
	  lost_last_packets, lost_long_read_answer, sooner_where_packets_get_lost,
	  no_sooner_without_losses, asked_for_nothing, not_beside_a_short_timer,
	  not_during_an_rnr_back_off)
