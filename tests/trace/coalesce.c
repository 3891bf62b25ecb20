/* SPDX-License-Identifier: MIT */
/* Traces of acknowledgements that stand for many requests. */
#include "tests/trace/fixture.h"

START_TEST(a_batch_has_one_ack)
{
	uint32_t i;

	connect_ends(NULL);
	for (i = 0; i < 5; i++) {
		RECV(8);
		SEND(i + 1);
	}
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 1 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 2 ackreq\n"
	       "     0.0 a > SEND_ONLY 102 len 3 ackreq\n"
	       "     0.0 a > SEND_ONLY 103 len 4 ackreq\n"
	       "     0.0 a > SEND_ONLY 104 len 5 ackreq\n"
	       "     5.0 b > ACK 104 msn 5\n"
	       "     5.0 b   recv 1 SUCCESS len 1\n"
	       "     5.0 b   recv 2 SUCCESS len 2\n"
	       "     5.0 b   recv 3 SUCCESS len 3\n"
	       "     5.0 b   recv 4 SUCCESS len 4\n"
	       "     5.0 b   recv 5 SUCCESS len 5\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n"
	       "    10.0 a   send 3 SUCCESS\n"
	       "    10.0 a   send 4 SUCCESS\n"
	       "    10.0 a   send 5 SUCCESS\n");
	ck_assert_uint_eq(w.trains, 3);
	ck_assert_uint_eq(y->counters.ack_deferred, 4);
}
END_TEST

START_TEST(equal_sizes_share_a_train)
{
	uint32_t i;

	connect_ends(NULL);
	for (i = 0; i < 64; i++) {
		RECV(8);
		SEND(8, .quiet = i < 63);
	}
	world_run(&w);
	expect_some("a > SEND_ONLY 163\n5.0 b > ACK 163 msn 64\na   send 64 SUCCESS");
	ck_assert_uint_eq(w.trains, 2);
}
END_TEST

/* Ten are under way: what comes one by one meanwhile waits for company or for an answer, whichever
 * is first. */
START_TEST(small_requests_gather_behind_others)
{
	uint32_t i;

	connect_ends(NULL);
	for (i = 0; i < 10; i++)
		WRITE(8);
	world_run_until(&w, 1);
	skip();
	WRITE(8);
	/* The post left the engine nothing to do. */
	ck_assert(rxe_engine_is_settled(&x->engine));
	world_run_until(&w, 2);
	WRITE(8);
	world_run_until(&w, 3);
	expect("");
	world_run_until(&w, 10);
	expect_some("10.0 a > WRITE_ONLY 110 len 8 ackreq\n10.0 a > WRITE_ONLY 111 len 8 ackreq");
	world_run(&w);
	ck_assert_uint_eq(w.trains, 4);
}
END_TEST

START_TEST(gathered_requests_leave_when_they_are_many)
{
	uint32_t i;

	connect_ends(NULL);
	for (i = 0; i < 10; i++)
		WRITE(8);
	world_run_until(&w, 1);
	for (i = 0; i < 16; i++)
		WRITE(8);
	world_run_until(&w, 2);
	expect_some("1.0 a > WRITE_ONLY 125 len 8 ackreq");
	ck_assert_uint_eq(w.trains, 2);
}
END_TEST

/* Half of what a deep queue holds is under way while the other half gathers. */
START_TEST(more_gather_behind_more_in_flight)
{
	uint32_t i;

	connect_ends(NULL);
	for (i = 0; i < 40; i++)
		WRITE(8);
	world_run_until(&w, 1);
	skip();
	for (i = 0; i < 39; i++)
		WRITE(8);
	world_run_until(&w, 2);
	expect("");
	WRITE(8);
	world_run_until(&w, 3);
	expect_some("2.0 a > WRITE_ONLY 140 len 8 ackreq\n2.0 a > WRITE_ONLY 141 len 8 ackreq");
	ck_assert_uint_eq(w.trains, 2);
	/* 80 are in flight: a train of 48 is long enough. */
	for (i = 0; i < 47; i++)
		WRITE(8);
	world_run_until(&w, 4);
	ck_assert_uint_eq(w.trains, 2);
	WRITE(8);
	world_run_until(&w, 4.5);
	ck_assert_uint_eq(w.trains, 3);
	skip();
	world_run(&w);
	expect_some("5.0 b > ACK 139 msn 40\n7.0 b > ACK 179 msn 80\n9.0 b > ACK 227 msn 128");
}
END_TEST

START_TEST(a_large_request_waits_for_nobody)
{
	uint32_t i;

	connect_ends(NULL);
	for (i = 0; i < 10; i++)
		WRITE(8);
	world_run_until(&w, 1);
	WRITE(8);
	WRITE(1000);
	world_run_until(&w, 2);
	expect_some("1.0 a > WRITE_ONLY 111 len 1000 ackreq");
}
END_TEST

