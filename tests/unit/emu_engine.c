// SPDX-License-Identifier: MIT
/* The engine around the transports: numbers, demultiplexing, checks of arrivals, turns, deadlines,
 * failing. */
#include <stdlib.h>
#include <string.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/min.h"
#include "emu/peer.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu_fixture.h"
#include "net/wire/gid.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/suite.h"

static struct end *end;
static struct qp_set set;

static void setup(void)
{
	end = end_new(2, 5);
	qp_new(end, &set, RXE_QPT_UC, NULL, FIXTURE_CQE);
}

static void teardown(void)
{
	qp_free(end, &set);
	end_free(end);
}

/* Every number of an index is used before any is used again; reserved numbers never are. */
START_TEST(numbers_roll_on)
{
	uint8_t *seen = calloc(1, 1 << 24);
	uint32_t i, n = 65536 - 2 - 1; /* without 0, 1, and the fixture's */

	ck_assert_ptr_nonnull(seen);
	seen[set.qp.qpn] = 1;
	qp_free(end, &set);
	for (i = 0; i < n; i++) {
		uint32_t qpn = rxe_engine_alloc_qpn(&end->engine);

		ck_assert_uint_eq(qpn >> RXE_SLOT_SHIFT, 5);
		ck_assert_uint_ge(qpn & 0xffff, 2);
		if (i < n - RXE_MAX_QP)
			ck_assert_uint_eq(seen[qpn]++, 0);
	}
	free(seen);
	qp_new(end, &set, RXE_QPT_UC, NULL, FIXTURE_CQE);
}
END_TEST

/* The slot's next process continues after the last number. */
START_TEST(numbers_outlive_a_process)
{
	struct rxe_engine_cfg cfg = end->engine.cfg;
	uint32_t last = 0xf7fe, i;

	cfg.qpn_last = last;
	qp_free(end, &set);
	rxe_engine_init(&end->engine, &cfg);
	for (i = 1; i < 60000; i++) {
		uint32_t want = (last + i) & 0xffff;

		if (want ==
		    0) /* 0 and 1 are reserved, so their indices are one round ahead from here on */
			break;
		ck_assert_uint_eq(rxe_engine_alloc_qpn(&end->engine) & 0xffff, want);
	}
	qp_new(end, &set, RXE_QPT_UC, NULL, FIXTURE_CQE);
}
END_TEST

/* With a key the same numbers are used once each, in an order that depends on the key. */
START_TEST(numbers_are_shuffled)
{
	struct rxe_engine_cfg cfg = end->engine.cfg;
	uint8_t *seen = calloc(1, 1 << 16);
	uint32_t in_order = 0, last = 0, i;

	ck_assert_ptr_nonnull(seen);
	cfg.qpn_key = 0x9e3779b97f4a7c15u;
	qp_free(end, &set);
	rxe_engine_init(&end->engine, &cfg);
	for (i = 0; i < 65534; i++) {
		uint32_t qpn = rxe_engine_alloc_qpn(&end->engine);

		ck_assert_uint_eq(qpn >> RXE_SLOT_SHIFT, 5);
		ck_assert_uint_ge(qpn & 0xffff, 2);
		ck_assert_uint_eq(seen[qpn & 0xffff]++, 0);
		in_order += qpn == last + 1;
		last = qpn;
	}
	ck_assert_uint_lt(in_order, 655);
	free(seen);
	qp_new(end, &set, RXE_QPT_UC, NULL, FIXTURE_CQE);
}
END_TEST

START_TEST(last_slot_avoids_the_multicast_number)
{
	struct end *last = end_new(3, 255);
	uint32_t i;

	for (i = 0; i < 3 * 65536; i++)
		ck_assert_uint_ne(rxe_engine_alloc_qpn(&last->engine), 0xffffff);
	end_free(last);
}
END_TEST

START_TEST(as_many_as_there_may_be)
{
	struct rxe_qp *qps = calloc(RXE_MAX_QP, sizeof(*qps));
	struct rxe_qp_init init = { .type = RXE_QPT_UC,
				    .send_cq = &set.send_cq,
				    .recv_cq = &set.recv_cq };
	uint32_t i;

	ck_assert_ptr_nonnull(qps);
	for (i = 0; i < RXE_MAX_QP - 1; i++) {
		init.qpn = rxe_engine_alloc_qpn(&end->engine);
		ck_assert_uint_ne(init.qpn, 0);
		rxe_qp_init(&end->engine, &qps[i], &init);
		ck_assert_ptr_eq(rxe_engine_find_qp(&end->engine, init.qpn), &qps[i]);
	}
	ck_assert_uint_eq(rxe_engine_alloc_qpn(&end->engine), 0);
	ck_assert_ptr_null(rxe_engine_find_qp(&end->engine, init.qpn ^ 0x8000));
	for (i = 0; i < RXE_MAX_QP - 1; i++)
		rxe_qp_fini(&end->engine, &qps[i]);
	ck_assert_uint_eq(end->engine.num_qp, 1);
	free(qps);
}
END_TEST

