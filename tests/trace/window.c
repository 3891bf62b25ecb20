/* SPDX-License-Identifier: MIT */
/* Traces of the window: smaller after each loss, larger with acknowledged packets, unlimited
 * without a loss. */
#include "emu/rc/nak.h"
#include <string.h>

#include "tests/trace/fixture.h"

static struct rc_window *window(void)
{
	return &a->qp.rc.req.window;
}

static uint32_t in_flight(void)
{
	return (uint32_t)psn_diff(a->qp.rc.req.cur_psn, a->qp.rc.req.una_psn);
}

/* Runs to the end. Returns the most packets that were in flight at once. */
static uint32_t run_for_most(void)
{
	uint32_t most = 0;

	world_flush(&w);
	do {
		if (in_flight() > most)
			most = in_flight();
	} while (world_step(&w, 1000000000));
	return most;
}

static void run_until_lost(void)
{
	world_flush(&w);
	while (rc_window_is_open(window()))
		ck_assert(world_step(&w, 1000000000));
}

START_TEST(a_loss_halves_what_is_under_way)
{
	uint32_t peak;

	connect_with_mtu(4096);
	w.trace.quiet = 1;
	fault("drop a WRITE_MIDDLE 150");
	WRITE(1u << 20, .to = 0x100000);
	world_flush(&w);
	peak = in_flight();
	ck_assert_uint_eq(peak, RXE_WINDOW_BYTES / (4096 + RC_PACKET_COST));
	run_until_lost();
	ck_assert_uint_eq(window()->packets, peak / 2);
	world_flush(&w);
	ck_assert_uint_le(in_flight(), peak / 2);
	world_run(&w);
	expect_same(x, 0, y, 0x100000, 1u << 20);
	ck_assert_uint_eq(x->counters.completer_retry_err, 1);
}
END_TEST

START_TEST(once_for_each_loss)
{
	connect_with_mtu(4096);
	w.trace.quiet = 1;
	/* All these are of one flight, and the NAKs that may follow are of one gap. */
	fault("drop a WRITE_MIDDLE 110");
	fault("drop a WRITE_MIDDLE 112");
	fault("drop a WRITE_MIDDLE 120");
	WRITE(1u << 20, .to = 0x100000);
	run_until_lost();
	ck_assert_uint_eq(window()->packets, 24);
	world_run(&w);
	ck_assert_uint_ge(window()->packets, 24);
	ck_assert_uint_eq(x->counters.completer_retry_err, 1);
}
END_TEST

/* As above, where only what is missing is sent again. Its round trip is not timed (Karn). */
START_TEST(once_for_each_loss_of_a_held_flight)
{
	uint32_t peak;

	node_hold(x);
	node_hold(y);
	connect_with_mtu(4096);
	w.trace.quiet = 1;
	fault("drop a WRITE_MIDDLE 110");
	fault("drop a WRITE_MIDDLE 120");
	WRITE(1u << 20, .to = 0x100000);
	world_flush(&w);
	peak = in_flight();
	ck_assert(a->qp.rc.req.rtt.is_timing);
	run_until_lost();
	ck_assert(!a->qp.rc.req.rtt.is_timing);
	ck_assert_uint_eq(window()->packets, peak / 2);
	world_run(&w);
	ck_assert_uint_ge(window()->packets, peak / 2);
	ck_assert_uint_eq(x->counters.completer_retry_err, 2);
	expect_same(x, 0, y, 0x100000, 1u << 20);
}
END_TEST

START_TEST(it_grows_again)
{
	connect_with_mtu(4096);
	w.trace.quiet = 1;
	fault("drop a WRITE_MIDDLE 110");
	WRITE(1u << 20, .to = 0x100000);
	world_run(&w);
	WRITE(1u << 20, .to = 0x100000);
	world_run(&w);
	/* As much as the peer's socket takes is in flight again. */
	WRITE(1u << 20, .to = 0x100000);
	ck_assert_uint_eq(run_for_most(), RXE_WINDOW_BYTES / (4096 + RC_PACKET_COST));
	ck_assert_uint_eq(x->counters.completer_retry_err, 1);
}
END_TEST

/* Six losses in a row: at least RC_WINDOW_MIN packets are sent at once, and an ACK is requested
 * early enough that no timer expires. */
