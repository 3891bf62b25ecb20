// SPDX-License-Identifier: MIT
/* XRC targets of other processes. The one that has the queue pair trusts nothing: it looks the
 * number and the domain up, and checks attributes as those of a program. */
#include "lib/progress/remote_qp.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "lib/control/remote_request.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote.h"
#include "net/link/clock.h"

/* A process that answers nothing for this long counts as stopped. */
#define TIMEOUT_NS 2000000000u

static_assert(sizeof(struct remote_qp_call) <= CTL_REMOTE_BYTES, "fits into a mailbox");

/* In ERR and RESET a queue pair sends nothing, so its delayed ACK leaves before. */
static bool must_send_first(struct progress *progress, struct rxe_qp *qp,
			    const struct remote_qp_call *call)
{
	if (!(call->mask & RXE_QP_STATE) || !qp->rc.reply.ack_delay_until_ns ||
	    (call->attr.qp_state != RXE_QPS_ERR && call->attr.qp_state != RXE_QPS_RESET))
		return false;
	rxe_qp_flush_delayed_ack(progress->engine, qp);
	return true;
}

static void modify(struct progress *progress, struct rxe_qp *qp, struct remote_qp_call *call)
{
	struct rxe_engine *engine = progress->engine;

	/* Inside a turn the engine may be working on this queue pair. */
	call->is_busy = remote_is_waiting(progress) || must_send_first(progress, qp, call);
	if (call->is_busy)
		return;
	progress_follow_gids(progress);
	call->result = rxe_qp_modify(engine, qp, &call->attr, call->mask, clock_now_ns());
	if (call->result == MODIFY_OK)
		progress->owner->qp_modified(progress, qp);
	else
		call->culprit = rxe_qp_modify_culprit(engine, qp, &call->attr, call->mask);
}

static bool run(struct progress *progress, uint32_t op, const struct remote_qp *of,
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
	if (!run(progress, op, qp, &call))
		return false;
	memcpy(e->bytes, &call, sizeof(call));
	return true;
}

enum answer {
	ANSWERED,
	ENDED,
	AGAIN,
};

static enum answer ask(struct progress *progress, const struct remote_qp *qp, uint32_t op,
		       struct remote_qp_call *call)
{
	const uint32_t slot = qp->qpn >> RXE_SLOT_SHIFT;
	enum answer answer = ENDED;
	bool done;

	if (!progress_lock(progress))
		return ENDED;
	if (slot == progress->attachment->slot)
		done = run(progress, op, qp, call);
	else
		done = remote_ask(progress, slot, qp->epoch, op, qp->qpn, qp->xrcd, call,
				  sizeof(*call));
	if (done)
		answer = call->is_busy ? AGAIN : ANSWERED;
	else if (remote_was_deferred(progress))
		answer = AGAIN;
	/* What was modified, or must be sent first, leaves. */
	progress_transmit(progress, clock_now_ns());
	progress_unlock(progress);
	return answer;
}

int remote_qp_call(struct progress *progress, const struct remote_qp *qp, uint32_t op,
		   struct remote_qp_call *call)
{
	const uint64_t until_ns = clock_now_ns() + TIMEOUT_NS;

	for (;;) {
		switch (ask(progress, qp, op, call)) {
		case ANSWERED: return 0;
		case ENDED: return -EIO;
		case AGAIN: break;
		}
		if (clock_now_ns() > until_ns)
			return -ETIMEDOUT;
		sched_yield();
	}
}