/* A profile may offer fewer queue pairs than the engine has room for. */
START_TEST(as_many_as_the_profile_offers)
{
	struct rxe_qp_init init = { .type = RXE_QPT_UC,
				    .send_cq = &set.send_cq,
				    .recv_cq = &set.recv_cq };
	struct rxe_qp *qp = calloc(1, sizeof(*qp));

	ck_assert_ptr_nonnull(qp);
	end->engine.cfg.offer.max_qp = end->engine.num_qp + 1;
	init.qpn = rxe_engine_alloc_qpn(&end->engine);
	ck_assert_uint_ne(init.qpn, 0);
	rxe_qp_init(&end->engine, qp, &init);
	ck_assert_uint_eq(rxe_engine_alloc_qpn(&end->engine), 0);
	rxe_qp_fini(&end->engine, qp);
	ck_assert_uint_ne(rxe_engine_alloc_qpn(&end->engine), 0);
	free(qp);
}
END_TEST

static struct wire_packet packet_to(uint32_t qpn, enum wire_service service)
{
	return (struct wire_packet){
		.bth = { .opcode = opcode_make(service, OP_SEND_ONLY),
			 .pkey = 0xffff,
			 .dest_qpn = qpn },
		.payload_len = 4,
	};
}

/* Each check of a packet before the QP sees it, with one field wrong at a time. */
START_TEST(checks_on_arrival)
{
	const struct gid peer = fixture_gid(1), us = fixture_gid(2), stranger = fixture_gid(3);
	struct wire_packet packet = packet_to(set.qp.qpn, WIRE_UC);

	inject(end, &packet, "abc", &peer, &us);
	ck_assert_uint_eq(end->counters.rcvd_dropped, 1); /* RESET */
	qp_to(end, &set, RXE_QPS_INIT, 1, 9);
	ck_assert_int_eq(post_recv(end, &set, 7, sge_at(0, 64, KEY_ALL)), POST_OK);
	inject(end, &packet, "abc", &peer, &us);
	ck_assert_uint_eq(end->counters.rcvd_dropped, 2); /* INIT */
	set.qp.state = RXE_QPS_RESET;
	qp_to(end, &set, RXE_QPS_RTR, 1, 9);

	inject(end, &packet, "abc", &stranger, &us);
	ck_assert_uint_eq(end->counters.rcvd_dropped, 3); /* not its peer */
	inject(end, &packet, "abc", &peer, &stranger);
	ck_assert_uint_eq(end->counters.rcvd_dropped, 4); /* not its address */
	packet = packet_to(set.qp.qpn, WIRE_RC);
	inject(end, &packet, "abc", &peer, &us);
	ck_assert_uint_eq(end->counters.rcvd_dropped, 5); /* another service */
	packet = packet_to(set.qp.qpn ^ 4, WIRE_UC);
	inject(end, &packet, "abc", &peer, &us);
	ck_assert_uint_eq(end->counters.rcvd_no_qp, 1);
	packet = packet_to(set.qp.qpn, WIRE_UC);
	packet.bth.pkey = 0x8001;
	inject(end, &packet, "abc", &peer, &us);
	ck_assert_uint_eq(end->counters.rcvd_bad_key, 1);
	ck_assert_uint_eq(end->num_events, 0);
	packet.bth.pkey = 0x7fff; /* a limited member's */
	inject(end, &packet, "abc", &peer, &us);
	ck_assert_uint_eq(poll_one(&set.recv_cq).wr_id, 7);
	ck_assert_uint_eq(end->num_events, 1);
	ck_assert_int_eq(end->event[0].type, RXE_EVENT_COMM_EST);
	inject(end, &packet, "abc", &peer, &us);
	ck_assert_uint_eq(end->num_events, 1);
	ck_assert_uint_eq(end->counters.rcvd_pkts, 9);
}
END_TEST

