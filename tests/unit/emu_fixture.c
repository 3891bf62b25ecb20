// SPDX-License-Identifier: MIT
/* The fixture of tests of the engine. */
#include "emu_fixture.h"
#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/srq.h"
#include "net/wire/gid.h"
#include "net/wire/icrc.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

#include <stdlib.h>
#include <string.h>

#define TX_PORT 0xc123

uint64_t fixture_drop;
uint8_t fixture_opcode[4096];
uint32_t fixture_packets, fixture_trains;

struct gid fixture_gid(uint8_t host)
{
	return (struct gid){ .raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, host } };
}

static uint8_t *at(struct end *end, const struct rxe_mr *mr, uint64_t iova, size_t len)
{
	uint64_t offset = mr->addr + (iova - mr->iova);

	if (mr->owner != 0)
		return NULL;
	ck_assert_uint_le(offset + len, FIXTURE_MEM);
	return end->mem + offset;
}

static bool mem_read(void *host, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len)
{
	const uint8_t *p = at(host, mr, iova, len);

	if (p)
		memcpy(dst, p, len);
	return p != NULL;
}

static bool mem_write(void *host, const struct rxe_mr *mr, uint64_t iova, const void *src,
		      size_t len)
{
	uint8_t *p = at(host, mr, iova, len);

	if (p)
		memcpy(p, src, len);
	return p != NULL;
}

static bool mem_atomic(void *host, const struct rxe_mr *mr, uint64_t iova, enum rxe_atomic_op op,
		       uint64_t compare_or_add, uint64_t swap, uint64_t *ret_orig)
{
	uint8_t *p = at(host, mr, iova, sizeof(uint64_t));
	uint64_t value;

	if (!p)
		return false;
	memcpy(&value, p, sizeof(value));
	*ret_orig = value;
	if (op == RXE_FETCH_ADD)
		value += compare_or_add;
	else if (value == compare_or_add)
		value = swap;
	memcpy(p, &value, sizeof(value));
	return true;
}

static void cq_notify(void *host, struct rxe_cq *cq)
{
	struct end *end = host;

	ck_assert_uint_lt(end->num_notified, FIXTURE_MAX_EVENT);
	end->notified[end->num_notified++] = cq;
}

static void event(void *host, const struct rxe_event *what)
{
	struct end *end = host;

	ck_assert_uint_lt(end->num_events, FIXTURE_MAX_EVENT);
	end->event[end->num_events++] = *what;
}

static uint32_t random32(void *host)
{
	(void)host;
	return 4;
}

static const struct rxe_host_ops ops = {
	.mem_read = mem_read,
	.mem_write = mem_write,
	.mem_atomic = mem_atomic,
	.cq_notify = cq_notify,
	.event = event,
	.random = random32,
};

static void region(struct end *end, uint32_t key, uint32_t pd, uint32_t rights, uint32_t owner)
{
	struct rxe_mr *mr = &end->mrs->entry[rxe_key_index(key)];

	mr->pd = pd;
	mr->iova = FIXTURE_IOVA;
	mr->len = FIXTURE_MEM;
	mr->rights = rights;
	mr->owner = owner;
	atomic_store(&mr->key, key);
}

struct end *end_new(uint8_t host, uint32_t slot)
{
	struct end *end = calloc(1, sizeof(*end));
	struct rxe_engine_cfg cfg = {
		.ops = &ops,
		.host = end,
		.slot = slot,
		.gids = { fixture_gid(host) },
		.tx_ports = { TX_PORT, TX_PORT + 1 },
		.num_tx_ports = 2,
		.max_mtu = 4096,
	};

	ck_assert_ptr_nonnull(end);
	end->mrs = calloc(1, sizeof(*end->mrs));
	end->mem = calloc(1, FIXTURE_MEM);
	ck_assert(end->mrs && end->mem);
	region(end, KEY_ALL, FIXTURE_PD, 0xf, 0);
	region(end, KEY_READ, FIXTURE_PD, 0, 0);
	region(end, KEY_OTHER, FIXTURE_PD + 1, 0xf, 0);
	region(end, KEY_UNMAPPED, FIXTURE_PD, 0xf, 1);
	cfg.mrs = end->mrs;
	cfg.counters = &end->counters;
	rxe_engine_init(&end->engine, &cfg);
	return end;
}

void end_free(struct end *end)
{
	free(end->mrs);
	free(end->mem);
	free(end);
}

void qp_new(struct end *end, struct qp_set *ret, enum rxe_qp_type type, struct rxe_srq *srq,
	    uint32_t cqe)
{
	struct rxe_qp_init init = {
		.qpn = rxe_engine_alloc_qpn(&end->engine),
		.type = type,
		.pd = FIXTURE_PD,
		.send_cq = &ret->send_cq,
		.recv_cq = &ret->recv_cq,
		.srq = srq,
		.max_send_wr = FIXTURE_WR,
		.max_send_sge = FIXTURE_SGE,
		.max_inline_data = FIXTURE_INLINE,
		.max_recv_wr = FIXTURE_WR,
		.max_recv_sge = FIXTURE_SGE,
	};

	ret->memory[0] = calloc(1, rxe_cq_ring_bytes(cqe));
	ret->memory[1] = calloc(1, rxe_cq_ring_bytes(cqe));
	ret->memory[2] =
		calloc(1, rxe_ring_bytes(FIXTURE_WR, rxe_send_stride(FIXTURE_SGE, FIXTURE_INLINE)));
	ret->memory[3] = calloc(1, rxe_ring_bytes(FIXTURE_WR, rxe_recv_stride(FIXTURE_SGE)));
	rxe_cq_init(&ret->send_cq, ret->memory[0], cqe, NULL);
	rxe_cq_init(&ret->recv_cq, ret->memory[1], cqe, NULL);
	init.sq_mem = ret->memory[2];
	init.rq_mem = ret->memory[3];
	rxe_qp_init(&end->engine, &ret->qp, &init);
}

