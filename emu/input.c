/* SPDX-License-Identifier: MIT */
/* Packets in: what a packet must satisfy before a transport sees it (IBTA 9.6), in the standard's
 * order, cheapest first. A packet that fails is counted and dropped silently. */
#include <assert.h>

#include "emu/complete.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/migration.h"
#include "emu/peer.h"
#include "emu/qp.h"
#include "emu/raw/raw.h"
#include "emu/rc/rc.h"
#include "emu/rc/time_wait.h"
#include "emu/supported.h"
#include "emu/uc.h"
#include "emu/ud.h"
#include "net/wire/gid.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

#define PKEY_BASE     0x7fffu
#define MULTICAST_QPN QPN_MASK

/* Packets of this host keep the identification rule: no other machine rewrites them. */
static bool is_this_host(const struct rxe_engine *engine, const struct gid *gid)
{
	if (gid_is_v4(gid) && gid->raw[12] == 127)
		return true;
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		if (gid_equal(&engine->cfg.gids[i], gid))
			return true;
	}
	return false;
}

/* The link does not report the identification. Where no other machine cuts trains it is 0 or the
 * packet's index. A port that has kept to that is held to identifications of trains, which others
 * may have cut or merged. For other ports any identification that makes the ICRC right is accepted,
 * at the cost of 16 bits of the ICRC. */
static bool icrc_is_good_any(struct rxe_engine *engine, const struct wire_arrival *arrival,
			     const struct icrc_flow *flow)
{
	struct rxe_port *port = NULL;
	enum ip_id_rule rule = IP_ID_RULED;

	if (!is_this_host(engine, &arrival->src)) {
		port = rxe_port_get(&engine->peers, &arrival->src);
		rule = port->ruled == RXE_PORT_PROVEN ? IP_ID_TRAIN : IP_ID_ANY;
	}
	switch (icrc_check(flow, rule, arrival->ip_id, arrival->p, arrival->len)) {
	case ICRC_OK:
		if (rule == IP_ID_ANY)
			port->ruled++;
		assert(!port || port->ruled <= RXE_PORT_PROVEN);
		return true;
	case ICRC_OK_ANY:
		assert(port);
		port->ruled = 0;
		return true;
	case ICRC_BAD: return false;
	}
	return false;
}

static bool icrc_is_good(struct rxe_engine *engine, const struct wire_arrival *arrival)
{
	const struct icrc_flow flow = {
		.src = arrival->src,
		.dst = arrival->dst,
		.src_port = arrival->src_port,
	};

	if (arrival->no_icrc)
		return true;
	if (arrival->id_rule == IP_ID_ANY)
		return icrc_is_good_any(engine, arrival, &flow);
	return icrc_check(&flow, arrival->id_rule, arrival->ip_id, arrival->p, arrival->len) ==
	       ICRC_OK;
}

static bool fits(const struct rxe_qp *qp, const struct wire_packet *packet)
{
	enum wire_service service = opcode_service(packet->bth.opcode);

	if (!rxe_qp_receives(qp))
		return false;
	switch (qp->type) {
	case RXE_QPT_RC: return service == WIRE_RC;
	case RXE_QPT_UC: return service == WIRE_UC;
	case RXE_QPT_UD: return service == WIRE_UD;
	case RXE_QPT_RAW:
	case RXE_QPT_WQ: return false; /* flows receive for them */
	case RXE_QPT_XRC_SEND: return service == WIRE_XRC && !(packet->shape & SHAPE_REQUEST);
	case RXE_QPT_XRC_RECV: return service == WIRE_XRC && (packet->shape & SHAPE_REQUEST);
	}
	return false;
}

static bool is_for(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet,
		   const struct wire_arrival *arrival)
{
	if (!fits(qp, packet))
		return false;
	if (qp->type == RXE_QPT_UD || rxe_migration_is_from_peer(qp, packet, arrival))
		return true;
	rxe_migration_refused(engine, qp, packet, arrival);
	return false;
}

/* The peer sends while the QP is still in RTR: COMM_EST reports that the program may go on to
 * RTS. */
static void raise_established(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (qp->state != RXE_QPS_RTR || qp->comm_est)
		return;
	qp->comm_est = true;
	rxe_raise(engine, qp, RXE_EVENT_COMM_EST);
}

static void to_qp(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet,
		  const struct wire_arrival *arrival)
{
	if (!is_for(engine, qp, packet, arrival)) {
		engine->cfg.counters->rcvd_dropped++;
		return;
	}
	if (qp->type != RXE_QPT_UD)
		rxe_migration_arrived(engine, qp, packet, arrival);
	switch (qp->type) {
	case RXE_QPT_RC:
	case RXE_QPT_XRC_SEND:
	case RXE_QPT_XRC_RECV:
		raise_established(engine, qp);
		rc_input(engine, qp, packet);
		return;
	case RXE_QPT_UC:
		raise_established(engine, qp);
		uc_input(engine, qp, packet);
		return;
	case RXE_QPT_UD: ud_input(engine, qp, packet, arrival); return;
	case RXE_QPT_RAW:
	case RXE_QPT_WQ: return;
	}
}

/* Every attached QP gets its own copy, for one receive each. */
static void to_group(struct rxe_engine *engine, const struct wire_packet *packet,
		     const struct wire_arrival *arrival)
{
	const struct rxe_mcast_group *group = rxe_mcast_find(engine, &arrival->dst);

	if (!group) {
		engine->cfg.counters->rcvd_no_qp++;
		return;
	}
	for (uint32_t i = 0; i < group->num_qps; i++) {
		assert(group->qp[i]->type == RXE_QPT_UD);
		to_qp(engine, group->qp[i], packet, arrival);
	}
}

/* Headers are read once, from the copy where there is one; the payload is read when it is
 * stored. */
static bool parse(struct wire_packet *ret, const struct wire_arrival *arrival)
{
	const uint8_t *headers = arrival->headers ? arrival->headers : arrival->p;

	if (wire_parse(ret, headers, arrival->len) != WIRE_OK)
		return false;
	ret->payload = arrival->p + (ret->payload - headers);
	return true;
}

void rxe_engine_input(struct rxe_engine *engine, const struct wire_arrival *arrival,
		      uint64_t now_ns)
{
	struct rxe_counters *counters = engine->cfg.counters;
	struct wire_packet packet;
	struct rxe_qp *qp;

	engine->now_ns = now_ns;
	counters->rcvd_pkts++;
	counters->rcvd_bytes += arrival->len;
	if (!parse(&packet, arrival)) {
		counters->rcvd_malformed++;
		return;
	}
	if (!icrc_is_good(engine, arrival)) {
		counters->rcvd_bad_icrc++;
		return;
	}
	/* The only P_Key is the default partition, full member: any member's key matches (IBTA
	 * 10.9.3). */
	if ((packet.bth.pkey & PKEY_BASE) != PKEY_BASE) {
		counters->rcvd_bad_key++;
		return;
	}
	if (opcode_service(packet.bth.opcode) == WIRE_RAW) {
		if (RXE_RAW_SUPPORTED)
			raw_input(engine, &packet, arrival);
		else
			counters->rcvd_no_qp++;
		return;
	}
	if (packet.bth.dest_qpn == MULTICAST_QPN) {
		to_group(engine, &packet, arrival);
		return;
	}
	qp = rxe_engine_find_qp(engine, packet.bth.dest_qpn);
	if (!qp) {
		if (!rxe_time_wait_input(engine, &packet, arrival))
			counters->rcvd_no_qp++;
		return;
	}
	to_qp(engine, qp, &packet, arrival);
}
