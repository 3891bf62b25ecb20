/* SPDX-License-Identifier: MIT */
/* Traces of a transport's quality under faults: reordering, several gaps, a storm of RNR NAKs,
 * floods within bounded memory. docs/TESTING.md lists them all with their traces. */
#include "emu/rc/nak.h"
#include "tests/trace/fixture.h"

/* One packet overtaken by all others: one NAK, one retransmission, no timeout. */
START_TEST(reordered_within_a_window)
{
	connect_ends(NULL);
	fault("delay a WRITE_ONLY 101 2");
	WRITE(64);
	WRITE(65);
	WRITE(66);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a l WRITE_ONLY 101 len 65 ackreq\n"
	       "     0.0 a > WRITE_ONLY 102 len 66 ackreq\n"
	       "     5.0 b   early WRITE_ONLY 102\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "     7.0 b > ACK 101 msn 2\n"
	       "    10.0 a   rewind to 101\n"
	       "    10.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "    10.0 a > WRITE_ONLY 102 len 66 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    12.0 a   send 2 SUCCESS\n"
	       "    15.0 b   duplicate WRITE_ONLY 101\n"
	       "    15.0 b > ACK 102 msn 3\n"
	       "    20.0 a   send 3 SUCCESS\n");
	ck_assert_uint_eq(x->counters.completer_retry_err, 1);
}
END_TEST

/* A response overtaken by a later one is requested again; the delayed one is taken or ignored. */
START_TEST(read_responses_change_places)
{
	connect_ends(NULL);
	fault("delay b READ_RESP_FIRST 100 2");
	READ(1500, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 1500 ackreq\n"
	       "     5.0 b l READ_RESP_FIRST 100 len 1024\n"
	       "     5.0 b > READ_RESP_LAST 101 len 476\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > READ_REQUEST 100 len 1500 ackreq\n"
	       "    15.0 b   duplicate READ_REQUEST 100\n"
	       "    15.0 b > READ_RESP_FIRST 100 len 1024\n"
	       "    15.0 b > READ_RESP_LAST 101 len 476\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, READ_AT, y, 0, 1500);
}
END_TEST

START_TEST(acks_change_places)
{
	connect_ends(NULL);
	fault("delay b ACK 100 10");
	WRITE(64);
	world_run_until(&w, 2);
	WRITE(65);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     2.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "     5.0 b l ACK 100 msn 1\n"
	       "     7.0 b > ACK 101 msn 2\n"
	       "    12.0 a   send 1 SUCCESS\n"
	       "    12.0 a   send 2 SUCCESS\n");
}
END_TEST

/* An early packet, then the missing one before any output: no NAK, because nothing is missing any
 * more. */
START_TEST(a_gap_that_closes_at_once_causes_no_nak)
{
	connect_ends(NULL);
	inject(a, OP_WRITE_ONLY, 101, 8);
	inject(a, OP_WRITE_ONLY, 100, 8);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 101 len 8 ackreq\n"
	       "     0.0 a > WRITE_ONLY 100 len 8 ackreq\n"
	       "     5.0 b   early WRITE_ONLY 101\n"
	       "     5.0 b > ACK 100 msn 1\n");
}
END_TEST

/* One NAK for each gap: the second gap has its own, without a timeout. */
START_TEST(a_second_gap_causes_a_nak_too)
{
	connect_ends(NULL);
	fault("drop a WRITE_ONLY 100");
	fault("drop a WRITE_ONLY 103");
	WRITE(64);
	WRITE(65);
	world_run_until(&w, 100);
	WRITE(66);
	WRITE(67);
	WRITE(68);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "     5.0 b   early WRITE_ONLY 101\n"
	       "     5.0 b > NAK 100 sequence\n"
	       "    10.0 a   rewind to 100\n"
	       "    10.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "    10.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "    15.0 b > ACK 101 msn 2\n"
	       "    20.0 a   send 1 SUCCESS\n"
	       "    20.0 a   send 2 SUCCESS\n"
	       "   100.0 a > WRITE_ONLY 102 len 66 ackreq\n"
	       "   100.0 a x WRITE_ONLY 103 len 67 ackreq\n"
	       "   100.0 a > WRITE_ONLY 104 len 68 ackreq\n"
	       "   105.0 b   early WRITE_ONLY 104\n"
	       "   105.0 b > NAK 103 sequence\n"
	       "   110.0 a   rewind to 103\n"
	       "   110.0 a > WRITE_ONLY 103 len 67 ackreq\n"
	       "   110.0 a > WRITE_ONLY 104 len 68 ackreq\n"
	       "   110.0 a   send 3 SUCCESS\n"
	       "   115.0 b > ACK 104 msn 5\n"
	       "   120.0 a   send 4 SUCCESS\n"
	       "   120.0 a   send 5 SUCCESS\n");
	ck_assert_uint_eq(x->counters.rcvd_seq_err, 2);
}
END_TEST

/* After a storm of RNR NAKs every QP waits for its own time, none spends retries of another, and
 * all messages arrive. */
