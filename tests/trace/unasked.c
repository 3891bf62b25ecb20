/* SPDX-License-Identifier: MIT */
/* Traces of requests without AckReq: unsignalled ones between processes of one machine. Their peer
 * acknowledges them once someone waits for that. */
#include "tests/trace/fixture.h"

#define PROBE_NS 8000000u

static void connect_as(struct node_qp_opts opts)
{
	x->engine.cfg.probe_ns = PROBE_NS;
	connect_ends(&opts);
}

static struct node_qp_opts with_timeout(uint8_t timeout)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = timeout;
	return opts;
}

/* The ACK timer: 134 ms. */
static void on_one_machine(void)
{
	world_share_machine(&w);
	connect_as(with_timeout(15));
}

static void send_quietly(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		RECV(8);
		SEND(8, .quiet = true);
	}
}

static void at(double us)
{
	world_run_until(&w, us);
	skip();
}

START_TEST(the_eighth_asks)
{
	on_one_machine();
	send_quietly(7);
	at(10);
	ck_assert_uint_eq(x->sent, 7);
	ck_assert_uint_eq(y->sent, 0);
	send_quietly(1);
	world_run(&w);
	expect("    10.0 a > SEND_ONLY 107 len 8 ackreq\n"
	       "    15.0 b > ACK 107 msn 8\n"
	       "    15.0 b   recv 8 SUCCESS len 8\n");
	ck_assert_uint_eq(rxe_ring_used(&a->qp.sq), 0);
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
	ck_assert_uint_eq(x->sent, 8);
}
END_TEST

START_TEST(a_signalled_one_asks_for_all)
{
	on_one_machine();
	send_quietly(2);
	at(10);
	WRITE(8);
	world_run(&w);
	expect("    10.0 a > WRITE_ONLY 102 len 8 ackreq\n"
	       "    15.0 b > ACK 102 msn 3\n"
	       "    20.0 a   send 3 SUCCESS\n");
}
END_TEST

START_TEST(a_response_acknowledges_those_before)
{
	on_one_machine();
	WRITE(8, .quiet = true);
	at(10);
	READ(8, .from = READ_AT);
	world_run(&w);
	expect_some("    10.0 a > READ_REQUEST 101 len 8 ackreq\n"
		    "    15.0 b > READ_RESP_ONLY 101 len 8\n"
		    "    20.0 a   send 2 SUCCESS");
	ck_assert_uint_eq(x->sent, 2);
}
END_TEST

/* Four times as late as one for a request with AckReq. */
START_TEST(a_probe_asks_in_the_end)
{
	uint32_t threshold;

	on_one_machine();
	threshold = b->qp.rc.reply.threshold;
	send_quietly(3);
	at(10);
	world_run(&w);
	expect(" 32000.0 a   probe of psn 100\n"
	       " 32000.0 a > SEND_ONLY 100 len 8 ackreq\n"
	       " 32005.0 b   duplicate SEND_ONLY 100\n"
	       " 32005.0 b > ACK 102 msn 3\n");
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
	/* The next ACKs may be delayed as before. */
	ck_assert_uint_eq(b->qp.rc.reply.threshold, threshold);
	ck_assert_uint_eq(rxe_ring_used(&a->qp.sq), 0);
}
END_TEST

/* A request that has AckReq and is lost after others is probed for as any other. */
START_TEST(the_time_of_the_probe_is_that_of_the_first_that_asks)
{
	on_one_machine();
	send_quietly(1);
	at(1000);
	fault("drop a WRITE_ONLY 101");
	WRITE(8);
	world_run(&w);
	expect_some("  1000.0 a x WRITE_ONLY 101 len 8 ackreq\n"
		    "  9000.0 a   probe\n"
		    "  9000.0 a > SEND_ONLY 100 len 8 ackreq\n"
		    "  9005.0 b > ACK 100 msn 1\n"
		    "  9010.0 a > WRITE_ONLY 101 len 8 ackreq\n"
		    "  9020.0 a   send 2 SUCCESS");
}
END_TEST

