/* SPDX-License-Identifier: MIT */
/* Traces of limits of what is in flight: READs and atomics, and bytes to one peer. */
#include "tests/trace/fixture.h"

START_TEST(reads_up_to_max_rd_atomic)
{
	struct node_qp_opts opts = world_opts();

	opts.rd_atomic = 2;
	connect_ends(&opts);
	READ(8, .from = READ_AT);
	READ(9, .from = READ_AT);
	ADD(1, .from = READ_AT);
	READ(10, .from = READ_AT);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 8 ackreq\n"
	       "     0.0 a > READ_REQUEST 101 len 9 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 8\n"
	       "     5.0 b > READ_RESP_ONLY 101 len 9\n"
	       "    10.0 a > FETCH_ADD 102 ackreq\n"
	       "    10.0 a > READ_REQUEST 103 len 10 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n"
	       "    15.0 b > ATOMIC_ACK 102 orig 10849040117045357669\n"
	       "    15.0 b > READ_RESP_ONLY 103 len 10\n"
	       "    20.0 a   send 3 SUCCESS\n"
	       "    20.0 a   send 4 SUCCESS\n");
}
END_TEST

START_TEST(others_do_not_overtake)
{
	struct node_qp_opts opts = world_opts();

	opts.rd_atomic = 1;
	connect_ends(&opts);
	RECV(64);
	READ(8, .from = READ_AT);
	READ(9, .from = READ_AT);
	SEND(10);
	world_run(&w);
	expect("     0.0 a > READ_REQUEST 100 len 8 ackreq\n"
	       "     5.0 b > READ_RESP_ONLY 100 len 8\n"
	       "    10.0 a > READ_REQUEST 101 len 9 ackreq\n"
	       "    10.0 a > SEND_ONLY 102 len 10 ackreq\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    15.0 b > READ_RESP_ONLY 101 len 9\n"
	       "    15.0 b > ACK 102 msn 3\n"
	       "    15.0 b   recv 1 SUCCESS len 10\n"
	       "    20.0 a   send 2 SUCCESS\n"
	       "    20.0 a   send 3 SUCCESS\n");
}
END_TEST

START_TEST(a_long_write_keeps_to_its_window)
{
	uint32_t most = 0;

	connect_with_mtu(4096);
	w.trace.quiet = 1;
	WRITE(1u << 20, .to = 0x100000);
	world_flush(&w);
	do {
		ck_assert_uint_le(a->qp.rc.req.in_flight, RXE_WINDOW_BYTES);
		ck_assert_uint_eq(a->qp.rc.req.in_flight, a->qp.rc.req.peer->in_flight);
		if (a->qp.rc.req.in_flight > most)
			most = a->qp.rc.req.in_flight;
	} while (world_step(&w, 1000000));
	ck_assert_uint_gt(most, RXE_WINDOW_BYTES * 3 / 4);
	ck_assert_uint_eq(a->qp.rc.req.in_flight, 0);
	expect_same(x, 0, y, 0x100000, 1u << 20);
	/* No timer expired. */
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
	ck_assert_uint_eq(y->counters.duplicate_request, 0);
}
END_TEST

START_TEST(a_long_read_keeps_to_its_window)
{
	connect_with_mtu(4096);
	w.trace.quiet = 1;
	READ(1u << 20, .from = 0x200000);
	world_flush(&w);
	do {
		ck_assert_uint_le(a->qp.rc.req.in_flight, RXE_WINDOW_BYTES);
		ck_assert_uint_le(a->qp.rc.req.rd_atomic, 4);
	} while (world_step(&w, 1000000));
	expect_same(x, 0x200000, y, 0, 1u << 20);
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
	ck_assert_uint_eq(y->counters.duplicate_request, 0);
}
END_TEST

START_TEST(qps_to_one_peer_share_it)
{
	struct end *c, *d;
	struct node_qp_opts opts = world_opts();

	opts.mtu = 4096;
	connect_ends(&opts);
	world_pair(&w, x, y, &opts, &c, &d);
	w.trace.quiet = 1;
	WRITE(500000, .to = 0x100000);
	POST(c, RDMA_WRITE, 500000, .from = 0x80000, .to = 0x180000);
	world_flush(&w);
	do {
		ck_assert_uint_le(a->qp.rc.req.peer->in_flight, RXE_WINDOW_BYTES + 5000);
	} while (world_step(&w, 1000000));
	expect_same(x, 0, y, 0x100000, 500000);
	expect_same(x, 0x80000, y, 0x180000, 500000);
	ck_assert_uint_eq(x->counters.completer_retry_err, 0);
}
END_TEST

START_TEST(a_dead_qp_gives_its_share_back)
{
	struct end *c, *d;
	struct node_qp_opts opts = world_opts();

	opts.mtu = 4096;
	connect_ends(&opts);
	world_pair(&w, x, y, &opts, &c, &d);
	w.trace.quiet = 1;
	fault("drop a * * x9999");
	WRITE(500000);
	world_flush(&w);
	ck_assert_uint_gt(c->qp.rc.req.peer->in_flight, 0);
	world_modify(&w, a, RXE_QPS_ERR);
	ck_assert_uint_eq(c->qp.rc.req.peer->in_flight, 0);
}
END_TEST

START_TEST(a_stranger_reads_a_lot_at_a_time)
{
	/* A READ of 256 KiB in one request is answered in bursts. */
	connect_with_mtu(4096);
	w.trace.quiet = 1;
	inject(a, OP_READ_REQUEST, 100, 1u << 18);
	world_run_until(&w, 5);
	ck_assert_uint_eq(w.sent, 16);
	world_run_until(&w, 22);
	ck_assert_uint_eq(w.sent, 32);
	world_run(&w);
	ck_assert_uint_eq(w.sent, 64);
}
END_TEST

RUN_TESTS("pipelining", reads_up_to_max_rd_atomic, others_do_not_overtake,
	  a_long_write_keeps_to_its_window, a_long_read_keeps_to_its_window,
	  qps_to_one_peer_share_it, a_dead_qp_gives_its_share_back,
	  a_stranger_reads_a_lot_at_a_time)
