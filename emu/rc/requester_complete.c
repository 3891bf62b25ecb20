/* SPDX-License-Identifier: MIT */
/* Responses arrive (IBTA 9.7.5.1, 9.7.5.2). Requests are retired in order. A response acknowledges
 * all requests before it, except those that need their own (rc_is_answered()). A response after a
 * missing one is an implied NAK (9.7.5.1.2). A response older than the oldest outstanding request,
 * or to a PSN never sent, is a ghost (9.7.5.1.1) and ignored. */
#include "emu/rc/requester.h"

#include <assert.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/migration.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/rc/nak.h"
#include "emu/rc/requester_retry.h"
#include "emu/rc/time_wait.h"
#include "emu/sge.h"
#include "emu/srq.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

/* Acknowledges everything before psn, up to the first missing response that a request needs. */
static void advance_to(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t psn)
{
	const struct rc_requester *req = &qp->rc.req;

	while (psn_diff(psn, req->una_psn) > 0 && qp->state != RXE_QPS_ERR) {
		const struct rxe_send_wqe *wqe = rc_requester_head(qp);
		uint32_t upto = psn_add(psn, PSN_MASK); /* psn - 1 */

		assert(wqe);
		if (rc_is_answered(wqe) && !rc_arrived_has(&req->arrived, req->una_psn))
			return;
		if (rc_is_answered(wqe))
			upto = req->una_psn;
		else if (psn_diff(upto, wqe->psn_last) > 0)
			upto = wqe->psn_last;
		rc_requester_advance(engine, qp, upto);
	}
}

static void progressed(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_requester *req = &qp->rc.req;

	/* A completion ended in error. */
	if (qp->state == RXE_QPS_ERR)
		return;
	rc_rtt_acknowledged(&req->rtt, req->una_psn, engine->now_ns);
	rc_retry_update_probe_timeout(&qp->rc.retry, &req->rtt, engine->now_ns);
	rc_retry_progressed(&qp->rc.retry, &qp->attr, rc_requester_outstanding(qp), engine->now_ns);
	if (rc_requester_has_output(qp))
		rxe_qp_set_ready(engine, qp);
	rc_requester_check_broken(engine, qp);
}

/* Up to the first request that has a completion. The record is another process's, and may hold
 * anything: only what was sent can be acknowledged. */
void rc_requester_read_record(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rc_requester *req = &qp->rc.req;
	const struct rxe_send_wqe *wqe = rc_requester_head(qp);
	uint32_t psn;

	if (!wqe || !req->is_recorded || !rxe_time_wait_received(engine, qp, &psn) ||
	    psn_diff(req->cur_psn, psn) < 0)
		return;
	while (wqe && psn_diff(psn, wqe->psn_last) > 0 && !rc_is_answered(wqe) && !qp->sq_sig_all &&
	       !(wqe->flags & RXE_SEND_SIGNALED)) {
		rc_requester_advance(engine, qp, wqe->psn_last);
		wqe = rc_requester_head(qp);
	}
}

enum acknowledged {
	ACKNOWLEDGED_ALL,    /* everything before psn is acknowledged */
	ACKNOWLEDGED_NOT,    /* a request before psn needs its own response */
	ACKNOWLEDGED_FAILED, /* the QP failed */
};

/* Records progress before the caller spends a retry. */
static enum acknowledged acknowledge_before(struct rxe_engine *engine, struct rxe_qp *qp,
					    uint32_t psn)
{
	const struct rc_arrived *arrived = &qp->rc.req.arrived;
	uint32_t was = qp->rc.req.una_psn;

	advance_to(engine, qp,
		   arrived->is_waiting && psn_diff(arrived->high_psn, psn) > 0 ? arrived->high_psn
									       : psn);
	if (qp->rc.req.una_psn != was) {
		rc_repair_answered(&qp->rc.req.repair, (uint32_t)psn_diff(qp->rc.req.una_psn, was));
		progressed(engine, qp);
	}
	if (qp->state == RXE_QPS_ERR)
		return ACKNOWLEDGED_FAILED;
	return psn_diff(psn, qp->rc.req.una_psn) <= 0 ? ACKNOWLEDGED_ALL : ACKNOWLEDGED_NOT;
}

