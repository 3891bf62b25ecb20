// SPDX-License-Identifier: MIT
/* Finds the queue pair and the work request of a packet, and opens captures. A request of RC is
 * found by its PSNs: the requests in the send queue that have started stand in the order of their
 * PSNs. */
#include "lib/progress/link.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "lib/control/client.h"
#include "lib/control/log.h"
#include "lib/progress/progress.h"
#include "net/link/capture/recorder.h"
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

/* The sender of a packet that leaves for peer; NULL when no queue pair is connected to the packet's
 * destination. place: of packet_qp_connected_to(). */
static struct rxe_qp *packet_qp_sent(const struct rxe_engine *engine, const struct gid *peer,
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

/* The receiver of a packet that arrived; NULL also for a multicast packet. */
static struct rxe_qp *packet_qp_arrived(const struct rxe_engine *engine, const uint8_t *packet,
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

/* The request of this queue pair that an RC packet carries (sent) or answers (arrived); NULL when
 * the request is the peer's, or has completed. A packet with a queue pair has a BTH. */
static const struct rxe_send_wqe *packet_qp_request(const struct rxe_qp *qp, bool sent,
						    const uint8_t *packet)
{
	struct bth bth;

	if (!rxe_qp_is_reliable(qp))
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

static void describe(void *arg, struct capture_record *record, const uint8_t *packet)
{
	struct progress *progress = arg;
	const struct rxe_engine *engine = progress->engine;
	const bool sent = record->flags & CAPTURE_SENT;
	const struct rxe_qp *qp = sent ? packet_qp_sent(engine, &record->dst, packet, record->len,
							&progress->link.sender)
				       : packet_qp_arrived(engine, packet, record->len);
	const struct rxe_send_wqe *wqe;

	assert(engine);
	if (!qp)
		return;
	record->flags |= CAPTURE_HAS_QP;
	record->qpn = qp->qpn;
	record->qp_type = (uint8_t)qp->type;
	wqe = packet_qp_request(qp, sent, packet);
	if (!wqe)
		return;
	record->flags |= CAPTURE_HAS_WR;
	record->wr_id = wqe->wr_id;
	record->wr_opcode = wqe->opcode;
}

struct recorder *capture_open(struct progress *progress, int fd)
{
	const struct ctl_attachment *at = progress->attachment;
	const struct ctl_slot *slot = &at->shared->slot[at->slot];
	const struct recorder_cfg cfg = {
		.link = progress->link.phy,
		.slot = at->slot,
		.pid = atomic_load(&slot->pid),
		.comm = slot->comm,
		.gids = progress->info->gids,
		.num_gids = RXE_MAX_GIDS,
		.describe = describe,
		.arg = progress,
	};
	struct recorder *recorder = recorder_open(&cfg, fd);

	assert(progress_is_locked(progress));
	if (!recorder)
		ctl_log(CTL_LOG_WARNING,
			"a capture on %s has begun, but its memory cannot be mapped: packets "
			"of this process are not in it",
			progress->info->name);
	return recorder;
}
