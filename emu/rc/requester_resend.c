/* SPDX-License-Identifier: MIT */
/* Selective repeat, as far as the standard's responses allow it. A NAK names one missing request,
 * so one is resent for each round trip. Missing READ responses are all known, and requested at
 * once. */
#include "emu/rc/requester.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "emu/rc/requester_retry.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

struct rxe_send_wqe *rc_requester_find(const struct rxe_qp *qp, uint32_t psn)
{
	const struct rc_requester *req = &qp->rc.req;
	uint32_t index;

	if (psn_diff(psn, req->una_psn) < 0 || psn_diff(psn, req->cur_psn) >= 0)
		return NULL;
	for (index = qp->sq.head; index != qp->sq.tail; index++) {
		struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, index);

		if (!wqe->started)
			return NULL;
		if (!rxe_wqe_is_local(wqe) && psn_diff(wqe->psn_last, psn) >= 0)
			return wqe;
	}
	return NULL;
}

/* The window shrinks once for all losses among what was in flight at the first of them. */
static void shrink_window(struct rc_requester *req)
{
	if (psn_diff(req->una_psn, req->recover_psn) < 0)
		return;
	rc_window_lost(&req->window);
	req->recover_psn = req->cur_psn;
}

/* A request that needs its own response is not resent alone: its responses would not show whether
 * the peer has the packets after it. */
static bool may_repair(const struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rxe_send_wqe *head = rc_requester_head(qp);

	return engine->cfg.held && head && !rc_is_answered(head) &&
	       rc_repair_wanted(&qp->rc.req.repair);
}

void rc_resend_oldest(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_requester *req = &qp->rc.req;

	if (!may_repair(engine, qp)) {
		rc_requester_loss_detected(engine, qp);
		return;
	}
	shrink_window(req);
	req->repair.is_waiting = true;
	rc_requester_probe(engine, qp);
}

/* The last part of a READ may end here now. */
static void part_requested(struct rc_requester *req, uint32_t last_psn)
{
	if (psn_diff(last_psn, req->part_psn) >= 0)
		req->part_psn = psn_add(last_psn, 1);
}

/* The probe of a READ requests one packet: the whole response may be on its way. If its payload is
 * not ready, the ACK timer takes over. */
static enum output_result send_probe(struct rxe_engine *engine, struct rxe_qp *qp,
				     struct wire_train *train)
{
	struct rc_requester *req = &qp->rc.req;

	assert(req->probe == RC_PROBE_DUE);
	if (rc_requester_emit(engine, qp, rc_requester_head(qp), req->una_psn, req->una_psn,
			      train) == SEND_TRAIN_FULL)
		return OUTPUT_TRAIN_FULL;
	req->probe = RC_PROBE_SENT;
	if (psn_diff(req->una_psn, req->asked_psn) > 0)
		req->asked_psn = req->una_psn;
	rc_retry_oldest_sent(&qp->rc.retry);
	part_requested(req, req->una_psn);
	return OUTPUT_IDLE;
}

/* The first missing response from this PSN on; NULL: none is missing. *psn becomes its PSN. */
static struct rxe_send_wqe *find_missing(const struct rxe_qp *qp, uint32_t *psn)
{
	const struct rc_arrived *arrived = &qp->rc.req.arrived;

	while (psn_diff(arrived->high_psn, *psn) > 0) {
		struct rxe_send_wqe *wqe = rc_requester_find(qp, *psn);

		if (!wqe)
			return NULL;
		if (rc_is_answered(wqe) && !rc_arrived_has(arrived, *psn))
			return wqe;
		*psn = psn_add(rc_is_answered(wqe) ? *psn : wqe->psn_last, 1);
	}
	return NULL;
}

/* Last PSN of the request for this missing response. It asks for all that is missing of the READ
 * request that was sent before, and for what arrived between: rdma_rxe answers no duplicate that
 * spans two requests, and none that lies before the last duplicate it answered of the same. */
static uint32_t missing_end(const struct rc_requester *req, uint32_t psn)
{
	uint32_t i = 0, end, last = psn;

	assert(req->rd_atomic <= RXE_MAX_RD_ATOMIC);
	while (i < req->rd_atomic &&
	       psn_diff(req->rd_end[(req->rd_first + i) % RXE_MAX_RD_ATOMIC], psn) < 0)
		i++;
	if (i == req->rd_atomic)
		return psn;
	end = req->rd_end[(req->rd_first + i) % RXE_MAX_RD_ATOMIC];
	for (; psn_diff(end, psn) >= 0 && psn_diff(req->arrived.high_psn, psn) > 0;
	     psn = psn_add(psn, 1))
		if (!rc_arrived_has(&req->arrived, psn))
			last = psn;
	return last;
}

static enum output_result send_missing(struct rxe_engine *engine, struct rxe_qp *qp,
				       struct wire_train *train)
{
	struct rc_requester *req = &qp->rc.req;
	struct rc_arrived *arrived = &req->arrived;
	struct rxe_send_wqe *wqe;

	while ((wqe = find_missing(qp, &arrived->asked_psn))) {
		uint32_t last = missing_end(req, arrived->asked_psn);

		assert(psn_diff(last, arrived->asked_psn) >= 0);
		if (rc_requester_emit(engine, qp, wqe, arrived->asked_psn, last, train) ==
		    SEND_TRAIN_FULL)
			return OUTPUT_TRAIN_FULL;
		engine->cfg.counters->completer_retry_err++;
		shrink_window(req);
		part_requested(req, last);
		arrived->asked_psn = psn_add(last, 1);
	}
	rc_arrived_asked(arrived, req->cur_psn);
	rc_rtt_forget(&req->rtt);
	return OUTPUT_IDLE;
}

enum output_result rc_resend_output(struct rxe_engine *engine, struct rxe_qp *qp,
				    struct wire_train *train)
{
	const struct rc_requester *req = &qp->rc.req;
	bool probes = req->probe == RC_PROBE_DUE, asks = rc_arrived_wants(&req->arrived);

	if (!(probes || asks) || !rc_requester_may_send(qp, engine->now_ns))
		return OUTPUT_IDLE;
	if (probes && send_probe(engine, qp, train) == OUTPUT_TRAIN_FULL)
		return OUTPUT_TRAIN_FULL;
	return asks ? send_missing(engine, qp, train) : OUTPUT_IDLE;
}
