/* SPDX-License-Identifier: MIT */
/* Shared receive queues: one ring for many QPs, and the event for a low fill (IBTA 10.2.9). */
#include "emu/srq.h"

#include <assert.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/tag_list.h"

void rxe_srq_init(struct rxe_srq *srq, uint32_t pd, void *mem, uint32_t max_wr, uint32_t max_sge,
		  void *owner)
{
	*srq = (struct rxe_srq){ .pd = pd, .max_sge = max_sge, .owner = owner };
	rxe_ring_init(&srq->rq, mem, max_wr, rxe_recv_stride(max_sge));
}

/* One event for each arming. */
static void check_limit(struct rxe_engine *engine, struct rxe_srq *srq)
{
	struct rxe_event event = { .type = RXE_EVENT_SRQ_LIMIT_REACHED, .srq = srq };

	if (rxe_ring_used(&srq->rq) >= srq->limit)
		return;
	srq->limit = 0;
	engine->cfg.ops->event(engine->cfg.host, &event);
}

bool rxe_srq_arm(struct rxe_engine *engine, struct rxe_srq *srq, uint32_t limit)
{
	if (limit > srq->rq.limit)
		return false;
	srq->limit = limit;
	check_limit(engine, srq);
	return true;
}

bool rxe_srq_resize(struct rxe_srq *srq, void *mem, uint32_t max_wr)
{
	if (rxe_ring_used(&srq->rq) > max_wr || srq->limit > max_wr)
		return false;
	rxe_ring_move(&srq->rq, mem, max_wr);
	return true;
}

enum post_result rxe_post_srq_recv(struct rxe_engine *engine, struct rxe_srq *srq,
				   const struct rxe_recv_wr *wr)
{
	enum post_result result = rxe_ring_push_recv(&srq->rq, wr, srq->max_sge);

	engine->open_wrs += result == POST_OK;
	return result;
}

void rxe_srq_name(struct rxe_engine *engine, struct rxe_srq *srq, uint32_t srqn, uint32_t xrcd,
		  struct rxe_cq *cq)
{
	assert(srqn && cq && !engine->srq[srqn % RXE_MAX_SRQ]);
	srq->srqn = srqn;
	srq->xrcd = xrcd;
	srq->cq = cq;
	engine->srq[srqn % RXE_MAX_SRQ] = srq;
}

void rxe_srq_match_tags(struct rxe_srq *srq, struct rxe_tag_list *tags, struct rxe_cq *cq)
{
	assert(tags && cq && !srq->srqn);
	srq->tags = tags;
	srq->cq = cq;
}

static void leave_targets(struct rxe_engine *engine, const struct rxe_srq *srq)
{
	for (uint32_t i = 0; i < RXE_MAX_QP; i++) {
		struct rxe_qp *qp = engine->qp[i];

		if (!qp || qp->type != RXE_QPT_XRC_RECV || qp->srq != srq)
			continue;
		qp->srq = NULL;
		qp->claim.held = false;
	}
}

void rxe_srq_fini(struct rxe_engine *engine, struct rxe_srq *srq)
{
	assert(engine->open_wrs >= rxe_ring_used(&srq->rq));
	if (srq->srqn) {
		leave_targets(engine, srq);
		engine->srq[srq->srqn % RXE_MAX_SRQ] = NULL;
	}
	engine->open_wrs -= rxe_ring_used(&srq->rq);
	if (srq->tags)
		engine->open_wrs -= srq->tags->num;
}

const struct rxe_recv_wqe *rxe_srq_pop(struct rxe_engine *engine, struct rxe_srq *srq)
{
	const struct rxe_recv_wqe *wqe;

	if (rxe_ring_used(&srq->rq) == 0)
		return NULL;
	wqe = rxe_ring_at(&srq->rq, srq->rq.head++);
	check_limit(engine, srq);
	return wqe;
}

/* Each XRC request names an SRQ (IBTA annex A14). The SRQ's receives, completion queue and
 * protection domain serve the request; the domain also serves requests that take no receive. */
enum rc_fault rxe_xrc_find(struct rxe_engine *engine, uint32_t xrcd, uint32_t srqn,
			   struct rxe_srq **ret_srq, uint32_t *ret_pd)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;
	struct rxe_srq *srq = rxe_engine_find_srq(engine, srqn);

	if (!srq) {
		*ret_srq = NULL;
		return ops->srq_find && ops->srq_find(engine->cfg.host, srqn, xrcd, ret_pd)
			       ? RC_FAULT_NONE
			       : RC_FAULT_XRC_SRQ;
	}
	if (srq->xrcd != xrcd)
		return RC_FAULT_XRC_SRQ;
	assert(srq->cq);
	if (srq->cq->overrun)
		return RC_FAULT_XRC_CQ;
	*ret_srq = srq;
	*ret_pd = srq->pd;
	return RC_FAULT_NONE;
}

uint32_t rxe_engine_alloc_srqn(struct rxe_engine *engine)
{
	for (uint32_t i = 0; i < RXE_MAX_SRQ; i++) {
		uint32_t number = ++engine->srqn_next & ((1u << RXE_SLOT_SHIFT) - 1);

		if (number && !engine->srq[number % RXE_MAX_SRQ])
			return engine->cfg.slot << RXE_SLOT_SHIFT | number;
	}
	return 0;
}

struct rxe_srq *rxe_engine_find_srq(const struct rxe_engine *engine, uint32_t srqn)
{
	struct rxe_srq *srq = engine->srq[srqn % RXE_MAX_SRQ];

	return srq && srq->srqn == srqn ? srq : NULL;
}