/* A small request at the end of the queue is no reason to stop inside a long message, where nothing
 * has asked for an answer. */
START_TEST(a_message_under_way_waits_for_nobody)
{
	connect_ends(NULL);
	x->max_segs = 1;
	WRITE(10000);
	WRITE(8);
	world_run_until(&w, 1);
	expect_some("0.0 a > WRITE_MIDDLE 107 len 1024\n"
		    "0.0 a > WRITE_MIDDLE 108 len 1024\n"
		    "0.0 a > WRITE_LAST 109 len 784 ackreq\n");
	world_run(&w);
	expect("     5.0 b > ACK 109 msn 1\n"
	       "    10.0 a > WRITE_ONLY 110 len 8 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    15.0 b > ACK 110 msn 2\n"
	       "    20.0 a   send 2 SUCCESS\n");
}
END_TEST

/* A window that was full opens by what an ACK covers: were each packet to ask again, it would open
 * by one packet forever. */
START_TEST(a_full_window_does_not_open_by_single_packets)
{
	uint32_t i;

	connect_with_mtu(4096);
	w.link.ns_per_kb = 819; /* 10 Gbit/s */
	for (i = 0; i < 32; i++)
		WRITE(65536);
	world_run(&w);
	expect_some("a   send 32 SUCCESS");
	ck_assert_uint_eq(x->sent, 32 * 16);
	ck_assert_uint_lt(y->sent, 32 * 16 / 3);
}
END_TEST

START_TEST(trains_off)
{
	connect_ends(NULL);
	x->max_segs = 1;
	y->max_segs = 1;
	WRITE(64);
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "     5.0 b > ACK 101 msn 2\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(w.trains, 3);
}
END_TEST

START_TEST(a_read_answers_for_those_before)
{
	connect_ends(NULL);
	WRITE(64);
	WRITE(64);
	READ(64, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 64 ackreq\n"
	       "     0.0 a > READ_REQUEST 102 len 64 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 102 len 64\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n"
	       "    10.0 a   send 3 SUCCESS\n");
}
END_TEST

START_TEST(several_qps_share_an_ack_train)
{
	struct end *c, *d;
	const struct node_qp_opts opts = world_opts();

	connect_ends(NULL);
	world_pair(&w, x, y, &opts, &c, &d);
	WRITE(64);
	POST(c, RDMA_WRITE, 64);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 c > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 d > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 c   send 1 SUCCESS\n");
	ck_assert_uint_eq(w.trains, 2);
}
END_TEST

/* Writes to and fro, each 2 us after the other's came: after a few, an ACK waits for the write that
 * follows. */
static void volley(uint32_t turns)
{
	while (turns-- > 0) {
		POST(a, RDMA_WRITE, 8);
		world_run_until(&w, (double)w.now_ns / 1000 + 7);
		POST(b, RDMA_WRITE, 8);
		world_run_until(&w, (double)w.now_ns / 1000 + 7);
	}
}

START_TEST(an_ack_is_held_where_requests_follow)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	volley(5);
	skip();
	volley(2);
	expect("    70.0 a > WRITE_ONLY 105 len 8 ackreq\n"
	       "    73.0 b   send 5 SUCCESS\n"
	       "    77.0 b > WRITE_ONLY 505 len 8 ackreq\n"
	       "    77.0 b > ACK 105 msn 6\n"
	       "    82.0 a > ACK 505 msn 6\n"
	       "    82.0 a   send 6 SUCCESS\n"
	       "    84.0 a > WRITE_ONLY 106 len 8 ackreq\n"
	       "    87.0 b   send 6 SUCCESS\n"
	       "    91.0 b > WRITE_ONLY 506 len 8 ackreq\n"
	       "    91.0 b > ACK 106 msn 7\n"
	       "    96.0 a > ACK 506 msn 7\n"
	       "    96.0 a   send 7 SUCCESS\n");
	/* Nothing follows the last one: its ACK leaves alone, and the next is not held. */
	WRITE(8);
	world_run_until(&w, 150);
	WRITE(8);
	world_run_until(&w, 250);
	expect("    98.0 a > WRITE_ONLY 107 len 8 ackreq\n"
	       "   101.0 b   send 7 SUCCESS\n"
	       "   123.0 b > ACK 107 msn 8\n"
	       "   128.0 a   send 8 SUCCESS\n"
	       "   150.0 a > WRITE_ONLY 108 len 8 ackreq\n"
	       "   155.0 b > ACK 108 msn 9\n"
	       "   160.0 a   send 9 SUCCESS\n");
}
END_TEST