static void arrive(struct rxe_engine *engine, uint8_t *p, uint32_t len, uint16_t borne,
		   const struct gid *src, enum ip_id_rule rule)
{
	const struct gid us = fixture_gid(2);
	const struct icrc_flow flow = { .src = *src, .dst = us, .src_port = 0xc000 };
	const struct wire_arrival arrival = {
		.p = p, .len = len, .src_port = 0xc000, .id_rule = rule, .src = *src, .dst = us
	};

	icrc_store(p + len - 4, icrc_compute(&flow, borne, p, len - 4));
	rxe_engine_input(engine, &arrival, 0);
}

/* The IP identification: any is accepted until the peer has kept the rule for some packets. */
START_TEST(ports_that_keep_the_rule)
{
	const struct gid peer = fixture_gid(1), us = fixture_gid(2),
			 local = { .raw = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 9 } };
	struct wire_packet packet = packet_to(set.qp.qpn, WIRE_UC);
	uint8_t p[64] = { 0 };
	uint32_t i, len = (uint32_t)wire_emit_headers(p, &packet) + 4 + ICRC_LEN;

	for (i = 0; i < RXE_PORT_PROVEN - 1; i++)
		arrive(&end->engine, p, len, 0, &peer, IP_ID_ANY);
	arrive(&end->engine, p, len, 777, &peer, IP_ID_ANY); /* the rule is broken: start again */
	ck_assert_uint_eq(end->counters.rcvd_bad_icrc, 0);
	for (i = 0; i < RXE_PORT_PROVEN; i++)
		arrive(&end->engine, p, len, 0, &peer, IP_ID_ANY);
	ck_assert_uint_eq(end->counters.rcvd_bad_icrc, 0);
	arrive(&end->engine, p, len, 777, &peer, IP_ID_ANY); /* proven: only the rule is accepted */
	ck_assert_uint_eq(end->counters.rcvd_bad_icrc, 1);
	/* The rule counts packets of a train from 0. A train that was cut on its way arrives in
	 * pieces. */
	for (i = 0; i < ICRC_TRAIN_IDS; i++)
		arrive(&end->engine, p, len, (uint16_t)i, &peer, IP_ID_ANY);
	ck_assert_uint_eq(end->counters.rcvd_bad_icrc, 1);
	arrive(&end->engine, p, len, ICRC_TRAIN_IDS, &peer, IP_ID_ANY);
	ck_assert_uint_eq(end->counters.rcvd_bad_icrc, 2);
	/* this host, and identifications that the link sees, are strict from the first packet */
	arrive(&end->engine, p, len, 777, &us, IP_ID_ANY);
	arrive(&end->engine, p, len, 777, &local, IP_ID_ANY);
	arrive(&end->engine, p, len, 777, &peer, IP_ID_EXACT);
	ck_assert_uint_eq(end->counters.rcvd_bad_icrc, 5);
	arrive(&end->engine, p, len, 3, &local, IP_ID_ANY);
	ck_assert_uint_eq(end->counters.rcvd_bad_icrc, 6);
}
END_TEST

/* With more peers than entries, those with bytes in flight are replaced last. */
START_TEST(peers_are_remembered)
{
	struct rxe_peers *peers = &end->engine.peers;
	const struct gid gid = fixture_gid(9);
	uint32_t i, kept = 0;

	for (i = 0; i < RXE_MAX_SLOTS; i++)
		rxe_peer_get(peers, &gid, i)->in_flight = i + 1;
	for (i = 0; i < RXE_MAX_SLOTS; i++)
		kept += rxe_peer_get(peers, &gid, i)->in_flight == i + 1;
	ck_assert_uint_ge(kept, RXE_MAX_SLOTS - 4);
	for (i = 0; i < 10 * RXE_PEERS; i++)
		ck_assert_uint_eq(rxe_peer_get(peers, &gid, 1000 + i)->slot, 1000 + i);
}
END_TEST

/* Every flipped bit is detected, and malformed packets are dropped early. */
START_TEST(noise)
{
	const struct gid peer = fixture_gid(1), us = fixture_gid(2);
	struct wire_arrival arrival = { .src = peer, .dst = us, .id_rule = IP_ID_ANY };
	uint32_t seed = 1, i, j;
	uint8_t p[256];

	qp_to(end, &set, RXE_QPS_RTS, 1, 9);
	for (i = 0; i < 20000; i++) {
		for (j = 0; j < sizeof(p); j++)
			p[j] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
		arrival.p = p;
		arrival.len = seed % sizeof(p);
		rxe_engine_input(&end->engine, &arrival, 0);
	}
	ck_assert_uint_eq(end->counters.rcvd_pkts, 20000);
	ck_assert_uint_ge(end->counters.rcvd_malformed + end->counters.rcvd_bad_icrc +
				  end->counters.rcvd_no_qp + end->counters.rcvd_bad_key,
			  20000);
}
END_TEST

