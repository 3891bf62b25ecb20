// SPDX-License-Identifier: MIT
/* Posts of receives on an unkind device (lib/unkind): the memory of a posted receive holds a
 * pattern until its message arrives. In a context's operations only where the user asked for it. */
#include "emu/queue.h"
#include "lib/progress/memory.h"
#include "lib/progress/unkind.h"
#include "lib/unkind/plan.h"
#include "lib/verbs/device.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"

/* The receives from number `from` on. The gauge of the slot is raised meanwhile: the server grants
 * none of these bytes again. */
static void fill(struct vb_device *dev, uint32_t forks, uint32_t pd, const struct rxe_ring *ring,
		 uint32_t from)
{
	if (!vb_lock_engine(dev, forks))
		return;
	atomic_fetch_add(&vb_slot(dev)->inside, 1);
	progress_unkind_fill_receives(dev->progress.link.unkind, pd, ring, from);
	memory_turn_ends();
	atomic_fetch_sub(&vb_slot(dev)->inside, 1);
	progress_unlock_queued(&dev->progress);
}

static int post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vb_qp *qp = vb_qp(base);
	const uint32_t from = qp->qp.rq.tail;
	const int err = vb_post_recv_list(qp, INJECT_VERB_post_recv, wr, bad_wr);

	fill(qp->dev, qp->forks, qp->qp.pd, &qp->qp.rq, from);
	return err;
}

static int post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vb_srq *srq = vb_srq(base);
	const uint32_t from = srq->srq.rq.tail;
	const int err = vb_post_srq_recv(base, wr, bad_wr);

	fill(srq->dev, srq->forks, srq->srq.pd, &srq->srq.rq, from);
	return err;
}

void vb_post_unkind_ops(struct verbs_context_65 *verbs)
{
	if (!progress_unkind_asked(UNKIND_FILL_RECEIVES))
		return;
	verbs->base.context.ops.post_recv = post_recv;
	verbs->base.context.ops.post_srq_recv = post_srq_recv;
}
