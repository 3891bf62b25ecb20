// SPDX-License-Identifier: MIT
/* XRC objects of other processes.
 *
 * SRQs: the owner publishes each SRQ in its slot: number, protection domain, XRC domain. The engine
 * with the target queue pair takes a receive by remote request, writes the memory as any foreign
 * region, and returns the completion by remote request. The owner trusts nothing: it looks up the
 * SRQ and its domain, and accepts no more completions than it handed out receives.
 *
 * Targets: the process that has the queue pair trusts nothing: it looks the number and the domain
 * up, and checks attributes as those of a program. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "emu/complete.h"
#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "emu/srq.h"
#include "lib/control/remote_request.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote.h"
#include "net/link/clock.h"

static_assert(sizeof(struct remote_qp_call) <= CTL_REMOTE_BYTES, "fits into a mailbox");

static struct ctl_shared_srq *entry_of(const struct progress *progress, uint32_t slot,
				       uint32_t srqn)
{
	return &progress->attachment->shared->slot[slot].srq[srqn % RXE_MAX_SRQ];
}

void remote_srq_publish(struct progress *progress, const struct rxe_srq *srq)
{
	struct ctl_shared_srq *entry = entry_of(progress, progress->attachment->slot, srq->srqn);

	/* Other processes find the slot in the number. */
	assert(srq->srqn >> RXE_SLOT_SHIFT == progress->attachment->slot);
	entry->pd = srq->pd;
	entry->xrcd = srq->xrcd;
	/* Pairs with the acquire in remote_srq_find. */
	atomic_store_explicit(&entry->srqn, srq->srqn, memory_order_release);
}

void remote_srq_unpublish(struct progress *progress, const struct rxe_srq *srq)
{
	atomic_store(&entry_of(progress, progress->attachment->slot, srq->srqn)->srqn, 0);
}

bool remote_srq_find(void *host, uint32_t srqn, uint32_t xrcd, uint32_t *ret_pd)
{
	const struct progress *progress = host;
	const uint32_t owner = srqn >> RXE_SLOT_SHIFT;
	const struct ctl_shared_srq *entry;

	if (owner == 0 || owner >= RXE_MAX_SLOTS || owner == progress->attachment->slot ||
	    atomic_load(&progress->attachment->shared->slot[owner].pid) == 0)
		return false;
	entry = entry_of(progress, owner, srqn);
	if (atomic_load_explicit(&entry->srqn, memory_order_acquire) != srqn || entry->xrcd != xrcd)
		return false;
	*ret_pd = entry->pd;
	return true;
}

bool remote_srq_take(void *host, uint32_t srqn, uint32_t xrcd, struct rxe_claim *ret)
{
	struct progress *progress = host;
	const uint32_t owner = srqn >> RXE_SLOT_SHIFT;
	const uint32_t epoch = atomic_load(&progress->attachment->shared->slot[owner].epoch);
	struct ctl_remote_recv recv = { 0 };

	/* remote_srq_find() has checked the number. */
	assert(owner < RXE_MAX_SLOTS && owner != progress->attachment->slot);
	if (!remote_ask(progress, owner, epoch, CTL_REMOTE_SRQ_TAKE, srqn, xrcd, &recv,
			sizeof(recv)) ||
	    recv.num_sge > RXE_MAX_SGE)
		return false;
	ret->srqn = srqn;
	ret->xrcd = xrcd;
	ret->owner_epoch = epoch;
	ret->wr_id = recv.wr_id;
	ret->len = recv.len;
	ret->num_sge = recv.num_sge;
	memcpy(ret->sge, recv.sge, recv.num_sge * sizeof(recv.sge[0]));
	return true;
}

bool remote_srq_done(void *host, const struct rxe_claim *claim, const struct rxe_cqe *cqe)
{
	struct rxe_cqe bytes = *cqe;

	return remote_ask(host, claim->srqn >> RXE_SLOT_SHIFT, claim->owner_epoch,
			  CTL_REMOTE_SRQ_DONE, claim->srqn, claim->xrcd, &bytes, sizeof(bytes));
}

