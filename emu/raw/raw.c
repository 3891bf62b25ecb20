/* SPDX-License-Identifier: MIT */
/* Frames of raw queue pairs on their way out, and where frames come in. A send is done when its
 * frame is in a train. */
#include "emu/raw/raw.h"

#include <assert.h>
#include <string.h>

#include "emu/complete.h"
#include "emu/emit.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/pace.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/raw/flow.h"
#include "emu/raw/frame.h"
#include "emu/sge.h"
#include "net/wire/gid.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

/* A frame as it leaves. */
struct outgoing {
	uint8_t p[WIRE_MAX_FRAME];
	uint32_t len;
};

static void fill_checksums(struct outgoing *out)
{
	struct raw_frame frame;

	if (raw_frame_parse(&frame, out->p, out->len))
		raw_checksums_fill(&frame, out->p);
}

static enum mr_check gather(struct rxe_engine *engine, const struct rxe_qp *qp,
			    const struct rxe_send_wqe *wqe, struct outgoing *ret)
{
	struct rxe_cursor cursor = { 0 };
	enum mr_check result;

	assert(wqe->len <= WIRE_MAX_FRAME);
	result = rxe_gather(engine, qp->pd, wqe, &cursor, 0, ret->p, wqe->len);
	if (result != MR_OK)
		return result;
	ret->len = wqe->len;
	if (wqe->flags & RXE_SEND_IP_CSUM)
		fill_checksums(ret);
	if (ret->len < RAW_MIN_FRAME) {
		memset(ret->p + ret->len, 0, RAW_MIN_FRAME - ret->len);
		ret->len = RAW_MIN_FRAME;
	}
	return MR_OK;
}

/* The first slot from one on whose process listens. */
static uint32_t next_listener(const struct rxe_engine *engine, uint32_t slot)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;

	return ops->raw_listener ? ops->raw_listener(engine->cfg.host, slot) : RXE_MAX_SLOTS;
}

static enum send_result send_to_slot(struct rxe_engine *engine, struct rxe_qp *qp,
				     struct wire_train *train, uint32_t slot,
				     const struct outgoing *out, struct rxe_pace *pace)
{
	static const struct rxe_av plain;
	const struct gid *gid = &engine->cfg.gids[0];
	const uint32_t dest_qpn = slot << RXE_SLOT_SHIFT;
	const uint8_t tx_index = rxe_tx_index(engine, gid, dest_qpn);
	const struct icrc_flow flow = { *gid, *gid, engine->cfg.tx_ports[tx_index] };
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_RAW, OP_SEND_ONLY),
			 .mig_req = true,
			 .pkey = 0xffff,
			 .dest_qpn = dest_qpn,
			 .psn = qp->attr.sq_psn },
		.deth = { .src_qpn = qp->qpn },
		.payload_len = out->len,
	};
	struct rxe_emit emit;

	if (!rxe_train_take(engine, train, &flow, tx_index, &plain, dest_qpn) ||
	    !rxe_emit_start(&emit, train, &packet))
		return SEND_TRAIN_FULL;
	memcpy(emit.payload, out->p, out->len);
	rxe_emit_finish(engine, &emit, &flow);
	pace->spent += rxe_pace_cost(emit.len + ICRC_LEN);
	qp->attr.sq_psn = psn_add(qp->attr.sq_psn, 1);
	return SEND_OK;
}

/* Sends the oldest request to each listening slot. The position stays in qp->raw when a train is
 * full or a socket has no credits. */
static enum send_result send_on_wire(struct rxe_engine *engine, struct rxe_qp *qp,
				     struct wire_train *train, const struct outgoing *out)
{
	struct rxe_raw *raw = &qp->raw;

	if (raw->head != qp->sq.head)
		*raw = (struct rxe_raw){ .head = qp->sq.head };
	for (;;) {
		const uint32_t slot = next_listener(engine, raw->next_slot);
		enum send_result result;
		struct rxe_pace pace;

		if (slot >= RXE_MAX_SLOTS)
			break;
		if (!rxe_pace_begin(engine, qp, &pace, &engine->cfg.gids[0],
				    slot << RXE_SLOT_SHIFT))
			return SEND_NO_CREDITS;
		result = send_to_slot(engine, qp, train, slot, out, &pace);
		rxe_pace_end(engine, &pace);
		if (result != SEND_OK)
			return result;
		raw->next_slot = slot + 1;
	}
	*raw = (struct rxe_raw){ .head = qp->sq.head + 1 };
	return SEND_OK;
}

