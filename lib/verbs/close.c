// SPDX-License-Identifier: MIT
/* A program closes a context with objects alive on it. The kernel frees a context with all that is its; here the engine, which other
 * contexts of the process may share, would go on answering for queue pairs whose memory the program is about to free. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "lib/abi/newer.h"
#include "lib/progress/progress.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/fork.h"
#include "lib/verbs/live.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"
#include "lib/verbs/xrcd.h"

/* A group that the queue pair is in. */
static bool find_group(struct vb_qp *qp, union ibv_gid *ret)
{
	const struct rxe_mcast *mcast;
	bool found = false;

	if (!vb_lock_engine(qp->dev, qp->forks))
		return false;
	mcast = &qp->dev->progress.engine->mcast;
	for (uint32_t i = 0; i < RXE_MAX_MCAST_GRP && !found; i++) {
		const struct rxe_mcast_group *group = &mcast->group[i];

		for (uint32_t k = 0; k < group->num_qps && !found; k++) {
			found = group->qp[k] == &qp->qp;
			memcpy(ret->raw, group->gid.raw, sizeof(ret->raw));
		}
	}
	progress_unlock(&qp->dev->progress);
	return found;
}

/* Events that were read and not acknowledged never will be: nobody waits for that. */

static int end_qp(void *object)
{
	struct vb_qp *qp = (struct vb_qp *)object;
	struct ibv_qp *base = &qp->ex.base.qp_base;
	union ibv_gid group;

	while (find_group(qp, &group) && ibv_detach_mcast(base, &group, 0) == 0)
		;
	base->events_completed = qp->events_reported;
	return ibv_destroy_qp(base);
}

static int end_srq(void *object)
{
	struct vb_srq *srq = (struct vb_srq *)object;

	srq->base.events_completed = srq->events_reported;
	return ibv_destroy_srq(&srq->base);
}

static int end_xrcd(void *object)
{
	return vb_xrcd_close((struct ibv_xrcd *)object);
}

static int end_cq(void *object)
{
	struct vb_cq *cq = (struct vb_cq *)object;
	struct ibv_cq *base = vb_cq_base(cq);

	base->comp_events_completed = cq->comp_reported;
	base->async_events_completed = cq->async_reported;
	return ibv_destroy_cq(base);
}

static int end_channel(void *object)
{
	return ibv_destroy_comp_channel((struct ibv_comp_channel *)object);
}

static int end_mr(void *object)
{
	return ibv_dereg_mr((struct ibv_mr *)object);
}

static int end_ah(void *object)
{
	return ibv_destroy_ah((struct ibv_ah *)object);
}

void vb_context_abandon(struct ibv_context *context)
{
	static const struct {
		enum vb_kind kind;
		int (*end)(void *object);
	} order[] = { { VB_KIND_QP, end_qp },
		      { VB_KIND_SRQ, end_srq },
		      { VB_KIND_XRCD, end_xrcd },
		      { VB_KIND_CQ, end_cq },
		      { VB_KIND_CHANNEL, end_channel },
		      { VB_KIND_AH, end_ah },
		      { VB_KIND_MR, end_mr } };
	void *object;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		while ((object = vb_live_any(context, order[i].kind))) {
			/* One that another context's objects still use stays, and is nobody's. */
			if (order[i].end(object))
				vb_live_take(object, order[i].kind);
		}
	}
}
