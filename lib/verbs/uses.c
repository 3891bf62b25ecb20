// SPDX-License-Identifier: MIT
/* One function for each kind of user. */
#include "lib/verbs/uses.h"

#include <stdbool.h>
#include <stdint.h>

#include "lib/verbs/cq.h"
#include "lib/verbs/flow.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/pd.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"
#include "lib/verbs/wq.h"

/* A pointer of a public structure, which is also the address of the object. */
static bool is(const void *member, const void *object)
{
	return member && member == object;
}

static bool is_domain(struct ibv_pd *pd, const void *object)
{
	return pd && is(vb_pd(pd), object);
}

static bool qp_counts_by(const struct vb_qp *qp, const void *object)
{
	for (uint32_t op = 0; op < RXE_CNTR_OPS; op++)
		if (is(qp->qp.cntrs.of[op], object))
			return true;
	return false;
}

static bool qp_uses(const struct vb_qp *qp, const void *object)
{
	const struct ibv_qp *base = &qp->ex.base.qp_base;

	return is_domain(base->pd, object) || is(base->send_cq, object) ||
	       is(base->recv_cq, object) || is(base->srq, object) || is(qp->xrcd, object) ||
	       (qp->rss && is(qp->rss->table, object)) ||
	       qp_counts_by(qp, vb_comp_cntr_counts(object));
}

static bool table_uses(const struct vb_wq_table *table, const void *object)
{
	for (uint32_t i = 0; i < 1u << table->log_size; i++)
		if (table->queue[i] && is(vb_wq_of_half(table->queue[i]->owner), object))
			return true;
	return false;
}

static bool srq_uses(const struct vb_srq *srq, const void *object)
{
	return is_domain(srq->base.pd, object) || is(srq->cq, object) || is(srq->xrcd, object);
}

static bool uses(const void *user, enum vb_kind kind, const void *object)
{
	const struct vb_flow *flow = user;
	const struct vb_pd *pd = user;
	const struct vb_cq *cq = user;
	const struct vb_wq *wq = user;
	const struct vb_mr *mr = user;

	switch (kind) {
	case VB_KIND_FLOW: return is(flow->qp, object) || is(flow->counters, object);
	case VB_KIND_QP: return qp_uses(user, object);
	case VB_KIND_WQ_TABLE: return table_uses(user, object);
	case VB_KIND_WQ: return is_domain(wq->base.pd, object) || is(wq->base.cq, object);
	case VB_KIND_SRQ: return srq_uses(user, object);
	case VB_KIND_CQ: return is_domain(cq->parent_domain, object) || is(cq->channel, object);
	case VB_KIND_AH: return is_domain(((const struct ibv_ah *)user)->pd, object);
	case VB_KIND_MW: return is_domain(((const struct ibv_mw *)user)->pd, object);
	case VB_KIND_MR: return is_domain(mr->base.pd, object) || is(mr->dm, object);
	case VB_KIND_PD: return is(pd->under, object) || is(pd->td, object);
	case VB_KIND_CONTEXT:
	case VB_KIND_COUNTERS:
	case VB_KIND_TARGET:
	case VB_KIND_XRCD:
	case VB_KIND_CHANNEL:
	case VB_KIND_COMP_CNTR:
	case VB_KIND_TD:
	case VB_KIND_DM:
	case VB_KIND_DMAH:
	case VB_KIND_BUF:
	case VB_KIND_UMEM:
	case VB_KIND_MKEY:
	case VB_KINDS: break;
	}
	return false;
}

void vb_uses_init(void)
{
	vb_object_used_by(uses);
}