/* A slow host holds ACKs for longer, one that is as fast as before for as long as before. */
START_TEST(the_host_changes_how_long_acks_are_held)
{
	struct rxe_engine *engine;

	connect_ends(NULL);
	engine = &b->node->engine;
	rxe_engine_set_ack_delay(engine, 60000);
	ck_assert_uint_eq(b->qp.rc.reply.ack_delay_ns, 0);
	engine->cfg.ack_delay_ns = b->qp.rc.reply.ack_delay_ns = 20000;
	rxe_engine_set_ack_delay(engine, 40000);
	ck_assert_uint_eq(b->qp.rc.reply.ack_delay_ns, 20000);
	rxe_engine_set_ack_delay(engine, 60000);
	ck_assert_uint_eq(b->qp.rc.reply.ack_delay_ns, 60000);
	rxe_engine_set_ack_delay(engine, 10000);
	ck_assert_uint_eq(b->qp.rc.reply.ack_delay_ns, 10000);
}
END_TEST

/* A poller sleeps until the engine is due. */
START_TEST(a_held_ack_that_has_left_leaves_no_deadline)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	volley(6);
	skip();
	WRITE(8);
	world_run_until(&w, 90);
	ck_assert_uint_eq(rxe_engine_deadline(&y->engine), 109000);
	POST(b, RDMA_WRITE, 8);
	world_run_until(&w, 91);
	ck_assert_uint_gt(rxe_engine_deadline(&y->engine), 109000);
	expect_some("    90.0 b > ACK 106 msn 7\n");
}
END_TEST

static bool is_recorded(const struct end *end)
{
	const struct rxe_time_wait *delayed = end->node->time_wait->delayed;

	for (uint32_t i = 0; i < RXE_MAX_DELAYED_ACKS; i++) {
		if (delayed[i].qpn == end->qp.qpn)
			return true;
	}
	return false;
}

START_TEST(a_recorded_ack_of_what_completes_a_receive_is_held)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	volley(6);
	skip();
	RECV(8);
	SEND(8);
	ck_assert(!is_recorded(b));
	world_run_until(&w, 90);
	ck_assert(is_recorded(b));
	world_run_until(&w, 150);
	expect("    84.0 a > SEND_ONLY 106 len 8 ackreq\n"
	       "    87.0 b   send 6 SUCCESS\n"
	       "    89.0 b   recv 1 SUCCESS len 8\n"
	       "   109.0 b > ACK 106 msn 7\n"
	       "   114.0 a   send 7 SUCCESS\n");
	ck_assert(!is_recorded(b));
}
END_TEST

START_TEST(one_that_cannot_be_recorded_is_not_held)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	y->engine.cfg.time_wait = NULL;
	volley(6);
	skip();
	RECV(8);
	SEND(8);
	world_run_until(&w, 150);
	expect("    84.0 a > SEND_ONLY 106 len 8 ackreq\n"
	       "    87.0 b   send 6 SUCCESS\n"
	       "    89.0 b > ACK 106 msn 7\n"
	       "    89.0 b   recv 1 SUCCESS len 8\n"
	       "    94.0 a   send 7 SUCCESS\n");
}
END_TEST

/* The response acknowledges the SEND before it: no ACK follows, and no record stays. */
START_TEST(a_read_response_takes_the_place_of_a_held_ack)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	volley(6);
	skip();
	RECV(8);
	SEND(8);
	READ(8, .to = READ_AT);
	world_run_until(&w, 90);
	ck_assert(!is_recorded(b));
	world_run_until(&w, 150);
	expect("    84.0 a > SEND_ONLY 106 len 8 ackreq\n"
	       "    84.0 a > READ_REQUEST 107 len 8 ackreq\n"
	       "    87.0 b   send 6 SUCCESS\n"
	       "    89.0 b > READ_RESP_ONLY 107 len 8\n"
	       "    89.0 b   recv 1 SUCCESS len 8\n"
	       "    94.0 a   send 7 SUCCESS\n"
	       "    94.0 a   send 8 SUCCESS\n");
}
END_TEST

/* So does a NAK: here of the next SEND, for which there is no receive. */
START_TEST(a_nak_takes_the_place_of_a_held_ack)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	volley(6);
	skip();
	RECV(8);
	SEND(8);
	world_run_until(&w, 91);
	ck_assert(is_recorded(b));
	SEND(8);
	world_run_until(&w, 97);
	ck_assert(!is_recorded(b));
	expect("    84.0 a > SEND_ONLY 106 len 8 ackreq\n"
	       "    87.0 b   send 6 SUCCESS\n"
	       "    89.0 b   recv 1 SUCCESS len 8\n"
	       "    91.0 a > SEND_ONLY 107 len 8 ackreq\n"
	       "    96.0 b > RNR_NAK 107 timer 1\n");
}
END_TEST