START_TEST(the_smallest_window_does_not_stall)
{
	connect_with_mtu(1024);
	w.trace.quiet = 1;
	fault("drop a WRITE_MIDDLE 150 x6");
	WRITE(1u << 18, .to = 0x100000);
	run_until_lost();
	while (window()->packets > RC_WINDOW_MIN)
		ck_assert(world_step(&w, 1000000000));
	while (in_flight() > 0)
		ck_assert(world_step(&w, 1000000000));
	expect_same(x, 0, y, 0x100000, 1u << 18);
	ck_assert_uint_eq(x->counters.completer_retry_err, 6);
	ck_assert_uint_lt(w.now_ns, 262000); /* no timeout */
	/* fewer than one for each packet */
	ck_assert_uint_lt(y->sent, x->sent / 2);
}
END_TEST

static uint32_t room_here(void *host, const struct gid *dst, uint32_t slot)
{
	(void)host;
	(void)dst;
	(void)slot;
	return 1;
}

/* The peer's socket is on this host. */
static void make_peer_local(void)
{
	static struct rxe_host_ops ops; /* the teardown uses them too */

	ops = *x->engine.cfg.ops;
	ops.credits = room_here;
	x->engine.cfg.ops = &ops;
}

/* As many losses. */
START_TEST(more_is_left_within_a_host)
{
	uint32_t least = RC_WINDOW_MAX;

	make_peer_local();
	connect_with_mtu(1024);
	w.trace.quiet = 1;
	fault("drop a WRITE_MIDDLE 150 x6");
	WRITE(1u << 18, .to = 0x100000);
	world_flush(&w);
	do {
		if (window()->packets < least)
			least = window()->packets;
	} while (world_step(&w, 1000000000));
	ck_assert_uint_eq(least, RC_WINDOW_MIN_LOCAL);
	expect_same(x, 0, y, 0x100000, 1u << 18);
	ck_assert_uint_eq(x->counters.completer_retry_err, 6);
}
END_TEST

START_TEST(a_local_peer_may_take_more)
{
	make_peer_local();
	x->engine.cfg.local_window = RXE_WINDOW_LOCAL_BYTES;
	connect_with_mtu(4096);
	w.trace.quiet = 1;
	WRITE(1u << 20, .to = 0x100000);
	ck_assert_uint_eq(run_for_most(), RXE_WINDOW_LOCAL_BYTES / (4096 + RC_PACKET_COST));
	expect_same(x, 0, y, 0x100000, 1u << 20);
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
}
END_TEST

/* The device's buffers say nothing about those of other hosts. */
START_TEST(another_host_takes_what_all_take)
{
	x->engine.cfg.local_window = RXE_WINDOW_LOCAL_BYTES;
	connect_with_mtu(4096);
	w.trace.quiet = 1;
	WRITE(1u << 20, .to = 0x100000);
	ck_assert_uint_eq(run_for_most(), RXE_WINDOW_BYTES / (4096 + RC_PACKET_COST));
}
END_TEST

static uint32_t count(const char *text)
{
	uint32_t n = 0;

	for (const char *at = w.trace.text; (at = strstr(at, text)); at++)
		n++;
	return n;
}

/* Inside a message the last packet of a train asks, not the one at 16 KiB. */
START_TEST(the_last_packet_of_a_train_asks)
{
	connect_with_mtu(1024);
	WRITE(100u * 1024, .to = 0x100000);
	world_flush(&w);
	ck_assert_uint_eq(count(" ackreq"), 2);
	expect_some("     0.0 a > WRITE_MIDDLE 163 len 1024 ackreq\n"
		    "     0.0 a > WRITE_LAST 199 len 1024 ackreq\n");
}
END_TEST

/* Inside a message the packet that fills the window asks: nothing else would open it. */
START_TEST(the_packet_that_fills_the_window_asks)
{
	connect_with_mtu(1024);
	a->qp.rc.req.peer->window = 4 * (1024 + RC_PACKET_COST);
	WRITE(20u * 1024, .to = 0x100000);
	world_flush(&w);
	ck_assert_uint_eq(count("a > WRITE"), 4);
	ck_assert_uint_eq(count(" ackreq"), 1);
	expect_some("     0.0 a > WRITE_MIDDLE 103 len 1024 ackreq\n");
	world_run(&w);
	expect_same(x, 0, y, 0x100000, 20u * 1024);
}
END_TEST