static void retry(struct rxe_engine *engine, struct rxe_qp *qp, enum rc_retry_action result)
{
	struct rxe_counters *counters = engine->cfg.counters;

	switch (result) {
	case RC_RETRY_WAIT: return;
	case RC_RETRY_PROBE: rc_requester_probe(engine, qp); return;
	case RC_RETRY_REWIND:
		counters->completer_retry_err++;
		rc_retry_lost(&qp->rc.retry, engine->now_ns);
		rc_requester_loss_detected(engine, qp);
		return;
	case RC_RETRY_GIVE_UP:
		if (rxe_migration_retries_exhausted(engine, qp)) {
			rc_retry_restart(&qp->rc.retry);
			rc_requester_loss_detected(engine, qp);
			return;
		}
		counters->retry_exceeded_err++;
		rxe_qp_fail(engine, qp, RXE_WC_RETRY_EXC_ERR);
		return;
	}
}

static void missing(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	bool is_ack = !(packet->shape & (SHAPE_READ | SHAPE_ATOMIC));

	retry(engine, qp, rc_retry_implied_nak(&qp->rc.retry, &qp->attr, packet->bth.psn, is_ack));
}

static void rnr_nak(struct rxe_engine *engine, struct rxe_qp *qp, uint8_t timer_code)
{
	engine->cfg.counters->rcvd_rnr_err++;
	switch (rc_retry_rnr_nak(&qp->rc.retry, &qp->attr, timer_code, engine->now_ns)) {
	case RC_RETRY_WAIT:
	case RC_RETRY_PROBE: return;
	case RC_RETRY_REWIND: rc_requester_rewind(engine, qp); return;
	case RC_RETRY_GIVE_UP:
		engine->cfg.counters->retry_rnr_exceeded_err++;
		rxe_qp_fail(engine, qp, RXE_WC_RNR_RETRY_EXC_ERR);
		return;
	}
}

/* After a rewind, with nothing resent yet, the NAK reports the same loss: no second retry is
 * spent. */
static void sequence_nak(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rc_requester *req = &qp->rc.req;
	enum rc_retry_action action;

	engine->cfg.counters->rcvd_seq_err++;
	if (rc_requester_is_idle(qp) || req->probe == RC_PROBE_DUE)
		return;
	action = rc_retry_sequence_nak(&qp->rc.retry, &qp->attr);
	if (action != RC_RETRY_REWIND) {
		retry(engine, qp, action);
		return;
	}
	engine->cfg.counters->completer_retry_err++;
	rc_retry_lost(&qp->rc.retry, engine->now_ns);
	rc_retry_update_probe_timeout(&qp->rc.retry, &req->rtt, engine->now_ns);
	rc_resend_oldest(engine, qp);
	if (!rc_requester_is_idle(qp))
		rc_retry_sent(&qp->rc.retry, &qp->attr, RC_OUTSTANDING_ASKED, engine->now_ns);
}

/* A NAK acknowledges everything before the PSN that it names. */
static void nak(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	uint8_t syndrome = packet->aeth.syndrome;

	switch (acknowledge_before(engine, qp, packet->bth.psn)) {
	case ACKNOWLEDGED_ALL: break;
	case ACKNOWLEDGED_NOT: missing(engine, qp, packet); return;
	case ACKNOWLEDGED_FAILED: return;
	}
	/* An old one, of a packet that has arrived since. */
	if (packet->bth.psn != qp->rc.req.una_psn)
		return;
	if (rc_syndrome_class(syndrome) == RC_AETH_RNR)
		rnr_nak(engine, qp, syndrome & AETH_CODE_MASK);
	else if (syndrome == RC_NAK_PSN_SEQUENCE)
		sequence_nak(engine, qp);
	else
		rxe_qp_fail(engine, qp, rc_nak_status(syndrome));
}

/* Whether the packet is the one that this PSN of the response requires. It may answer an earlier
 * request, for a larger or smaller part; but every part ends at a multiple of RC_READ_PACKETS,
 * unless it is a single packet or was requested again. Packets other than the last may be FIRST or
 * MIDDLE: rdma_rxe continues with MIDDLE when a part is requested again. */
