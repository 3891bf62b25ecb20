// SPDX-License-Identifier: MIT
/* Raw queue pairs of engines on one device: who receives a frame, what the completion says, what is
 * dropped; work queues and receive hashing; frames of an interface. */
#include <string.h>

#include "emu/raw/flow.h"
#include "emu/raw/frame.h"
#include "emu/raw/raw.h"
#include "emu_fixture.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/raw_frame.h"
#include "tests/suite.h"

#define ENDS	 3u
#define RECV_LEN 2048u

static struct end *end[ENDS]; /* slots 1 to 3 of one device */
static struct qp_set qp[ENDS];
static struct rxe_flow flow[8];
static bool listens[ENDS];

static bool bare;
static uint64_t now_ns;
static uint8_t frames_out[64][128];
static uint32_t num_frames_out;

static uint32_t index_of(void *host)
{
	for (uint32_t i = 0; i < ENDS; i++)
		if (host == end[i])
			return i;
	ck_abort();
}

static void raw_listens(void *host, bool yes)
{
	listens[index_of(host)] = yes;
}

static uint32_t raw_listener(void *host, uint32_t slot)
{
	(void)host;
	for (uint32_t i = 0; i < ENDS; i++)
		if (listens[i] && i + 1 >= slot)
			return i + 1;
	return RXE_MAX_SLOTS;
}

static struct rxe_host_ops ops;

static void setup(void)
{
	memset(listens, 0, sizeof(listens));
	memset(flow, 0, sizeof(flow));
	num_frames_out = 0;
	now_ns = 0;
	for (uint32_t i = 0; i < ENDS; i++) {
		end[i] = end_new(1, i + 1);
		ops = *end[i]->engine.cfg.ops;
		ops.raw_listens = raw_listens;
		ops.raw_listener = raw_listener;
		end[i]->engine.cfg.ops = &ops;
		end[i]->engine.cfg.raw_is_bare = bare;
		end[i]->engine.cfg.max_frame = 1518;
		qp_new(end[i], &qp[i], RXE_QPT_RAW, NULL, FIXTURE_CQE);
		qp_to(end[i], &qp[i], RXE_QPS_RTS, 0, 0);
	}
}

static void teardown(void)
{
	for (uint32_t i = 0; i < ENDS; i++) {
		while (end[i]->engine.flows)
			rxe_flow_remove(&end[i]->engine, end[i]->engine.flows);
		qp_free(end[i], &qp[i]);
		end_free(end[i]);
	}
}

/* To the slot that the packet names, as the kernel steers it. */
static void carry(const struct wire_train *train)
{
	for (uint32_t i = 0; i < train->segs; i++) {
		const uint8_t *p = wire_train_packet(train, i);
		const uint32_t len = wire_train_packet_len(train, i);
		const struct wire_arrival arrival = {
			.p = p,
			.len = len,
			.src_port = end[0]->engine.cfg.tx_ports[train->tx_index],
			.ip_id = (uint16_t)i,
			.id_rule = IP_ID_EXACT,
			.src = train->src,
			.dst = train->dst,
		};

		if (train->bare) {
			ck_assert_uint_lt(num_frames_out, 64);
			memcpy(frames_out[num_frames_out++], p, len < 128 ? len : 128);
			continue;
		}
		ck_assert_uint_eq(p[0], 0xc4);
		ck_assert(p[5] >= 1 && p[5] <= ENDS);
		rxe_engine_input(&end[p[5] - 1]->engine, &arrival, now_ns);
	}
}

static void run(void)
{
	static uint8_t buf[TRAIN_MAX_BYTES];
	struct wire_train train = { .buf = buf, .max_segs = TRAIN_MAX_SEGS };

	for (uint32_t i = 0; i < ENDS; i++)
		while (rxe_engine_output(&end[i]->engine, &train, now_ns))
			carry(&train);
	for (uint32_t i = 0; i < ENDS; i++)
		rxe_engine_settle(&end[i]->engine);
}

static struct rxe_flow *add_flow(uint32_t at, uint32_t of, enum rxe_flow_type type)
{
	flow[at].qp = &qp[of].qp;
	flow[at].type = type;
	flow[at].tag = 100 + at;
	rxe_flow_add(&end[of]->engine, &flow[at]);
	return &flow[at];
}

