// SPDX-License-Identifier: MIT
/* Closes a context that still has objects. The kernel frees them with the context. Here, too: else
 * the engine, which other contexts of the process share, would answer for queue pairs whose memory
 * the program is about to free. */
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
#include "lib/verbs/flow.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"
#include "lib/verbs/wq.h"
#include "lib/verbs/xrc.h"

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

/* No thread is left to acknowledge events that were read: count them as acknowledged, or the
 * destroy verb waits forever. */
static int destroy_qp(void *object)
{
	struct vb_qp *qp = object;
	struct ibv_qp *base = &qp->ex.base.qp_base;
	union ibv_gid group;

	while (find_group(qp, &group) && ibv_detach_mcast(base, &group, 0) == 0)
		;
	base->events_completed = qp->events_reported;
	return ibv_destroy_qp(base);
}

static int destroy_srq(void *object)
{
	struct vb_srq *srq = object;

	srq->base.events_completed = srq->events_reported;
	return ibv_destroy_srq(&srq->base);
}

static int destroy_xrcd(void *object)
{
	return vb_xrcd_close(object);
}

static int destroy_cq(void *object)
{
	struct vb_cq *cq = object;
	struct ibv_cq *base = vb_cq_base(cq);

	base->comp_events_completed = cq->comp_reported;
	base->async_events_completed = cq->async_reported;
	return ibv_destroy_cq(base);
}

static int destroy_channel(void *object)
{
	return ibv_destroy_comp_channel(object);
}

static int destroy_mr(void *object)
{
	return ibv_dereg_mr(object);
}

static int destroy_ah(void *object)
{
	return ibv_destroy_ah(object);
}

static int destroy_comp_cntr(void *object)
{
	return ibv_destroy_comp_cntr(object);
}

void vb_context_abandon(struct ibv_context *context)
{
	static const struct {
		enum vb_kind kind;
		int (*destroy)(void *object);
	} order[] = { { VB_KIND_FLOW, vb_flow_destroy },
		      { VB_KIND_COUNTERS, vb_counters_destroy },
		      { VB_KIND_QP, destroy_qp },
		      { VB_KIND_TARGET, vb_target_abandon },
		      { VB_KIND_WQ_TABLE, vb_wq_table_destroy },
		      { VB_KIND_WQ, vb_wq_destroy },
		      { VB_KIND_SRQ, destroy_srq },
		      { VB_KIND_XRCD, destroy_xrcd },
		      { VB_KIND_CQ, destroy_cq },
		      { VB_KIND_CHANNEL, destroy_channel },
		      { VB_KIND_AH, destroy_ah },
		      { VB_KIND_MW, vb_mw_destroy },
		      { VB_KIND_COMP_CNTR, destroy_comp_cntr },
		      { VB_KIND_MR, destroy_mr } };
	void *object;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		while ((object = vb_object_any(context, order[i].kind))) {
			/* An object that another context uses stays allocated, but is not found. */
			if (order[i].destroy(object))
				vb_object_take(object, order[i].kind);
		}
	}
}