/* QPs to one socket share a train. The QP to another socket waits for a bounded time. */
START_TEST(turns)
{
	static uint8_t buf[TRAIN_MAX_BYTES];
	struct wire_train train = { .buf = buf, .max_segs = TRAIN_MAX_SEGS };
	static const uint32_t dest[] = { 0x10005, 0x20005, 0x10006, 0x20006 };
	const struct rxe_sge sge = sge_at(0, 64, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &sge);
	struct qp_set sets[4];
	uint32_t i, j;

	for (i = 0; i < 4; i++) {
		qp_new(end, &sets[i], RXE_QPT_UC, NULL, FIXTURE_CQE);
		qp_to(end, &sets[i], RXE_QPS_RTS, 1, dest[i]);
		for (j = 0; j < 5; j++)
			ck_assert_int_eq(rxe_post_send(&end->engine, &sets[i].qp, &wr, 0), POST_OK);
	}
	ck_assert(rxe_engine_output(&end->engine, &train, 0));
	ck_assert_uint_eq(train.segs, 10);
	ck_assert_uint_eq(train.dst.raw[15], 1);
	ck_assert_uint_eq(sets[0].qp.sq.head, 5);
	ck_assert_uint_eq(sets[1].qp.sq.head, 0);
	ck_assert_uint_eq(sets[2].qp.sq.head, 5);
	ck_assert(rxe_engine_output(&end->engine, &train, 0));
	ck_assert_uint_eq(train.segs, 10);
	ck_assert(!rxe_engine_output(&end->engine, &train, 0));

	/* trains off: one packet each, and the QPs take turns */
	train.max_segs = 1;
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(rxe_post_send(&end->engine, &sets[i].qp, &wr, 0), POST_OK);
	for (i = 0; i < 4; i++) {
		ck_assert(rxe_engine_output(&end->engine, &train, 0));
		ck_assert_uint_eq(train.segs, 1);
		ck_assert_uint_eq(sets[i].qp.sq.head, 6);
	}
	for (i = 0; i < 4; i++)
		qp_free(end, &sets[i]);
}
END_TEST

static bool heap_is_good(const struct rxe_engine *engine)
{
	uint32_t i;

	for (i = 0; i < engine->timers.count; i++) {
		if (engine->timer[i]->index != i)
			return false;
		if (i > 0 &&
		    engine->timer[(i - 1) / 2]->deadline_ns > engine->timer[i]->deadline_ns)
			return false;
	}
	return true;
}

static struct gid space_dst;
static uint32_t space_slot;
static uint8_t space[TRAIN_MAX_BYTES];

static uint8_t *train_space(void *host, const struct gid *dst, uint32_t slot)
{
	(void)host;
	space_dst = *dst;
	space_slot = slot;
	return space;
}

/* A train is built where the host wants it: in the ring of the process that receives it. */
START_TEST(trains_are_built_where_the_host_says)
{
	struct rxe_host_ops ops = *end->engine.cfg.ops;
	const struct gid dst = fixture_gid(9);
	uint8_t buf[256];
	struct wire_train train = { .buf = buf, .max_segs = TRAIN_MAX_SEGS };
	const struct rxe_sge sge = sge_at(0, 64, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &sge);

	ops.train_space = train_space;
	end->engine.cfg.ops = &ops;
	qp_to(end, &set, RXE_QPS_RTS, 9, 6u << RXE_SLOT_SHIFT | 77);
	ck_assert_int_eq(rxe_post_send(&end->engine, &set.qp, &wr, 0), POST_OK);
	ck_assert(rxe_engine_output(&end->engine, &train, 0));
	ck_assert_ptr_eq(train.buf, space);
	ck_assert_uint_eq(space_slot, 6);
	ck_assert(gid_equal(&space_dst, &dst));
}
END_TEST