static bool fits_read(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe,
		      const struct wire_packet *packet)
{
	uint32_t psn = packet->bth.psn;
	uint32_t offset = (uint32_t)psn_diff(psn, wqe->psn_first) * qp->attr.path_mtu;
	uint32_t left = wqe->len - offset;
	bool last = psn == wqe->psn_last;
	bool may_end = last || (packet->shape & SHAPE_FIRST) ||
		       psn_diff(qp->rc.req.part_psn, psn) > 0 ||
		       ((uint32_t)psn_diff(psn, wqe->psn_first) + 1) % RC_READ_PACKETS == 0;

	assert(psn_diff(psn, wqe->psn_first) >= 0 && psn_diff(wqe->psn_last, psn) >= 0);
	if ((packet->shape & SHAPE_LAST) ? !may_end : last)
		return false;
	if ((packet->shape & SHAPE_AETH) && rc_syndrome_class(packet->aeth.syndrome) != RC_AETH_ACK)
		return false;
	return packet->payload_len == (left < qp->attr.path_mtu ? left : qp->attr.path_mtu);
}

/* Stores a response for the head, which is this request. */
static void store_response(struct rxe_engine *engine, struct rxe_qp *qp,
			   const struct rxe_send_wqe *wqe, const struct wire_packet *packet,
			   const void *bytes, uint32_t len)
{
	uint32_t offset = (uint32_t)psn_diff(packet->bth.psn, wqe->psn_first) * qp->attr.path_mtu;
	enum mr_check stored =
		rxe_scatter(engine, qp->srq_sends ? qp->srq->pd : qp->pd, rxe_wqe_sges(wqe),
			    wqe->num_sge, &qp->rc.req.into, offset, bytes, len);

	assert(packet->bth.psn == qp->rc.req.una_psn);
	if (stored == MR_DEFERRED) {
		rc_retry_response_deferred(&qp->rc.retry, packet->bth.psn,
					   engine->now_ns + engine->defer_ns);
		rc_requester_rewind(engine, qp);
		return;
	}
	if (stored != MR_OK) {
		rxe_qp_fail(engine, qp, RXE_WC_LOC_PROT_ERR);
		return;
	}
	rc_requester_advance(engine, qp, packet->bth.psn);
	if (qp->rc.req.arrived.is_waiting)
		advance_to(engine, qp, qp->rc.req.arrived.high_psn);
	progressed(engine, qp);
}

/* Whether the packet answers a FLUSH or an ATOMIC WRITE: a READ response without payload. */
static bool fits_empty(const struct rxe_send_wqe *wqe, const struct wire_packet *packet)
{
	const uint32_t only = SHAPE_READ | SHAPE_FIRST | SHAPE_LAST;

	return (rc_is_flush(wqe) || rc_is_atomic_write(wqe)) && (packet->shape & only) == only &&
	       packet->payload_len == 0 && rc_syndrome_class(packet->aeth.syndrome) == RC_AETH_ACK;
}

/* Whether the packet is the response that this request needs. */
static bool fits(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe,
		 const struct wire_packet *packet)
{
	if ((packet->shape & SHAPE_READ) && rc_is_read(wqe))
		return fits_read(qp, wqe, packet);
	if ((packet->shape & SHAPE_ATOMIC) && rc_is_atomic(wqe))
		return rc_syndrome_class(packet->aeth.syndrome) == RC_AETH_ACK;
	return fits_empty(wqe, packet);
}

/* The bytes of a response, and how many. */
static const void *bytes_of(const struct wire_packet *packet, uint32_t *ret_len)
{
	bool is_atomic = packet->shape & SHAPE_ATOMIC;

	*ret_len = is_atomic ? sizeof(uint64_t) : packet->payload_len;
	return is_atomic ? (const void *)&packet->atomic_orig : packet->payload;
}

/* A response ahead of a missing one. What does not fit is left to the response that comes in
 * order. */
static bool store_ahead(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet)
{
	const struct rxe_send_wqe *wqe = rc_requester_find(qp, packet->bth.psn);
	struct rc_requester *req = &qp->rc.req;
	struct rxe_cursor into = { 0 };
	uint32_t offset, len;
	const void *bytes = bytes_of(packet, &len);

	if (!wqe || !fits(qp, wqe, packet) || rc_arrived_has(&req->arrived, packet->bth.psn))
		return false;
	offset = (uint32_t)psn_diff(packet->bth.psn, wqe->psn_first) * qp->attr.path_mtu;
	return rxe_scatter(engine, qp->pd, rxe_wqe_sges(wqe), wqe->num_sge, &into, offset, bytes,
			   len) == MR_OK &&
	       rc_arrived_add(&req->arrived, packet->bth.psn, req->una_psn);
}