/* A gap shows while the ACK is held, and closes before the NAK leaves: the ACK is still due. */
START_TEST(a_nak_that_is_withdrawn_leaves_the_held_ack)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	volley(6);
	skip();
	RECV(8);
	SEND(8);
	world_run_until(&w, 90);
	rc_reply_nak(&b->qp.rc.reply, RC_FAULT_PSN_GAP, 107);
	rc_reply_withdraw_nak(&b->qp.rc.reply);
	world_run_until(&w, 150);
	expect_some("   109.0 b > ACK 106 msn 7\n");
	ck_assert(!is_recorded(b));
}
END_TEST

/* The SEND, a gap after it and the packet that closes the gap arrive in one turn. */
START_TEST(a_nak_that_is_withdrawn_leaves_the_ack)
{
	connect_ends(NULL);
	fault("delay a WRITE_FIRST 101 2");
	y->asleep_until_ns = 20000;
	RECV(8);
	SEND(8);
	WRITE(2500);
	world_run_until(&w, 26);
	expect_some("    20.0 b > ACK 101 msn 1\n"
		    "    20.0 b   recv 1 SUCCESS len 8\n"
		    "    25.0 a   send 1 SUCCESS\n");
}
END_TEST

/* 64 requests fill a train: the last one leaves its place to the ACK, and gathers. */
START_TEST(a_full_train_has_a_place_for_the_ack)
{
	connect_ends(NULL);
	y->asleep_until_ns = 20000;
	WRITE(8);
	for (uint32_t i = 0; i < 64; i++)
		POST(b, RDMA_WRITE, 64);
	world_run_until(&w, 21);
	expect_some("    20.0 b > WRITE_ONLY 562 len 64 ackreq\n"
		    "    20.0 b > ACK 100 msn 1\n");
	ck_assert_uint_eq(w.trains, 2);
}
END_TEST

START_TEST(an_ack_does_not_wait_behind_a_long_answer)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	volley(6);
	skip();
	RECV(8);
	SEND(8);
	world_run_until(&w, 90);
	world_recv(&w, a, RECV_AT, 4096);
	POST(b, SEND, 2000);
	world_run_until(&w, 98);
	expect("    84.0 a > SEND_ONLY 106 len 8 ackreq\n"
	       "    87.0 b   send 6 SUCCESS\n"
	       "    89.0 b   recv 1 SUCCESS len 8\n"
	       "    90.0 b > ACK 106 msn 7\n"
	       "    90.0 b > SEND_FIRST 506 len 1024\n"
	       "    90.0 b > SEND_LAST 507 len 976 ackreq\n"
	       "    95.0 a > ACK 507 msn 7\n"
	       "    95.0 a   send 7 SUCCESS\n"
	       "    95.0 a   recv 1 SUCCESS len 2000\n");
}
END_TEST

START_TEST(a_duplicate_ends_the_holding)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	volley(6);
	skip();
	fault("dup a WRITE_ONLY 106");
	WRITE(8);
	world_run_until(&w, 150);
	WRITE(8);
	world_run_until(&w, 170);
	expect("    84.0 a d WRITE_ONLY 106 len 8 ackreq\n"
	       "    87.0 b   send 6 SUCCESS\n"
	       "    89.0 b   duplicate WRITE_ONLY 106\n"
	       "    89.0 b > ACK 106 msn 7\n"
	       "    94.0 a   send 7 SUCCESS\n"
	       "   150.0 a > WRITE_ONLY 107 len 8 ackreq\n"
	       "   155.0 b > ACK 107 msn 8\n"
	       "   160.0 a   send 8 SUCCESS\n");
}
END_TEST

RUN_TESTS("coalesce", a_batch_has_one_ack, equal_sizes_share_a_train,
	  small_requests_gather_behind_others, gathered_requests_leave_when_they_are_many,
	  more_gather_behind_more_in_flight, a_large_request_waits_for_nobody,
	  a_message_under_way_waits_for_nobody, a_full_window_does_not_open_by_single_packets,
	  trains_off, a_read_answers_for_those_before, several_qps_share_an_ack_train,
	  an_ack_is_held_where_requests_follow, the_host_changes_how_long_acks_are_held,
	  a_held_ack_that_has_left_leaves_no_deadline,
	  a_recorded_ack_of_what_completes_a_receive_is_held,
	  one_that_cannot_be_recorded_is_not_held, a_read_response_takes_the_place_of_a_held_ack,
	  a_nak_takes_the_place_of_a_held_ack, a_nak_that_is_withdrawn_leaves_the_held_ack,
	  a_nak_that_is_withdrawn_leaves_the_ack, a_full_train_has_a_place_for_the_ack,
	  an_ack_does_not_wait_behind_a_long_answer, a_duplicate_ends_the_holding)