START_TEST(one_that_is_lost_is_missed_by_the_next)
{
	on_one_machine();
	fault("drop a SEND_ONLY 100");
	send_quietly(2);
	world_run(&w);
	expect_some("     0.0 a x SEND_ONLY 100 len 8\n"
		    "     0.0 a > SEND_ONLY 101 len 8\n"
		    "     5.0 b > NAK 100 sequence\n"
		    "    10.0 a > SEND_ONLY 100 len 8 ackreq\n"
		    "    15.0 b   recv 1 SUCCESS len 8\n");
	ck_assert_uint_eq(rxe_ring_used(&a->qp.sq), 0);
}
END_TEST

START_TEST(the_last_that_is_lost_is_sent_by_the_probe)
{
	on_one_machine();
	fault("drop a SEND_ONLY 100");
	send_quietly(1);
	world_run(&w);
	expect("     0.0 a x SEND_ONLY 100 len 8\n"
	       " 32000.0 a   probe of psn 100\n"
	       " 32000.0 a > SEND_ONLY 100 len 8 ackreq\n"
	       " 32005.0 b > ACK 100 msn 1\n"
	       " 32005.0 b   recv 1 SUCCESS len 8\n");
}
END_TEST

static void expect_asked(void)
{
	WRITE(8, .quiet = true);
	world_run(&w);
	expect_some("a > WRITE_ONLY 100 len 8 ackreq\nb > ACK 100 msn 1");
}

START_TEST(another_machine_is_asked)
{
	connect_as(with_timeout(15));
	expect_asked();
}
END_TEST

/* The ACK timer would expire before the probe. */
START_TEST(a_short_timeout_asks)
{
	world_share_machine(&w);
	connect_as(with_timeout(13));
	expect_asked();
}
END_TEST

START_TEST(without_probes_all_ask)
{
	struct node_qp_opts opts = with_timeout(15);

	world_share_machine(&w);
	connect_ends(&opts);
	expect_asked();
}
END_TEST

/* The program reads how many are done. */
START_TEST(those_that_are_counted_ask)
{
	struct rxe_comp_cntr cntr = { .counts_bytes = false };

	on_one_machine();
	a->qp.cntrs.of[RXE_CNTR_WRITE] = &cntr;
	expect_asked();
	ck_assert_uint_eq(atomic_load(&cntr.completed), 1);
}
END_TEST

START_TEST(several_packets_ask)
{
	on_one_machine();
	WRITE(1500, .quiet = true);
	world_run(&w);
	expect_some("a > WRITE_LAST 101 len 476 ackreq\nb > ACK 101 msn 1");
}
END_TEST

/* Other queue pairs to the same peer need the rest of its window. */
START_TEST(half_a_window_asks)
{
	on_one_machine();
	a->qp.rc.req.peer->window = 2 * 4 * (200 + RC_PACKET_COST);
	for (uint32_t i = 0; i < 5; i++)
		WRITE(200, .quiet = true);
	world_run_until(&w, 20);
	expect_some("     0.0 a > WRITE_ONLY 103 len 200\n"
		    "     0.0 a > WRITE_ONLY 104 len 200 ackreq\n"
		    "     5.0 b > ACK 104 msn 5\n");
	ck_assert_uint_eq(y->sent, 1);
}
END_TEST

/* The answer to the eighth ends the wait of those that gather. */
START_TEST(requests_gather_behind_one_that_asks)
{
	on_one_machine();
	for (uint32_t i = 0; i < 8; i++)
		WRITE(8, .quiet = true);
	at(1);
	WRITE(8, .quiet = true);
	world_run_until(&w, 10);
	expect("     5.0 b > ACK 107 msn 8\n"
	       "    10.0 a > WRITE_ONLY 108 len 8\n");
}
END_TEST

