/* SPDX-License-Identifier: MIT */
/* Unreliable datagrams (IBTA 9.8.3). A send is done when its packet is in a train. A datagram with
 * a wrong Q_Key or without a receive is counted and dropped. A receive that is too short or cannot
 * be written completes in error and the QP enters ERR (IBTA 11.6.2, 10.3.1.7), as on adapters. */
#include "emu/ud.h"

#include <assert.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/emit.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/mr.h"
#include "emu/pace.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/sge.h"
#include "net/wire/gid.h"
#include "net/wire/icrc.h"
#include "net/wire/ip.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

#define QKEY_CONTROLLED 0x80000000u
#define UDP_LEN		8u

static struct wire_packet packet_for(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe)
{
	bool imm = wqe->opcode == RXE_WR_SEND_WITH_IMM;

	return (struct wire_packet){
		.bth = {
			.opcode = opcode_make(WIRE_UD, imm ? OP_SEND_ONLY_IMM : OP_SEND_ONLY),
			.solicited = (wqe->flags & RXE_SEND_SOLICITED) != 0,
			.mig_req = true,
			.pkey = 0xffff,
			.dest_qpn = wqe->remote_qpn,
			.psn = qp->attr.sq_psn,
		},
		.deth = {
			/* The high bit selects the QP's own Q_Key (IBTA 10.2.5). */
			.qkey = wqe->remote_qkey & QKEY_CONTROLLED ? qp->attr.qkey : wqe->remote_qkey,
			.src_qpn = qp->qpn,
		},
		.imm = wqe->imm_or_rkey,
		.payload_len = wqe->len,
	};
}

static enum send_result send_one(struct rxe_engine *engine, struct rxe_qp *qp,
				 struct wire_train *train, struct rxe_pace *pace)
{
	const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);
	uint8_t tx_index = rxe_tx_index(engine, &wqe->av.dgid, wqe->remote_qpn);
	struct icrc_flow flow = {
		.src = engine->cfg.gids[wqe->av.sgid_index],
		.dst = wqe->av.dgid,
		.src_port = engine->cfg.tx_ports[tx_index],
	};
	struct wire_packet packet = packet_for(qp, wqe);
	struct rxe_cursor cursor = { 0 };
	enum send_result result;
	enum mr_check gathered;
	struct rxe_emit emit;

	assert(wqe->len <= engine->cfg.max_mtu);
	if (!rxe_pace_may(pace) || rxe_pace_rate_stops(engine, qp))
		return SEND_NO_CREDITS;
	if (!rxe_train_take(engine, train, &flow, tx_index, &wqe->av, wqe->remote_qpn) ||
	    !rxe_emit_start(&emit, train, &packet))
		return SEND_TRAIN_FULL;
	gathered = rxe_gather(engine, qp->pd, wqe, &cursor, 0, emit.payload, wqe->len);
	result = rxe_emit_end(engine, &emit, &flow, gathered);
	if (result != SEND_OK)
		return result;
	pace->spent += rxe_pace_cost(emit.len + ICRC_LEN);
	if (rxe_rate_is_limited(&qp->rate))
		rxe_rate_sent(&qp->rate, emit.len + ICRC_LEN, engine->now_ns);
	qp->attr.sq_psn = psn_add(qp->attr.sq_psn, 1);
	return SEND_OK;
}

static bool may_send(const struct rxe_qp *qp)
{
	return qp->state == RXE_QPS_RTS && rxe_ring_used(&qp->sq) > 0;
}

static enum output_result fill(struct rxe_engine *engine, struct rxe_qp *qp,
			       struct wire_train *train, struct rxe_pace *pace)
{
	enum output_result result = OUTPUT_IDLE;

	while (result == OUTPUT_IDLE && may_send(qp)) {
		const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);

		/* IBTA 11.6.2, local length error. */
		if (wqe->len > engine->cfg.max_mtu)
			rxe_qp_fail_send(engine, qp, RXE_WC_LOC_LEN_ERR);
		else
			result = rxe_message_sent(engine, qp, send_one(engine, qp, train, pace));
	}
	return result;
}

/* A train goes to one socket, that of the first datagram: a datagram to another makes it full. */
enum output_result ud_output(struct rxe_engine *engine, struct rxe_qp *qp, struct wire_train *train)
{
	const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);
	enum output_result result;
	struct rxe_pace pace;
	struct gid dst;

	rxe_qp_drained(engine, qp);
	if (!may_send(qp))
		return OUTPUT_IDLE;
	dst = wqe->av.dgid;
	if (!rxe_pace_begin(engine, qp, &pace, &dst, wqe->remote_qpn))
		return OUTPUT_ADDED;
	result = fill(engine, qp, train, &pace);
	rxe_pace_end(engine, &pace);
	return result;
}

