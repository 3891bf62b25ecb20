/* SPDX-License-Identifier: MIT */
/* Packets enter trains. The ICRC of segment i covers IP identification i: see net/wire/train.h. */
#include "emu/emit.h"

#include <assert.h>
#include <string.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "net/wire/gid.h"

/* clang-format off */
const uint8_t rxe_wqe_ops[RXE_WR_OPCODES][2][2] = {
	[RXE_WR_RDMA_WRITE]           = { { OP_WRITE_MIDDLE, OP_WRITE_LAST },     { OP_WRITE_FIRST, OP_WRITE_ONLY } },
	[RXE_WR_RDMA_WRITE_WITH_IMM]  = { { OP_WRITE_MIDDLE, OP_WRITE_LAST_IMM }, { OP_WRITE_FIRST, OP_WRITE_ONLY_IMM } },
	[RXE_WR_SEND]                 = { { OP_SEND_MIDDLE, OP_SEND_LAST },       { OP_SEND_FIRST, OP_SEND_ONLY } },
	[RXE_WR_SEND_WITH_IMM]        = { { OP_SEND_MIDDLE, OP_SEND_LAST_IMM },   { OP_SEND_FIRST, OP_SEND_ONLY_IMM } },
	[RXE_WR_SEND_WITH_INV]        = { { OP_SEND_MIDDLE, OP_SEND_LAST_INV },   { OP_SEND_FIRST, OP_SEND_ONLY_INV } },
	[RXE_WR_RDMA_READ]            = { { OP_READ_REQUEST, OP_READ_REQUEST },   { OP_READ_REQUEST, OP_READ_REQUEST } },
	[RXE_WR_ATOMIC_CMP_AND_SWP]   = { { OP_CMP_SWAP, OP_CMP_SWAP },           { OP_CMP_SWAP, OP_CMP_SWAP } },
	[RXE_WR_ATOMIC_FETCH_AND_ADD] = { { OP_FETCH_ADD, OP_FETCH_ADD },         { OP_FETCH_ADD, OP_FETCH_ADD } },
	[RXE_WR_FLUSH]                = { { OP_FLUSH, OP_FLUSH },                 { OP_FLUSH, OP_FLUSH } },
	[RXE_WR_ATOMIC_WRITE]         = { { OP_ATOMIC_WRITE, OP_ATOMIC_WRITE },   { OP_ATOMIC_WRITE, OP_ATOMIC_WRITE } },
};
/* clang-format on */

uint8_t rxe_tx_index(const struct rxe_engine *engine, const struct gid *dgid, uint32_t dest_qpn)
{
	uint32_t tail;

	memcpy(&tail, dgid->raw + 12, sizeof(tail));
	tail = (tail ^ dest_qpn >> RXE_SLOT_SHIFT) * 0x9e3779b9u;
	return (uint8_t)((tail >> 16) % engine->cfg.num_tx_ports);
}

bool rxe_av_is_good(const struct rxe_engine *engine, const struct rxe_av *av)
{
	const struct gid *sgid = &engine->cfg.gids[av->sgid_index % RXE_MAX_GIDS];

	return av->sgid_index < RXE_MAX_GIDS && !gid_is_zero(sgid) &&
	       gid_is_v4(sgid) == gid_is_v4(&av->dgid);
}

static uint32_t slot_of(uint32_t qpn)
{
	return qpn >> RXE_SLOT_SHIFT;
}

/* Programs ask for 1 (the pingpongs do) and still expect to reach a peer beyond a router: Linux
 * uses the route's hop limit. For a multicast group 1 is kept. */
static uint8_t hop_limit_of(const struct rxe_av *av, const struct gid *dst)
{
	return av->hop_limit > 1 || gid_is_multicast(dst) ? av->hop_limit : RXE_HOP_LIMIT;
}

static bool same_way(const struct wire_train *train, const struct icrc_flow *flow, uint8_t tx_index,
		     const struct rxe_av *av)
{
	return train->tx_index == tx_index && train->traffic_class == av->traffic_class &&
	       train->hop_limit == hop_limit_of(av, &flow->dst) &&
	       train->flow_label == av->flow_label && gid_equal(&train->dst, &flow->dst) &&
	       gid_equal(&train->src, &flow->src);
}

bool rxe_train_take(struct rxe_engine *engine, struct wire_train *train,
		    const struct icrc_flow *flow, uint8_t tx_index, const struct rxe_av *av,
		    uint32_t dest_qpn)
{
	assert(tx_index < engine->cfg.num_tx_ports);
	if (train->segs > 0)
		return !train->bare && engine->train_slot == slot_of(dest_qpn) &&
		       same_way(train, flow, tx_index, av);

	engine->train_slot = slot_of(dest_qpn);
	if (engine->cfg.ops && engine->cfg.ops->train_space)
		train->buf = engine->cfg.ops->train_space(engine->cfg.host, &flow->dst,
							  engine->train_slot);
	train->src = flow->src;
	train->dst = flow->dst;
	train->tx_index = tx_index;
	train->traffic_class = av->traffic_class;
	train->hop_limit = hop_limit_of(av, &flow->dst);
	train->flow_label = av->flow_label;
	return true;
}

bool rxe_emit_start(struct rxe_emit *ret, struct wire_train *train, struct wire_packet *packet)
{
	uint32_t header_len = wire_header_len(packet->bth.opcode);
	uint32_t pad = -packet->payload_len & 3;
	uint32_t len = header_len + packet->payload_len + pad;

	assert(header_len > 0 && packet->payload_len <= wire_max_payload(packet->bth.opcode));
	ret->train = train;
	ret->len = len;
	ret->pad = (uint8_t)pad;
	ret->was_closed = train->closed;
	ret->was_seg_len = train->seg_len;
	ret->was_len = train->len;
	ret->packet = wire_train_add(train, len + ICRC_LEN);
	if (!ret->packet)
		return false;

	packet->bth.pad = (uint8_t)pad;
	wire_emit_headers(ret->packet, packet);
	ret->payload = ret->packet + header_len;
	return true;
}

void rxe_emit_finish(struct rxe_engine *engine, const struct rxe_emit *emit,
		     const struct icrc_flow *flow)
{
	uint8_t *end = emit->packet + emit->len;
	uint16_t ip_id = (uint16_t)(emit->train->segs - 1);

	assert(emit->train->segs > 0 && end + ICRC_LEN == emit->train->buf + emit->train->len);
	memset(end - emit->pad, 0, emit->pad);
	icrc_store(end,
		   emit->train->no_icrc ? 0 : icrc_compute(flow, ip_id, emit->packet, emit->len));
	engine->cfg.counters->sent_pkts++;
	engine->cfg.counters->sent_bytes += emit->len + ICRC_LEN;
}

static void cancel(const struct rxe_emit *emit)
{
	struct wire_train *train = emit->train;

	assert(train->segs > 0);
	train->closed = emit->was_closed;
	train->seg_len = emit->was_seg_len;
	train->len = emit->was_len;
	train->segs--;
}

enum send_result rxe_emit_end(struct rxe_engine *engine, const struct rxe_emit *emit,
			      const struct icrc_flow *flow, enum mr_check access)
{
	if (access != MR_OK) {
		cancel(emit);
		return access == MR_DEFERRED ? SEND_DEFERRED : SEND_FAILED;
	}
	rxe_emit_finish(engine, emit, flow);
	return SEND_OK;
}