/* A flow for datagrams to a port. */
static struct rxe_flow *add_port_flow(uint32_t at, uint32_t of, uint16_t port, uint16_t priority)
{
	const struct raw_ports value = { .dst = { (uint8_t)(port >> 8), (uint8_t)port } };
	const struct raw_ports mask = { .dst = { 0xff, 0xff } };

	flow[at].priority = priority;
	ck_assert(raw_rule_add(&flow[at].rule, RAW_UDP, false, &value, &mask));
	return add_flow(at, of, RXE_FLOW_NORMAL);
}

static void post(uint32_t of, uint64_t wr_id)
{
	ck_assert_int_eq(post_recv(end[of], &qp[of], wr_id,
				   sge_at((uint32_t)wr_id * RECV_LEN, RECV_LEN, KEY_ALL)),
			 POST_OK);
}

static enum post_result send_bytes(uint32_t of, const void *p, uint32_t len, uint32_t flags)
{
	const struct rxe_sge sge = sge_at(FIXTURE_MEM - 8192, len, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &sge);

	memcpy(end[of]->mem + FIXTURE_MEM - 8192, p, len);
	wr.flags |= flags;
	return rxe_post_send(&end[of]->engine, &qp[of].qp, &wr, 0);
}

static void send_frame(uint32_t of, const struct raw_build *b)
{
	ck_assert_int_eq(send_bytes(of, b->p, b->len, 0), POST_OK);
	run();
	ck_assert_uint_eq(poll_one(&qp[of].send_cq).status, RXE_WC_SUCCESS);
}

static void expect_nothing(uint32_t of)
{
	ck_assert(cq_is_empty(&qp[of].recv_cq));
}