START_TEST(a_drain_asks)
{
	on_one_machine();
	WRITE(8, .quiet = true);
	at(10);
	world_modify(&w, a, RXE_QPS_SQD);
	world_run(&w);
	expect("    10.0 a   probe of psn 100\n"
	       "    10.0 a > WRITE_ONLY 100 len 8 ackreq\n"
	       "    15.0 b   duplicate WRITE_ONLY 100\n"
	       "    15.0 b > ACK 100 msn 1\n"
	       "    20.0 a   event SQ_DRAINED\n");
}
END_TEST

/* It completes after the requests before it. */
START_TEST(a_local_operation_asks)
{
	uint32_t window;

	on_one_machine();
	window = node_add_mw(x, RXE_MR_WINDOW_2);
	WRITE(8, .quiet = true);
	at(10);
	POST(a, BIND_MW, 0,
	     .bind = { .addr = x->base + 0x4000u,
		       .len = 64,
		       .mw = window,
		       .rkey = 1,
		       .region = node_reg(x, 0x4000u, 4096, RXE_LOCAL_WRITE | RXE_MW_BIND),
		       .rights = RXE_REMOTE_WRITE });
	world_run(&w);
	expect_some("    10.0 a > WRITE_ONLY 100 len 8 ackreq\n"
		    "    15.0 b > ACK 100 msn 1\n"
		    "    20.0 a   bind 2 SUCCESS");
}
END_TEST

/* What the peer has received is done, as its record says. */
START_TEST(err_flushes_what_has_not_arrived)
{
	on_one_machine();
	send_quietly(2);
	at(10);
	fault("drop a SEND_ONLY 102");
	send_quietly(1);
	world_run_until(&w, 20);
	skip();
	world_modify(&w, a, RXE_QPS_ERR);
	world_run(&w);
	expect("    20.0 a   to ERR\n"
	       "    20.0 a   send 3 WR_FLUSH_ERR\n");
}
END_TEST

START_TEST(err_flushes_nothing_that_has_arrived)
{
	on_one_machine();
	send_quietly(2);
	at(10);
	world_modify(&w, a, RXE_QPS_ERR);
	world_run(&w);
	expect("    10.0 a   to ERR\n");
}
END_TEST

/* A record is another process's: it may hold anything. */
START_TEST(an_unsound_record_completes_nothing)
{
	on_one_machine();
	send_quietly(1);
	at(10);
	for (uint32_t i = 0; i < RXE_MAX_DELAYED_ACKS; i++)
		y->time_wait->delayed[i].psn = 0xdeadbeef;
	world_modify(&w, a, RXE_QPS_ERR);
	world_run(&w);
	expect_some("a   send 1 WR_FLUSH_ERR");
}
END_TEST

/* The server acknowledges what the process had received, up to the last. */
START_TEST(the_peer_may_be_killed)
{
	on_one_machine();
	send_quietly(3);
	at(10);
	node_kill(y, w.now_ns);
	b = NULL;
	world_flush(&w);
	world_run(&w);
	expect("    10.0 ? > ACK 102 msn 3\n");
	ck_assert_uint_eq(rxe_ring_used(&a->qp.sq), 0);
}
END_TEST

RUN_TESTS("unasked", the_eighth_asks, a_signalled_one_asks_for_all,
	  a_response_acknowledges_those_before, a_probe_asks_in_the_end,
	  the_time_of_the_probe_is_that_of_the_first_that_asks,
	  one_that_is_lost_is_missed_by_the_next, the_last_that_is_lost_is_sent_by_the_probe,
	  another_machine_is_asked, a_short_timeout_asks, without_probes_all_ask,
	  those_that_are_counted_ask, several_packets_ask, half_a_window_asks,
	  requests_gather_behind_one_that_asks, a_drain_asks, a_local_operation_asks,
	  err_flushes_what_has_not_arrived, err_flushes_nothing_that_has_arrived,
	  an_unsound_record_completes_nothing, the_peer_may_be_killed)