/* A response arrived after a missing one: requests the missing ones again, alone. */
static void ahead(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	struct rc_requester *req = &qp->rc.req;

	if (!engine->cfg.held) {
		missing(engine, qp, packet);
		return;
	}
	if (!(packet->shape & (SHAPE_READ | SHAPE_ATOMIC)))
		rc_arrived_raise(&req->arrived, packet->bth.psn, req->una_psn);
	else if (!store_ahead(engine, qp, packet))
		return;
	if (rc_arrived_wants(&req->arrived)) {
		rc_retry_lost(&qp->rc.retry, engine->now_ns);
		rxe_qp_set_ready(engine, qp);
	}
}

static void result(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet)
{
	const struct rxe_send_wqe *wqe;
	const void *bytes;
	uint32_t len;

	switch (acknowledge_before(engine, qp, packet->bth.psn)) {
	case ACKNOWLEDGED_ALL: break;
	case ACKNOWLEDGED_NOT: ahead(engine, qp, packet); return;
	case ACKNOWLEDGED_FAILED: return;
	}
	wqe = rc_requester_head(qp);
	if (!wqe || packet->bth.psn != qp->rc.req.una_psn)
		return;
	if (!fits(qp, wqe, packet)) {
		rxe_qp_fail(engine, qp, RXE_WC_BAD_RESP_ERR);
		return;
	}
	bytes = bytes_of(packet, &len);
	store_response(engine, qp, wqe, packet, bytes, len);
}

static void acknowledge(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet)
{
	switch (rc_syndrome_class(packet->aeth.syndrome)) {
	case RC_AETH_ACK:
		if (acknowledge_before(engine, qp, psn_add(packet->bth.psn, 1)) == ACKNOWLEDGED_NOT)
			ahead(engine, qp, packet);
		return;
	case RC_AETH_RNR:
	case RC_AETH_NAK: nak(engine, qp, packet); return;
	case RC_AETH_RESERVED: return;
	}
}

/* Only the resent oldest packet was acknowledged: it, or its response, had been lost, and so had
 * everything after it. (If the peer lacks another packet, its ACK covers more, and that packet is
 * the oldest for the next probe.) */
static bool answers_probe(const struct rc_requester *req, const struct wire_packet *packet)
{
	bool only = !(packet->shape & SHAPE_READ) ||
		    ((packet->shape & SHAPE_FIRST) && (packet->shape & SHAPE_LAST));

	return req->probe == RC_PROBE_SENT && packet->bth.psn == req->una_psn && only;
}

void rc_requester_input(struct rxe_engine *engine, struct rxe_qp *qp,
			const struct wire_packet *packet)
{
	const struct rc_requester *req = &qp->rc.req;
	bool to_probe = answers_probe(req, packet);

	if (psn_diff(packet->bth.psn, req->una_psn) < 0 ||
	    psn_diff(packet->bth.psn, req->sent_psn) >= 0)
		return;
	if (packet->shape & (SHAPE_READ | SHAPE_ATOMIC))
		result(engine, qp, packet);
	else
		acknowledge(engine, qp, packet);
	if (!to_probe || req->una_psn != psn_add(packet->bth.psn, 1) || rc_requester_is_idle(qp))
		return;
	if (req->arrived.is_waiting)
		rc_arrived_ask_again(&qp->rc.req.arrived, req->una_psn);
	else
		rc_requester_loss_detected(engine, qp);
}

/* The ACK timer has expired. Whether no retry is spent, because the peer's process is stopped, or
 * was, or has had no processor. */
static bool spends_none(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_retry *timer = &qp->rc.retry;
	enum rxe_peer_life life = RXE_PEER_UNKNOWN;

	if (engine->cfg.ops->peer_life)
		life = engine->cfg.ops->peer_life(engine->cfg.host, qp,
						  rc_retry_since_ns(timer, &qp->attr),
						  &timer->stopped_process);
	switch (life) {
	case RXE_PEER_UNKNOWN: return false;
	case RXE_PEER_RUNS: return rc_retry_excuse(timer, &qp->attr, engine->now_ns);
	case RXE_PEER_STARVED: retry(engine, qp, rc_retry_starved(timer)); return true;
	case RXE_PEER_STOPPED: rc_retry_stand_still(timer, engine->now_ns); return true;
	case RXE_PEER_EXITED: rc_retry_peer_exited(timer, &qp->attr); return false;
	}
	return false;
}

void rc_requester_expired(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (rc_retry_is_expired(&qp->rc.retry, engine->now_ns) && spends_none(engine, qp))
		return;
	retry(engine, qp, rc_retry_timed_out(&qp->rc.retry, &qp->attr, engine->now_ns));
}