START_TEST(deadlines)
{
	static struct rxe_qp qps[200];
	struct rxe_engine *engine = &end->engine;
	uint32_t seed = 1, i, j;

	for (i = 0; i < 200; i++)
		heap_entry_init(&qps[i].timer);
	ck_assert_uint_eq(rxe_engine_deadline(engine), UINT64_MAX);
	for (i = 0; i < 20000; i++) {
		uint64_t least = UINT64_MAX;

		seed = seed * 1664525u + 1013904223u;
		rxe_qp_set_deadline(engine, &qps[seed % 200],
				    seed >> 30 == 0 ? UINT64_MAX : seed >> 8);
		for (j = 0; j < 200; j++)
			least = min_u64(qps[j].timer.deadline_ns, least);
		ck_assert_uint_eq(rxe_engine_deadline(engine), least);
	}
	ck_assert(heap_is_good(engine));
	for (j = 0; j < 200; j++)
		rxe_qp_set_deadline(engine, &qps[j], UINT64_MAX);
	ck_assert_uint_eq(engine->timers.count, 0);
}
END_TEST

/* The head completes with its reason, then the others in order, signalled or not; then the claimed
 * receive, then the other receives. */
START_TEST(failing_in_order)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &sge);
	struct rxe_cqe cqe;
	uint64_t i;

	qp_to(end, &set, RXE_QPS_RTS, 1, 9);
	for (i = 0; i < 4; i++) {
		wr.wr_id = i;
		wr.flags = i % 2 ? RXE_SEND_SIGNALED : 0;
		ck_assert_int_eq(rxe_post_send(&end->engine, &set.qp, &wr, 0), POST_OK);
		ck_assert_int_eq(post_recv(end, &set, 10 + i, sge), POST_OK);
	}
	ck_assert(rxe_recv_claim(&end->engine, &set.qp));
	rxe_qp_set_deadline(&end->engine, &set.qp, 4);
	end->engine.now_ns = 5;
	rxe_qp_fail(&end->engine, &set.qp, RXE_WC_RETRY_EXC_ERR);
	rxe_qp_fail(&end->engine, &set.qp, RXE_WC_RETRY_EXC_ERR);
	fixture_run(end, end);
	ck_assert_uint_eq(fixture_packets, 0);
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
	for (i = 0; i < 4; i++) {
		cqe = poll_one(&set.send_cq);
		ck_assert_uint_eq(cqe.wr_id, i);
		ck_assert_uint_eq(cqe.status, i ? RXE_WC_WR_FLUSH_ERR : RXE_WC_RETRY_EXC_ERR);
		cqe = poll_one(&set.recv_cq);
		ck_assert_uint_eq(cqe.wr_id, 10 + i);
		ck_assert_uint_eq(cqe.status, RXE_WC_WR_FLUSH_ERR);
	}
	ck_assert(cq_is_empty(&set.send_cq) && cq_is_empty(&set.recv_cq));
}
END_TEST

/* A destroyed QP leaves no completion and no timer, and is on no list. */
START_TEST(destroyed_without_a_trace)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &sge);

	qp_to(end, &set, RXE_QPS_RTS, 1, 9);
	ck_assert_int_eq(rxe_post_send(&end->engine, &set.qp, &wr, 0), POST_OK);
	fixture_run(end, end);
	ck_assert_int_eq(rxe_post_send(&end->engine, &set.qp, &wr, 0), POST_OK);
	rxe_qp_set_deadline(&end->engine, &set.qp, 4);
	qp_free(end, &set);
	ck_assert(cq_is_empty(&set.send_cq));
	ck_assert_ptr_null(end->engine.ready);
	ck_assert_uint_eq(end->engine.timers.count, 0);
	ck_assert_ptr_null(rxe_engine_find_qp(&end->engine, set.qp.qpn));
	qp_new(end, &set, RXE_QPT_UC, NULL, FIXTURE_CQE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_engine");
	TCase *tcase = tcase_create("engine");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, numbers_roll_on);
	tcase_add_test(tcase, numbers_outlive_a_process);
	tcase_add_test(tcase, numbers_are_shuffled);
	tcase_add_test(tcase, last_slot_avoids_the_multicast_number);
	tcase_add_test(tcase, as_many_as_there_may_be);
	tcase_add_test(tcase, as_many_as_the_profile_offers);
	tcase_add_test(tcase, checks_on_arrival);
	tcase_add_test(tcase, ports_that_keep_the_rule);
	tcase_add_test(tcase, peers_are_remembered);
	tcase_add_test(tcase, noise);
	tcase_add_test(tcase, turns);
	tcase_add_test(tcase, trains_are_built_where_the_host_says);
	tcase_add_test(tcase, deadlines);
	tcase_add_test(tcase, failing_in_order);
	tcase_add_test(tcase, destroyed_without_a_trace);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
