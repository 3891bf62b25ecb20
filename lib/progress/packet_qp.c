// SPDX-License-Identifier: MIT
/* Finds the queue pair and the work request of a packet. A request of RC is found by its PSNs: the
 * requests in the send queue that have started stand in the order of their PSNs. */
#include "lib/progress/packet_qp.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "net/link/capture/tail.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

static bool is_connected_to(const struct rxe_qp *qp, const struct gid *peer, uint32_t qpn)
{
	return qp && qp->type != RXE_QPT_UD && qp->attr.dest_qp_num == qpn &&
	       gid_equal(&qp->flow.dst, peer);
}

struct rxe_qp *packet_qp_connected_to(const struct rxe_engine *engine, const struct gid *peer,
				      uint32_t qpn, uint32_t *place)
{
	assert(*place < RXE_MAX_QP);
	if (is_connected_to(engine->qp[*place], peer, qpn))
		return engine->qp[*place];
	for (uint32_t i = 0, seen = 0; i < RXE_MAX_QP && seen < engine->num_qp; i++) {
		if (is_connected_to(engine->qp[i], peer, qpn)) {
			*place = i;
			return engine->qp[i];
		}
		seen += engine->qp[i] != NULL;
	}
	return NULL;
}

struct rxe_qp *packet_qp_sent(const struct rxe_engine *engine, const struct gid *peer,
			      const uint8_t *packet, uint32_t len, uint32_t *place)
{
	struct bth bth;
	struct deth deth;

	if (len < BTH_LEN + ICRC_LEN)
		return NULL;
	bth_parse(&bth, packet);
	if (wire_shape(bth.opcode) & SHAPE_DETH) {
		if (len < BTH_LEN + DETH_LEN + ICRC_LEN)
			return NULL;
		deth_parse(&deth, packet + BTH_LEN);
		return rxe_engine_find_qp(engine, deth.src_qpn);
	}
	return packet_qp_connected_to(engine, peer, bth.dest_qpn, place);
}

struct rxe_qp *packet_qp_arrived(const struct rxe_engine *engine, const uint8_t *packet,
				 uint32_t len)
{
	struct bth bth;

	if (len < BTH_LEN + ICRC_LEN)
		return NULL;
	bth_parse(&bth, packet);
	return bth.dest_qpn == QPN_MASK ? NULL : rxe_engine_find_qp(engine, bth.dest_qpn);
}

static const struct rxe_send_wqe *request_with(const struct rxe_qp *qp, uint32_t psn)
{
	uint32_t low = qp->sq.head, high = qp->sq.tail;

	while (low != high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, middle);

		if (!wqe->started || psn_diff(psn, wqe->psn_first) < 0)
			high = middle;
		else if (psn_diff(psn, wqe->psn_last) > 0)
			low = middle + 1;
		else
			return wqe;
	}
	return NULL;
}

const struct rxe_send_wqe *packet_qp_request(const struct rxe_qp *qp, bool sent,
					     const uint8_t *packet, uint32_t len)
{
	struct bth bth;

	if (len < BTH_LEN + ICRC_LEN || !rxe_qp_is_reliable(qp))
		return NULL;
	bth_parse(&bth, packet);
	if (sent != !!(wire_shape(bth.opcode) & SHAPE_REQUEST))
		return NULL;
	return request_with(qp, bth.psn);
}

static bool is_of_qp(const struct tail_packet *packet, const void *arg)
{
	const struct rxe_qp *qp = arg;
	struct bth bth;

	if (packet->len < BTH_LEN)
		return false;
	bth_parse(&bth, packet->head);
	if (qp->type == RXE_QPT_UD)
		return !packet->sent && bth.dest_qpn == qp->qpn;
	return packet->peer == tail_peer(&qp->flow.dst) &&
	       bth.dest_qpn == (packet->sent ? qp->attr.dest_qp_num : qp->qpn);
}

uint32_t packet_qp_tail(const struct rxe_qp *qp, struct tail *tail, struct tail_packet *ret,
			uint32_t max)
{
	return tail_find(tail, is_of_qp, qp, ret, max);
}