START_TEST(rnr_storm)
{
	struct node_qp_opts opts = world_opts();
	struct end *c, *d;

	opts.use_srq = true;
	connect_ends(&opts);
	world_pair(&w, x, y, &opts, &c, &d);
	SEND(10);
	POST(c, SEND, 11);
	world_run_until(&w, 30);
	world_srq_recv(&w, y, 1, RECV_AT, 64);
	world_run_until(&w, 60);
	world_srq_recv(&w, y, 2, RECV_AT + 64, 64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "     0.0 c > SEND_ONLY 100 len 11 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "     5.0 d > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    10.0 c   wait until 20.0, rewind to 100\n"
	       "    20.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "    20.0 c > SEND_ONLY 100 len 11 ackreq\n"
	       "    25.0 b > RNR_NAK 100 timer 1\n"
	       "    25.0 d > RNR_NAK 100 timer 1\n"
	       "    30.0 a   wait until 40.0, rewind to 100\n"
	       "    30.0 c   wait until 40.0, rewind to 100\n"
	       "    40.0 a > SEND_ONLY 100 len 10 ackreq\n"
	       "    40.0 c > SEND_ONLY 100 len 11 ackreq\n"
	       "    45.0 b > ACK 100 msn 1\n"
	       "    45.0 d > RNR_NAK 100 timer 1\n"
	       "    45.0 b   recv 1 SUCCESS len 10\n"
	       "    50.0 c   wait until 60.0, rewind to 100\n"
	       "    50.0 a   send 1 SUCCESS\n"
	       "    60.0 c > SEND_ONLY 100 len 11 ackreq\n"
	       "    65.0 d > ACK 100 msn 1\n"
	       "    65.0 d   recv 2 SUCCESS len 11\n"
	       "    70.0 c   send 1 SUCCESS\n");
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
}
END_TEST

/* A duplicated RNR NAK causes one wait, and spends one retry. */
START_TEST(rnr_nak_twice_is_one)
{
	struct node_qp_opts opts = world_opts();

	opts.rnr_retry = 1;
	connect_ends(&opts);
	fault("dup b RNR_NAK 100");
	SEND(64);
	world_run_until(&w, 12);
	RECV(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b d RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    20.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "    25.0 b > ACK 100 msn 1\n"
	       "    25.0 b   recv 1 SUCCESS len 64\n"
	       "    30.0 a   send 1 SUCCESS\n");
}
END_TEST

/* At most RXE_MAX_RD_ATOMIC responses wait, whatever a peer requests again; the rest counts as
 * lost. */
START_TEST(a_flood_of_duplicate_reads_is_bounded)
{
	struct node_qp_opts opts = world_opts();
	uint32_t i;

	opts.depth = RC_RECENT_READS;
	connect_ends(&opts);
	for (i = 0; i < RC_RECENT_READS; i++)
		READ(8, .from = READ_AT);
	world_run(&w);
	skip();
	for (i = 0; i < RC_RECENT_READS; i++)
		inject(a, OP_READ_REQUEST, 100 + i, 8);
	w.trains = w.sent = 0;
	world_run(&w);
	ck_assert_uint_eq(w.sent, RXE_MAX_RD_ATOMIC);
	ck_assert_uint_eq(b->qp.rc.reply.tail - b->qp.rc.reply.head, 0);
	skip();
}
END_TEST

/* A hundred equal ACKs: nothing is sent again, and no retry is spent. */
START_TEST(a_flood_of_ghost_acks_costs_nothing)
{
	uint32_t i;

	connect_ends(NULL);
	WRITE(64);
	world_run(&w);
	skip();
	WRITE(65);
	for (i = 0; i < 100; i++)
		inject_ack(b, AETH_ACK, 100);
	world_run(&w);
	expect_some("267.1 b > ACK 101 msn 2\n272.1 a   send 2 SUCCESS");
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
}
END_TEST

/* The right QPN and PSN from a host that is not the peer: its requests and responses are
 * dropped. */
START_TEST(a_stranger_is_not_believed)
{
	struct node_qp_opts opts = world_opts();
	struct end *c, *d;

	connect_ends(NULL);
	c = node_add_qp(world_add_node(&w), 'c', &opts);
	d = node_add_qp(c->node, 'd', &opts);
	node_connect(c, b, &opts, 500);
	node_connect(d, a, &opts, 100);
	fault("drop b ACK 100");
	inject(c, OP_WRITE_ONLY, 100, 8);
	WRITE(64);
	world_run_until(&w, 6);
	inject_ack(d, RC_NAK_REMOTE_ACCESS, 100);
	inject_ack(d, AETH_ACK, 100);
	world_run_until(&w, 20);
	expect("     0.0 c > WRITE_ONLY 100 len 8 ackreq\n"
	       "     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b x ACK 100 msn 1\n"
	       "     6.0 d > NAK 100 remote access\n"
	       "     6.0 d > ACK 100 msn 0\n");
	ck_assert_uint_eq(y->writes, 64);
	ck_assert_uint_eq(y->counters.rcvd_dropped, 1);
	ck_assert_uint_eq(x->counters.rcvd_dropped, 2);
}
END_TEST

/* A response with a PSN that was never sent is ignored, NAKs included. */
START_TEST(naks_from_the_future_are_ignored)
{
	connect_ends(NULL);
	WRITE(64);
	world_run_until(&w, 1);
	inject_ack(b, RC_NAK_PSN_SEQUENCE, 101);
	inject_ack(b, RC_NAK_REMOTE_ACCESS, 200);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     1.0 b > NAK 101 sequence\n"
	       "     1.0 b > NAK 200 remote access\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

RUN_TESTS("quality", reordered_within_a_window, read_responses_change_places, acks_change_places,
	  a_gap_that_closes_at_once_causes_no_nak, a_second_gap_causes_a_nak_too, rnr_storm,
	  rnr_nak_twice_is_one, a_flood_of_duplicate_reads_is_bounded,
	  a_flood_of_ghost_acks_costs_nothing, a_stranger_is_not_believed,
	  naks_from_the_future_are_ignored)