/* The frame in receive wr_id, with the flow's tag. */
static struct rxe_cqe expect_frame(uint32_t of, uint64_t wr_id, uint32_t at,
				   const struct raw_build *b)
{
	const struct rxe_cqe cqe = poll_one(&qp[of].recv_cq);

	ck_assert_uint_eq(cqe.status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(cqe.opcode, RXE_WC_RECV);
	ck_assert_uint_eq(cqe.wr_id, wr_id);
	ck_assert_uint_eq(cqe.flow_tag, 100 + at);
	ck_assert_uint_eq(cqe.qpn, qp[of].qp.qpn);
	ck_assert_uint_eq(cqe.byte_len, b->len);
	ck_assert_mem_eq(end[of]->mem + wr_id * RECV_LEN, b->p, b->len);
	return cqe;
}

START_TEST(all_others_hear)
{
	const struct raw_build b = raw_build_datagram(1, 2, 100);

	for (uint32_t i = 0; i < ENDS; i++) {
		add_flow(i, i, RXE_FLOW_ALL_DEFAULT);
		post(i, 1);
	}
	send_frame(0, &b);
	expect_nothing(0);
	expect_frame(1, 1, 1, &b);
	expect_frame(2, 1, 2, &b);
	/* the sender may ask for its own */
	flow[0].hears_self = true;
	post(1, 2);
	post(2, 2);
	send_frame(0, &b);
	expect_frame(0, 1, 0, &b);
	expect_frame(1, 2, 1, &b);
}
END_TEST

START_TEST(nobody_listens)
{
	const struct raw_build b = raw_build_datagram(1, 2, 100);

	send_frame(0, &b);
	ck_assert_uint_eq(end[0]->counters.sent_pkts, 0);
	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	rxe_flow_remove(&end[1]->engine, &flow[0]);
	post(1, 1);
	send_frame(0, &b);
	expect_nothing(1);
}
END_TEST

/* Rules of two queue pairs of one engine: priority, equal rules, drops, passing on. */
START_TEST(order_of_flows)
{
	const struct raw_build b = raw_build_datagram(1, 7, 20);
	struct qp_set other;

	qp_new(end[1], &other, RXE_QPT_RAW, NULL, FIXTURE_CQE);
	qp_to(end[1], &other, RXE_QPS_RTS, 0, 0);
	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	add_port_flow(1, 1, 7, 5)->qp = &other.qp;
	for (uint64_t i = 1; i < 6; i++) {
		post(1, i);
		ck_assert_int_eq(post_recv(end[1], &other, i, sge_at(0, RECV_LEN, KEY_ALL)),
				 POST_OK);
	}
	send_frame(0, &b);
	expect_nothing(1);
	ck_assert_uint_eq(poll_one(&other.recv_cq).flow_tag, 101);
	/* a lower number wins */
	add_port_flow(2, 1, 7, 4);
	send_frame(0, &b);
	expect_frame(1, 1, 2, &b);
	ck_assert(cq_is_empty(&other.recv_cq));
	/* an equal rule and priority: both */
	add_port_flow(3, 1, 7, 4)->qp = &other.qp;
	send_frame(0, &b);
	expect_frame(1, 2, 2, &b);
	ck_assert_uint_eq(poll_one(&other.recv_cq).flow_tag, 103);
	/* a sniffer gets a copy of what others take */
	add_flow(4, 1, RXE_FLOW_SNIFFER)->qp = &other.qp;
	send_frame(0, &b);
	expect_frame(1, 3, 2, &b);
	ck_assert_uint_eq(poll_one(&other.recv_cq).flow_tag, 104);
	ck_assert_uint_eq(poll_one(&other.recv_cq).flow_tag, 103);
	rxe_flow_remove(&end[1]->engine, &flow[4]);
	/* in front of all: what passes on, then what drops */
	add_port_flow(5, 1, 7, 0)->passes_on = true;
	add_port_flow(6, 1, 7, 1)->drops = true;
	send_frame(0, &b);
	expect_frame(1, 4, 5, &b);
	expect_nothing(1);
	ck_assert(cq_is_empty(&other.recv_cq));
	while (end[1]->engine.flows)
		rxe_flow_remove(&end[1]->engine, end[1]->engine.flows);
	qp_free(end[1], &other);
}
END_TEST

/* Frames that match: with and without a receive, dropped, of a sniffer beside another flow. */
START_TEST(counts)
{
	const struct raw_build b = raw_build_datagram(1, 7, 20),
			       other = raw_build_datagram(1, 8, 20);
	struct rxe_flow_count first = { .packets = 0 }, second = { .next = &first }, all = first;

	add_port_flow(0, 1, 7, 0)->counts = &second;
	add_flow(1, 1, RXE_FLOW_SNIFFER)->counts = &all;
	post(1, 1);
	send_frame(0, &b);
	send_frame(0, &b);
	flow[0].drops = true;
	send_frame(0, &b);
	send_frame(0, &other);
	ck_assert_uint_eq(first.packets, 3);
	ck_assert_uint_eq(first.bytes, 3 * b.len);
	ck_assert_uint_eq(second.packets, 3);
	ck_assert_uint_eq(second.bytes, 3 * b.len);
	ck_assert_uint_eq(all.packets, 4);
	ck_assert_uint_eq(all.bytes, 3 * b.len + other.len);
}
END_TEST

START_TEST(defaults)
{
	struct raw_build b = raw_build_datagram(1, 9, 20);

	add_flow(0, 1, RXE_FLOW_MC_DEFAULT);
	add_flow(1, 2, RXE_FLOW_ALL_DEFAULT);
	post(1, 1);
	post(2, 1);
	post(2, 2);
	send_frame(0, &b);
	expect_nothing(1);
	expect_frame(2, 1, 1, &b);
	b.p[0] |= 1;
	send_frame(0, &b);
	expect_frame(1, 1, 0, &b);
	expect_frame(2, 2, 1, &b);
}
END_TEST

START_TEST(without_a_receive)
{
	const struct raw_build b = raw_build_datagram(1, 2, 100);

	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	send_frame(0, &b);
	ck_assert_uint_eq(end[1]->counters.rcvd_dropped, 1);
	post(1, 1);
	send_frame(0, &b);
	expect_frame(1, 1, 0, &b);
	/* unmatched: no flow wanted it */
	flow[0].type = RXE_FLOW_MC_DEFAULT;
	post(1, 2);
	send_frame(0, &b);
	expect_nothing(1);
	ck_assert_uint_eq(end[1]->counters.rcvd_no_qp, 1);
	ck_assert_uint_eq(end[1]->counters.rcvd_dropped, 1);
}
END_TEST

START_TEST(too_long_for_the_receive)
{
	const struct raw_build b = raw_build_datagram(1, 2, 100);

	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	ck_assert_int_eq(post_recv(end[1], &qp[1], 1, sge_at(0, b.len - 1, KEY_ALL)), POST_OK);
	post(1, 2);
	send_frame(0, &b);
	ck_assert_uint_eq(poll_one(&qp[1].recv_cq).status, RXE_WC_LOC_LEN_ERR);
	ck_assert_uint_eq(poll_one(&qp[1].recv_cq).status, RXE_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(qp[1].qp.state, RXE_QPS_ERR);
	/* frames for a failed queue pair are dropped */
	send_frame(0, &b);
	ck_assert_uint_eq(end[1]->counters.rcvd_dropped, 1);
}
END_TEST

START_TEST(lengths)
{
	static const uint8_t zeros[RAW_MIN_FRAME];
	static uint8_t bytes[2048];
	struct raw_build b = raw_build_datagram(1, 2, 4);

	ck_assert_int_eq(send_bytes(0, bytes, 13, 0), POST_BAD_SGE);
	ck_assert_int_eq(send_bytes(0, bytes, 1519, 0), POST_BAD_SGE);
	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	post(1, 1);
	/* padded with zeros */
	memset(end[1]->mem + RECV_LEN, 0xee, RECV_LEN);
	ck_assert_int_eq(send_bytes(0, b.p, b.len, 0), POST_OK);
	run();
	ck_assert_uint_eq(poll_one(&qp[1].recv_cq).byte_len, RAW_MIN_FRAME);
	ck_assert_mem_eq(end[1]->mem + RECV_LEN, b.p, b.len);
	ck_assert_mem_eq(end[1]->mem + RECV_LEN + b.len, zeros, RAW_MIN_FRAME - b.len);
	for (uint32_t len = 14; len <= 1518; len += len == 14 ? 46 : 1) {
		post(1, 1);
		bytes[len - 1] = (uint8_t)len;
		ck_assert_int_eq(send_bytes(0, bytes, len, 0), POST_OK);
		run();
		ck_assert_uint_eq(poll_one(&qp[1].recv_cq).byte_len, len < 60 ? 60 : len);
		ck_assert_mem_eq(end[1]->mem + RECV_LEN, bytes, len);
		while (!cq_is_empty(&qp[0].send_cq))
			poll_one(&qp[0].send_cq);
	}
}
END_TEST

START_TEST(checksum_offload)
{
	struct raw_build b = raw_build_datagram(1, 2, 100);

	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	post(1, 1);
	post(1, 2);
	b.p[24] ^= 1; /* IPv4 checksum */
	ck_assert_int_eq(send_bytes(0, b.p, b.len, 0), POST_OK);
	ck_assert_int_eq(send_bytes(0, b.p, b.len, RXE_SEND_IP_CSUM), POST_OK);
	run();
	ck_assert_uint_eq(poll_one(&qp[1].recv_cq).flags, 0);
	ck_assert_uint_eq(poll_one(&qp[1].recv_cq).flags, RXE_WC_IP_CSUM_OK);
	ck_assert_mem_ne(end[1]->mem + 2 * RECV_LEN + 40, "\0", 2);
}
END_TEST

START_TEST(tag_is_taken_off)
{
	struct raw_build b = raw_build_datagram(1, 2, 100), tagged = b;
	struct rxe_cqe cqe;

	raw_build_tag(&tagged, 0xac0c);
	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	post(1, 1);
	post(1, 2);
	send_frame(0, &tagged);
	ck_assert_uint_eq(expect_frame(1, 1, 0, &tagged).cvlan, 0);
	qp[1].qp.strips_tag = true;
	send_frame(0, &tagged);
	cqe = expect_frame(1, 2, 0, &b);
	ck_assert_uint_eq(cqe.cvlan, 0xac0c);
}
END_TEST

static void wq_to(uint32_t of, struct qp_set *wq, enum rxe_qp_state to, enum modify_result result)
{
	const struct rxe_qp_attr attr = { .qp_state = to };

	ck_assert_int_eq(rxe_qp_modify(&end[of]->engine, &wq->qp, &attr, RXE_QP_STATE, 0), result);
}

/* Four work queues by the hash of addresses; each frame goes where its hash says. */
START_TEST(receive_side_scaling)
{
	struct qp_set wq[4], target;
	struct rxe_qp *table[4];
	struct rxe_rss rss = { .fields = RSS_SRC_PORT_UDP, .log_size = 2, .wq = table };
	struct rxe_qp_init init = { .type = RXE_QPT_RAW, .pd = FIXTURE_PD, .rss = &rss };
	uint32_t got[4] = { 0 };

	for (uint32_t i = 0; i < RSS_KEY_LEN; i++)
		rss.key[i] = (uint8_t)(i * 37 + 1);
	for (uint32_t i = 0; i < 4; i++) {
		qp_new(end[1], &wq[i], RXE_QPT_WQ, NULL, FIXTURE_CQE);
		table[i] = &wq[i].qp;
		ck_assert_int_eq(post_recv(end[1], &wq[i], 9, sge_at(0, 99, KEY_ALL)),
				 POST_BAD_STATE);
		wq_to(1, &wq[i], RXE_QPS_RTR, MODIFY_OK);
		wq_to(1, &wq[i], RXE_QPS_RTS, MODIFY_BAD_TRANSITION);
		for (uint64_t k = 0; k < FIXTURE_WR; k++)
			ck_assert_int_eq(post_recv(end[1], &wq[i], k, sge_at(0, 999, KEY_ALL)),
					 POST_OK);
	}
	init.qpn = rxe_engine_alloc_qpn(&end[1]->engine);
	rxe_qp_init(&end[1]->engine, &target.qp, &init);
	ck_assert_int_eq(post_recv(end[1], &target, 1, sge_at(0, 99, KEY_ALL)), POST_NO_RECV);
	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT)->qp = &target.qp;
	for (uint16_t port = 0; port < 32; port++) {
		const struct raw_build b = raw_build_datagram(port, 2, 100);
		struct raw_frame frame;

		ck_assert(raw_frame_parse(&frame, b.p, b.len));
		got[rss_hash(&rss, &frame) & 3]++;
		send_frame(0, &b);
	}
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_gt(got[i], 0);
		for (uint32_t k = 0; k < got[i]; k++)
			ck_assert_uint_eq(poll_one(&wq[i].recv_cq).qpn, wq[i].qp.qpn);
		ck_assert(cq_is_empty(&wq[i].recv_cq));
		/* what was posted and not used */
		wq_to(1, &wq[i], RXE_QPS_ERR, MODIFY_OK);
		rxe_engine_settle(&end[1]->engine);
		for (uint32_t k = got[i]; k < FIXTURE_WR; k++)
			ck_assert_uint_eq(poll_one(&wq[i].recv_cq).status, RXE_WC_WR_FLUSH_ERR);
		ck_assert(cq_is_empty(&wq[i].recv_cq));
		wq_to(1, &wq[i], RXE_QPS_RTR, MODIFY_BAD_TRANSITION);
		wq_to(1, &wq[i], RXE_QPS_RESET, MODIFY_OK);
	}
	rxe_flow_remove(&end[1]->engine, &flow[0]);
	rxe_qp_fini(&end[1]->engine, &target.qp);
	for (uint32_t i = 0; i < 4; i++)
		qp_free(end[1], &wq[i]);
}
END_TEST