START_TEST(a_reader_asks_for_less_at_a_time)
{
	struct node_qp_opts opts = world_opts();

	opts.mtu = 4096;
	opts.rd_atomic = 16;
	connect_ends(&opts);
	fault("drop b READ_RESP_MIDDLE 105");
	READ(1u << 18, .from = READ_AT);
	world_run(&w);
	/* 48 packets were in flight, so the window is 24: twice 8, each up to a multiple of 8. */
	expect_some("     0.0 a > READ_REQUEST 100 len 65536 ackreq\n"
		    "     0.0 a > READ_REQUEST 116 len 65536 ackreq\n"
		    "    10.0 a   rewind to 105\n"
		    "    10.0 a > READ_REQUEST 105 len 12288 ackreq\n"
		    "    10.0 a > READ_REQUEST 108 len 32768 ackreq\n"
		    "    10.0 a > READ_REQUEST 116 len 32768 ackreq\n"
		    "    15.0 b > READ_RESP_LAST 107 len 4096\n");
	expect_same(x, READ_AT, y, 0, 1u << 18);
	ck_assert_uint_eq(a->qp.rc.req.rd_atomic, 0);
}
END_TEST

/* A delayed response to the larger request arrives after smaller requests for the same bytes: it is
 * accepted. */
START_TEST(delayed_responses_to_the_larger_request)
{
	struct node_qp_opts opts = world_opts();

	opts.mtu = 4096;
	connect_ends(&opts);
	w.trace.quiet = 1;
	fault("delay b READ_RESP_MIDDLE 105 6");
	fault("delay b READ_RESP_MIDDLE 107 9");
	fault("delay b READ_RESP_MIDDLE 106 8");
	READ(1u << 18, .from = READ_AT);
	world_run(&w);
	expect_same(x, READ_AT, y, 0, 1u << 18);
	ck_assert_int_eq(a->qp.state, RXE_QPS_RTS);
}
END_TEST

START_TEST(an_rnr_nak_changes_nothing)
{
	connect_ends(NULL);
	w.trace.quiet = 1;
	SEND(64);
	SEND(64);
	world_run_until(&w, 12);
	RECV(64);
	RECV(64);
	world_run(&w);
	ck_assert_uint_ge(x->counters.rcvd_rnr_err, 1);
	ck_assert(rc_window_is_open(window()));
}
END_TEST

START_TEST(a_slow_peer_changes_nothing)
{
	x->engine.cfg.probe_ns = 50000;
	connect_ends(NULL);
	w.trace.quiet = 1;
	world_sleep(&w, y, 120000);
	WRITE(64);
	WRITE(64);
	WRITE(64);
	world_run(&w);
	ck_assert(rc_window_is_open(window()));
	ck_assert_uint_eq(x->sent, 3 + 1);
}
END_TEST

START_TEST(a_new_connection_remembers_nothing)
{
	connect_with_mtu(4096);
	w.trace.quiet = 1;
	fault("drop a WRITE_MIDDLE 110");
	WRITE(1u << 18, .to = 0x100000);
	run_until_lost();
	world_modify(&w, a, RXE_QPS_ERR);
	ck_assert_uint_eq(a->qp.rc.req.peer->in_flight, 0);
	world_modify(&w, a, RXE_QPS_RESET);
	rc_became_rts(&x->engine, &a->qp);
	ck_assert(rc_window_is_open(window()));
}
END_TEST

RUN_TESTS("window", a_loss_halves_what_is_under_way, once_for_each_loss,
	  once_for_each_loss_of_a_held_flight, it_grows_again, the_smallest_window_does_not_stall,
	  more_is_left_within_a_host, a_local_peer_may_take_more, another_host_takes_what_all_take,
	  the_last_packet_of_a_train_asks, the_packet_that_fills_the_window_asks,
	  a_reader_asks_for_less_at_a_time, delayed_responses_to_the_larger_request,
	  an_rnr_nak_changes_nothing, a_slow_peer_changes_nothing,
	  a_new_connection_remembers_nothing)