static enum mr_check store(struct rxe_engine *engine, struct rxe_qp *qp,
			   const struct wire_packet *packet, const struct wire_arrival *arrival)
{
	const struct grh_fields fields = {
		.src = arrival->src,
		.dst = arrival->dst,
		.traffic_class = arrival->traffic_class,
		.hop_limit = arrival->hop_limit,
		.flow_label = arrival->flow_label,
		.ip_payload_len = (uint16_t)(arrival->len + UDP_LEN),
		.ip_id = arrival->id_rule == IP_ID_EXACT ? arrival->ip_id : 0,
	};
	uint8_t grh[GRH_LEN];
	enum mr_check result;

	grh_emit(grh, &fields);
	result = rxe_recv_scatter(engine, qp, 0, grh, GRH_LEN);
	if (result != MR_OK)
		return result;
	return rxe_recv_scatter(engine, qp, GRH_LEN, packet->payload, packet->payload_len);
}

static void deliver(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet,
		    const struct wire_arrival *arrival)
{
	struct rxe_recv_done done =
		rxe_recv_done_of(packet, packet->deth.src_qpn, GRH_LEN + packet->payload_len);

	done.flags |= RXE_WC_GRH;
	done.frame = gid_is_v4(&arrival->src) ? RXE_FRAME_IPV4 : RXE_FRAME_IPV6;
	assert(qp->claim.held);
	if (done.byte_len > qp->claim.len)
		rxe_recv_fail(engine, qp, RXE_WC_LOC_LEN_ERR);
	else
		rxe_recv_stored(engine, qp, store(engine, qp, packet, arrival), &done);
}

void ud_input(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet,
	      const struct wire_arrival *arrival)
{
	if (packet->deth.qkey != qp->attr.qkey) {
		engine->cfg.counters->rcvd_bad_key++;
		return;
	}
	if (!rxe_recv_claim(engine, qp)) {
		engine->cfg.counters->rcvd_dropped++;
		return;
	}
	deliver(engine, qp, packet, arrival);
}

/* Membership of multicast groups (IBTA 10.5). The host joins a group with its link when the first
 * QP attaches, and leaves it with the last. */

const struct rxe_mcast_group *rxe_mcast_find(const struct rxe_engine *engine, const struct gid *gid)
{
	for (uint32_t i = 0; i < RXE_MAX_MCAST_GRP; i++) {
		const struct rxe_mcast_group *group = &engine->mcast.group[i];

		if (group->num_qps > 0 && gid_equal(&group->gid, gid))
			return group;
	}
	return NULL;
}

static struct rxe_mcast_group *find_or_free(struct rxe_engine *engine, const struct gid *gid)
{
	const uint32_t offered = engine->cfg.offer.max_mcast_grp;
	struct rxe_mcast_group *found = NULL;

	for (uint32_t i = 0; i < (offered ? offered : RXE_MAX_MCAST_GRP); i++) {
		struct rxe_mcast_group *group = &engine->mcast.group[i];

		if (group->num_qps == 0)
			found = found ? found : group;
		else if (gid_equal(&group->gid, gid))
			return group;
	}
	return found;
}

static uint32_t place_of(const struct rxe_mcast_group *group, const struct rxe_qp *qp)
{
	uint32_t i = 0;

	while (i < group->num_qps && group->qp[i] != qp)
		i++;
	return i;
}

enum mcast_result rxe_mcast_attach(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct gid *gid)
{
	const uint32_t offered = engine->cfg.offer.max_mcast_qp;
	struct rxe_mcast_group *group;

	if (qp->type != RXE_QPT_UD)
		return MCAST_NOT_UD;
	if (!gid_is_multicast(gid))
		return MCAST_NOT_GROUP;
	group = find_or_free(engine, gid);
	if (!group)
		return MCAST_FULL;
	/* A QP attached twice still gets one copy (IBTA 11.3.1). */
	if (place_of(group, qp) < group->num_qps)
		return MCAST_OK;
	if (group->num_qps == (offered ? offered : RXE_MAX_MCAST_QP))
		return MCAST_FULL;
	group->gid = *gid;
	group->qp[group->num_qps++] = qp;
	return group->num_qps == 1 ? MCAST_FIRST : MCAST_OK;
}

static bool take_out(struct rxe_mcast_group *group, const struct rxe_qp *qp)
{
	uint32_t place = place_of(group, qp);

	assert(group->num_qps <= RXE_MAX_MCAST_QP);
	if (place == group->num_qps)
		return false;
	group->qp[place] = group->qp[--group->num_qps];
	return true;
}

enum mcast_result rxe_mcast_detach(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct gid *gid)
{
	struct rxe_mcast_group *group = find_or_free(engine, gid);

	if (!group || group->num_qps == 0 || !take_out(group, qp))
		return MCAST_NOT_ATTACHED;
	return group->num_qps == 0 ? MCAST_FIRST : MCAST_OK;
}

bool rxe_mcast_is_attached(const struct rxe_engine *engine, const struct rxe_qp *qp)
{
	for (uint32_t i = 0; i < RXE_MAX_MCAST_GRP; i++) {
		const struct rxe_mcast_group *group = &engine->mcast.group[i];

		if (place_of(group, qp) < group->num_qps)
			return true;
	}
	return false;
}

void rxe_mcast_forget(struct rxe_engine *engine, const struct rxe_qp *qp)
{
	assert(qp->type == RXE_QPT_UD);
	for (uint32_t i = 0; i < RXE_MAX_MCAST_GRP; i++)
		take_out(&engine->mcast.group[i], qp);
}