void qp_free(struct end *end, struct qp_set *set)
{
	size_t i;

	rxe_qp_fini(&end->engine, &set->qp);
	rxe_cq_fini(&end->engine, &set->send_cq);
	rxe_cq_fini(&end->engine, &set->recv_cq);
	for (i = 0; i < 4; i++)
		free(set->memory[i]);
}

struct rxe_qp_attr good_attr(uint8_t host, uint32_t qpn)
{
	return (struct rxe_qp_attr){
		.path_mtu = 1024,
		.qkey = 0x11223344,
		.rq_psn = 0xfffffe,
		.sq_psn = 0xfffffe,
		.dest_qp_num = qpn,
		.qp_access_flags = RXE_REMOTE_WRITE | RXE_REMOTE_READ | RXE_REMOTE_ATOMIC,
		.has_grh = true,
		.av = { .dgid = fixture_gid(host), .hop_limit = 64 },
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.has_alt_grh = true,
		.alt_av = { .dgid = fixture_gid(host), .hop_limit = 64 },
		.alt_port_num = 1,
		.alt_timeout = 14,
		.path_mig_state = RXE_MIG_REARM,
	};
}

void qp_to(struct end *end, struct qp_set *set, enum rxe_qp_state to, uint8_t host, uint32_t qpn)
{
	struct rxe_qp_attr attr = good_attr(host, qpn);
	uint32_t state;

	for (state = RXE_QPS_INIT; state <= to; state++) {
		attr.qp_state = (enum rxe_qp_state)state;
		ck_assert_int_eq(rxe_qp_modify(&end->engine, &set->qp, &attr,
					       qp_required(set->qp.type, attr.qp_state), 0),
				 MODIFY_OK);
	}
}

struct rxe_sge sge_at(uint32_t offset, uint32_t len, uint32_t key)
{
	return (struct rxe_sge){ .addr = FIXTURE_IOVA + offset, .length = len, .lkey = key };
}

enum post_result post_recv(struct end *end, struct qp_set *set, uint64_t wr_id, struct rxe_sge sge)
{
	const struct rxe_recv_wr wr = { .wr_id = wr_id, .num_sge = 1, .sges = &sge };

	return rxe_post_recv(&end->engine, &set->qp, &wr, 0);
}

struct rxe_send_wr send_wr(uint64_t wr_id, const struct rxe_sge *sge)
{
	return (struct rxe_send_wr){
		.wr_id = wr_id,
		.opcode = RXE_WR_SEND,
		.flags = RXE_SEND_SIGNALED,
		.num_sge = sge ? 1 : 0,
		.sges = sge,
	};
}

struct rxe_cqe poll_one(struct rxe_cq *cq)
{
	struct rxe_cqe cqe = { .status = UINT32_MAX };

	rxe_cq_poll(cq, &cqe, 1);
	return cqe;
}

static void carry(struct end *to, const struct wire_train *train)
{
	uint32_t index;

	fixture_trains++;
	for (index = 0; index < train->segs; index++) {
		const struct wire_arrival arrival = {
			.p = wire_train_packet(train, index),
			.len = wire_train_packet_len(train, index),
			.src_port = (uint16_t)(TX_PORT + train->tx_index),
			.ip_id = (uint16_t)index,
			.id_rule = IP_ID_EXACT,
			.traffic_class = train->traffic_class,
			.hop_limit = train->hop_limit,
			.src = train->src,
			.dst = train->dst,
		};

		ck_assert_uint_lt(fixture_packets, sizeof(fixture_opcode));
		fixture_opcode[fixture_packets] = arrival.p[0];
		if (fixture_packets >= 64 || !(fixture_drop >> fixture_packets & 1))
			rxe_engine_input(&to->engine, &arrival, 0);
		fixture_packets++;
	}
}

void fixture_run(struct end *a, struct end *b)
{
	static uint8_t buf[TRAIN_MAX_BYTES];
	struct wire_train train = { .buf = buf, .max_segs = TRAIN_MAX_SEGS };
	bool busy = true;

	fixture_packets = fixture_trains = 0;
	while (busy) {
		busy = false;
		while (rxe_engine_output(&a->engine, &train, 0)) {
			carry(b, &train);
			busy = true;
		}
		while (rxe_engine_output(&b->engine, &train, 0)) {
			carry(a, &train);
			busy = true;
		}
	}
	rxe_engine_settle(&a->engine);
	rxe_engine_settle(&b->engine);
}

void inject(struct end *to, struct wire_packet *packet, const void *payload, const struct gid *src,
	    const struct gid *dst)
{
	uint8_t p[8192] = { 0 };
	const struct icrc_flow flow = { .src = *src, .dst = *dst, .src_port = TX_PORT };
	struct wire_arrival arrival = { .p = p,
					.src_port = TX_PORT,
					.id_rule = IP_ID_EXACT,
					.src = *src,
					.dst = *dst,
					.hop_limit = 64 };
	size_t len;

	packet->bth.pad = (uint8_t)(-packet->payload_len & 3);
	len = wire_emit_headers(p, packet);
	if (packet->payload_len > 0)
		memcpy(p + len, payload, packet->payload_len);
	len += packet->payload_len + packet->bth.pad;
	icrc_store(p + len, icrc_compute(&flow, 0, p, len));
	arrival.len = (uint32_t)len + ICRC_LEN;
	rxe_engine_input(&to->engine, &arrival, 0);
	rxe_engine_settle(&to->engine);
}