/* A frame of another device, or of another host, is not on this wire. */
START_TEST(a_packet_from_outside)
{
	const struct raw_build b = raw_build_datagram(1, 2, 100);
	const struct gid self = fixture_gid(1), other = fixture_gid(2);
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_RAW, OP_SEND_ONLY),
			 .pkey = 0xffff,
			 .dest_qpn = 1u << 16 },
		.payload_len = b.len,
	};

	add_flow(0, 0, RXE_FLOW_ALL_DEFAULT);
	post(0, 1);
	inject(end[0], &packet, b.p, &other, &self);
	expect_nothing(0);
	inject(end[0], &packet, b.p, &other, &other);
	expect_nothing(0);
	ck_assert_uint_eq(end[0]->counters.rcvd_no_qp, 2);
	inject(end[0], &packet, b.p, &self, &self);
	expect_frame(0, 1, 0, &b);
	packet.payload_len = 13;
	inject(end[0], &packet, b.p, &self, &self);
	ck_assert_uint_eq(end[0]->counters.rcvd_no_qp, 3);
}
END_TEST

START_TEST(send_errors)
{
	const struct rxe_sge bad = sge_at(0, 100, KEY_OTHER), good = sge_at(0, 100, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &bad);
	struct rxe_qp_attr attr = { .qp_state = RXE_QPS_RTS };

	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	post(1, 1);
	ck_assert_int_eq(rxe_post_send(&end[0]->engine, &qp[0].qp, &wr, 0), POST_OK);
	run();
	ck_assert_uint_eq(poll_one(&qp[0].send_cq).status, RXE_WC_LOC_PROT_ERR);
	ck_assert_int_eq(qp[0].qp.state, RXE_QPS_SQE);
	ck_assert_int_eq(rxe_qp_modify(&end[0]->engine, &qp[0].qp, &attr, RXE_QP_STATE, 0),
			 MODIFY_OK);
	wr.sges = &good;
	wr.opcode = RXE_WR_RDMA_WRITE;
	ck_assert_int_eq(rxe_post_send(&end[0]->engine, &qp[0].qp, &wr, 0), POST_BAD_OPCODE);
	wr.opcode = RXE_WR_SEND_WITH_IMM;
	ck_assert_int_eq(rxe_post_send(&end[0]->engine, &qp[0].qp, &wr, 0), POST_BAD_OPCODE);
	wr.opcode = RXE_WR_SEND;
	ck_assert_int_eq(rxe_post_send(&end[0]->engine, &qp[0].qp, &wr, 0), POST_OK);
	run();
	ck_assert_uint_eq(poll_one(&qp[0].send_cq).status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(poll_one(&qp[1].recv_cq).byte_len, 100);
}
END_TEST

/* One listener: frames of equal length share trains. */
START_TEST(trains)
{
	const struct raw_build b = raw_build_datagram(1, 2, 100);

	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	for (uint64_t i = 0; i < FIXTURE_WR; i++) {
		post(1, i);
		ck_assert_int_eq(send_bytes(0, b.p, b.len, 0), POST_OK);
	}
	run();
	for (uint64_t i = 0; i < FIXTURE_WR; i++)
		expect_frame(1, i, 0, &b);
}
END_TEST

/* Frames that have left by now. */
static uint32_t sent_by_now(void)
{
	uint32_t n = 0;

	rxe_engine_expire(&end[0]->engine, now_ns);
	run();
	while (!cq_is_empty(&qp[0].send_cq)) {
		ck_assert_uint_eq(poll_one(&qp[0].send_cq).status, RXE_WC_SUCCESS);
		n++;
	}
	return n;
}

/* 100 bytes take 1 ms at 800 kb/s. A burst of two frames leaves at once, then one each millisecond,
 * to both listeners, at times that the engine asks for. */
START_TEST(rate_limit)
{
	const struct raw_build b = raw_build_datagram(1, 2, 100 - 42);
	const struct rxe_qp_attr attr = { .rate_limit = 800, .max_burst = 1518 + 100 };
	const uint64_t ms = 1000000;

	ck_assert_uint_eq(b.len, 100);
	ck_assert_int_eq(
		rxe_qp_modify(&end[0]->engine, &qp[0].qp, &attr, RXE_QP_RATE_LIMIT, now_ns),
		MODIFY_OK);
	add_flow(0, 1, RXE_FLOW_ALL_DEFAULT);
	add_flow(1, 2, RXE_FLOW_ALL_DEFAULT);
	for (uint64_t i = 1; i < 7; i++) {
		post(1, i);
		post(2, i);
		ck_assert_int_eq(send_bytes(0, b.p, b.len, 0), POST_OK);
	}
	ck_assert_uint_eq(sent_by_now(), 2);
	for (uint64_t i = 1; i < 5; i++) {
		ck_assert_uint_eq(rxe_engine_deadline(&end[0]->engine), i * ms);
		now_ns = i * ms - 1;
		ck_assert_uint_eq(sent_by_now(), 0);
		now_ns++;
		ck_assert_uint_eq(sent_by_now(), 1);
	}
	for (uint64_t i = 1; i < 7; i++) {
		expect_frame(1, i, 0, &b);
		expect_frame(2, i, 1, &b);
	}
}
END_TEST

/* On an interface: frames leave as they are, arrivals come as they are, and queue pairs of the same
 * process receive each other's frames. */
START_TEST(on_an_interface)
{
	struct raw_build b = raw_build_datagram(1, 2, 40);
	struct qp_set other;

	qp_new(end[0], &other, RXE_QPT_RAW, NULL, FIXTURE_CQE);
	qp_to(end[0], &other, RXE_QPS_RTS, 0, 0);
	add_flow(0, 0, RXE_FLOW_ALL_DEFAULT);
	add_flow(1, 0, RXE_FLOW_ALL_DEFAULT)->qp = &other.qp;
	post(0, 1);
	ck_assert_int_eq(post_recv(end[0], &other, 1, sge_at(0, RECV_LEN, KEY_ALL)), POST_OK);
	send_frame(0, &b);
	expect_nothing(0);
	ck_assert_uint_eq(poll_one(&other.recv_cq).flow_tag, 101);
	ck_assert_uint_eq(num_frames_out, 1);
	ck_assert_mem_eq(frames_out[0], b.p, b.len);
	ck_assert_uint_eq(end[0]->counters.sent_bytes, b.len);
	rxe_flow_remove(&end[0]->engine, &flow[1]);
	rxe_engine_raw_input(&end[0]->engine, b.p, b.len, false, 0);
	rxe_engine_settle(&end[0]->engine);
	expect_frame(0, 1, 0, &b);
	ck_assert_uint_eq(end[0]->counters.rcvd_bytes, b.len);
	/* A frame of this host, whose checksum the kernel left to an adapter. */
	ck_assert_int_eq(post_recv(end[0], &qp[0], 2, sge_at(0, RECV_LEN, KEY_ALL)), POST_OK);
	b.p[40] = b.p[41] = 0xab;
	rxe_engine_raw_input(&end[0]->engine, b.p, b.len, true, 0);
	rxe_engine_settle(&end[0]->engine);
	ck_assert_uint_eq(poll_one(&qp[0].recv_cq).flags, RXE_WC_IP_CSUM_OK);
	/* runts */
	rxe_engine_raw_input(&end[0]->engine, b.p, 13, false, 0);
	ck_assert_uint_eq(end[0]->counters.rcvd_pkts, 2);
	qp_free(end[0], &other);
}
END_TEST

START_TEST(rate_limit_on_an_interface)
{
	const struct raw_build b = raw_build_datagram(1, 2, 100 - 42);
	const struct rxe_qp_attr attr = { .rate_limit = 800, .max_burst = 1 };

	ck_assert_int_eq(
		rxe_qp_modify(&end[0]->engine, &qp[0].qp, &attr, RXE_QP_RATE_LIMIT, now_ns),
		MODIFY_OK);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(send_bytes(0, b.p, b.len, 0), POST_OK);
	for (uint32_t i = 1; i <= 3; i++) {
		ck_assert_uint_eq(sent_by_now(), 1);
		ck_assert_uint_eq(num_frames_out, i);
		now_ns += 1000000;
	}
}
END_TEST

static void setup_bare(void)
{
	bare = true;
	setup();
}

int main(void)
{
	Suite *suite = suite_create("emu_raw");
	TCase *tc = tcase_create("wire"), *interface = tcase_create("interface");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, all_others_hear);
	tcase_add_test(tc, nobody_listens);
	tcase_add_test(tc, order_of_flows);
	tcase_add_test(tc, counts);
	tcase_add_test(tc, defaults);
	tcase_add_test(tc, without_a_receive);
	tcase_add_test(tc, too_long_for_the_receive);
	tcase_add_test(tc, lengths);
	tcase_add_test(tc, checksum_offload);
	tcase_add_test(tc, tag_is_taken_off);
	tcase_add_test(tc, receive_side_scaling);
	tcase_add_test(tc, a_packet_from_outside);
	tcase_add_test(tc, send_errors);
	tcase_add_test(tc, trains);
	tcase_add_test(tc, rate_limit);
	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(interface, setup_bare, teardown);
	tcase_add_test(interface, on_an_interface);
	tcase_add_test(interface, rate_limit_on_an_interface);
	suite_add_tcase(suite, interface);
	return suite_run(suite);
}