static bool hand_out(struct progress *progress, struct rxe_srq *srq, struct ctl_remote_request *e)
{
	struct rxe_engine *engine = progress->engine;
	struct ctl_remote_recv recv = { 0 };
	const struct rxe_recv_wqe *wqe;

	/* The CQ has overrun, so no message can complete: withdraw the SRQ. */
	if (srq->cq->overrun) {
		remote_srq_unpublish(progress, srq);
		return false;
	}
	wqe = rxe_srq_pop(engine, srq);
	if (!wqe)
		return false;
	assert(engine->open_wrs > 0);
	engine->open_wrs--;
	srq->loans++;
	recv.wr_id = wqe->wr_id;
	recv.len = wqe->len;
	recv.num_sge = wqe->num_sge;
	memcpy(recv.sge, wqe->sge, wqe->num_sge * sizeof(wqe->sge[0]));
	memcpy(e->bytes, &recv, sizeof(recv));
	return true;
}

static bool complete(struct progress *progress, struct rxe_srq *srq,
		     const struct ctl_remote_request *e)
{
	struct rxe_cqe cqe;

	if (srq->loans == 0)
		return false;
	srq->loans--;
	memcpy(&cqe, e->bytes, sizeof(cqe));
	/* Another process wrote the entry: trust no pointer in it. */
	cqe.sq_polled = NULL;
	/* The process that received the message has counted it. */
	return rxe_cq_push(progress->engine, srq->cq, &cqe);
}

bool remote_srq_serve(struct progress *progress, struct ctl_remote_request *e, uint32_t op,
		      uint32_t srqn, uint64_t xrcd, uint32_t len)
{
	struct rxe_srq *srq = rxe_engine_find_srq(progress->engine, srqn);

	if (!srq || srq->xrcd != xrcd)
		return false;
	if (op == CTL_REMOTE_SRQ_TAKE)
		return len == sizeof(struct ctl_remote_recv) && hand_out(progress, srq, e);
	return len == sizeof(struct rxe_cqe) && complete(progress, srq, e);
}

/* In ERR and RESET a queue pair sends nothing, so its delayed ACK leaves before. */
static bool must_send_first(struct progress *progress, struct rxe_qp *qp,
			    const struct remote_qp_call *call)
{
	if (!(call->mask & RXE_QP_STATE) || qp->rc.reply.ack_delay_until_ns == RXE_NEVER ||
	    (call->attr.qp_state != RXE_QPS_ERR && call->attr.qp_state != RXE_QPS_RESET))
		return false;
	rxe_qp_flush_delayed_ack(progress->engine, qp);
	return true;
}

static void modify(struct progress *progress, struct rxe_qp *qp, struct remote_qp_call *call)
{
	struct rxe_engine *engine = progress->engine;

	/* Inside a turn the engine may be working on this queue pair. */
	call->is_busy = progress->remote_requests.is_waiting || must_send_first(progress, qp, call);
	if (call->is_busy)
		return;
	device_link_follow_gids(progress);
	call->result = rxe_qp_modify(engine, qp, &call->attr, call->mask, clock_now_ns());
	if (call->result == MODIFY_OK)
		progress->owner->qp_modified(progress, qp);
	else
		call->culprit = rxe_qp_modify_culprit(engine, qp, &call->attr, call->mask);
}

bool remote_qp_run(struct progress *progress, uint32_t op, const struct remote_qp *of,
		   struct remote_qp_call *call)
{
	struct rxe_qp *qp = rxe_engine_find_qp(progress->engine, of->qpn);

	if (!qp || qp->type != RXE_QPT_XRC_RECV || qp->xrcd != of->xrcd)
		return false;
	call->is_busy = 0;
	if (op == CTL_REMOTE_QP_MODIFY)
		modify(progress, qp, call);
	else
		rxe_qp_query(qp, &call->attr);
	return true;
}

bool remote_qp_serve(struct progress *progress, struct ctl_remote_request *e, uint32_t op,
		     const struct remote_qp *qp, uint32_t len)
{
	uint8_t *has_grh = &e->bytes[offsetof(struct remote_qp_call, attr.has_grh)];
	struct remote_qp_call call;

	if (len != sizeof(call))
		return false;
	/* Another process wrote the bytes: a bool is 0 or 1. */
	*has_grh = *has_grh != 0;
	memcpy(&call, e->bytes, sizeof(call));
	if (!remote_qp_run(progress, op, qp, &call))
		return false;
	memcpy(e->bytes, &call, sizeof(call));
	return true;
}