/* Queue pairs of this process get the frame here: the interface does not return it. */
static enum send_result send_bare(struct rxe_engine *engine, const struct rxe_qp *qp,
				  struct wire_train *train, const struct outgoing *out)
{
	const struct rxe_flow_input input = { out->p, out->len, qp };
	uint8_t *p;

	if (train->segs > 0 && !train->bare)
		return SEND_TRAIN_FULL;
	p = wire_train_add(train, out->len);
	if (!p)
		return SEND_TRAIN_FULL;
	train->bare = true;
	memcpy(p, out->p, out->len);
	engine->cfg.counters->sent_pkts++;
	engine->cfg.counters->sent_bytes += out->len;
	rxe_flow_steer(engine, &input);
	return SEND_OK;
}

static enum send_result send_one(struct rxe_engine *engine, struct rxe_qp *qp,
				 struct wire_train *train)
{
	const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);
	struct outgoing out;
	enum send_result result;
	enum mr_check gathered;

	if (rxe_pace_rate_stops(engine, qp))
		return SEND_NO_CREDITS;
	gathered = gather(engine, qp, wqe, &out);
	if (gathered != MR_OK)
		return gathered == MR_DEFERRED ? SEND_DEFERRED : SEND_FAILED;
	result = engine->cfg.raw_is_bare ? send_bare(engine, qp, train, &out)
					 : send_on_wire(engine, qp, train, &out);
	/* Once, however many processes get a copy. */
	if (result == SEND_OK)
		rxe_rate_sent(&qp->rate, out.len, engine->now_ns);
	return result;
}

enum output_result raw_output(struct rxe_engine *engine, struct rxe_qp *qp,
			      struct wire_train *train)
{
	enum output_result result = OUTPUT_IDLE;

	rxe_qp_drained(engine, qp);
	while (result == OUTPUT_IDLE && qp->state == RXE_QPS_RTS && rxe_ring_used(&qp->sq) > 0)
		result = rxe_message_sent(engine, qp, send_one(engine, qp, train));
	return result;
}

/* The private wire ends at the device: a packet from elsewhere is none of its frames. */
static bool is_of_device(const struct rxe_engine *engine, const struct wire_arrival *arrival)
{
	return gid_equal(&arrival->src, &engine->cfg.gids[0]) &&
	       gid_equal(&arrival->dst, &engine->cfg.gids[0]);
}

void raw_input(struct rxe_engine *engine, const struct wire_packet *packet,
	       const struct wire_arrival *arrival)
{
	uint8_t frame[WIRE_MAX_FRAME];
	const struct rxe_flow_input input = {
		.p = frame,
		.len = packet->payload_len,
		.from = rxe_engine_find_qp(engine, packet->deth.src_qpn),
	};

	/* The sender may still change the bytes that arrived: read once, use the copy. */
	assert(packet->payload_len <= sizeof(frame));
	memcpy(frame, packet->payload, packet->payload_len);
	if (engine->cfg.raw_is_bare || !is_of_device(engine, arrival) ||
	    !rxe_flow_steer(engine, &input))
		engine->cfg.counters->rcvd_no_qp++;
}

void rxe_engine_raw_input(struct rxe_engine *engine, uint8_t *p, uint32_t len, bool lacks_checksum,
			  uint64_t now_ns)
{
	const struct rxe_flow_input input = { .p = p, .len = len };
	struct raw_frame frame;

	assert(engine->cfg.raw_is_bare);
	engine->now_ns = now_ns;
	if (lacks_checksum && raw_frame_parse(&frame, p, len))
		raw_checksums_fill(&frame, p);
	if (!rxe_flow_steer(engine, &input))
		return;
	engine->cfg.counters->rcvd_pkts++;
	engine->cfg.counters->rcvd_bytes += len;
}
