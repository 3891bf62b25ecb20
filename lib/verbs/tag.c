// SPDX-License-Identifier: MIT
/* Tag-matching SRQs (ibv_create_srq_ex(3), ibv_post_srq_ops(3)). emu/tag_matching.h has the
 * behaviour. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/tag_matching.h"
#include "lib/progress/progress.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"
#include "net/link/clock.h"

static_assert((int)RXE_TM_SYNC == (int)IBV_WR_TAG_SYNC, "enum ibv_ops_wr_opcode");
static_assert((int)RXE_WC_TM_NO_TAG == (int)IBV_WC_TM_NO_TAG, "enum ibv_wc_opcode");
static_assert((int)RXE_WC_TM_DATA_VALID == (int)IBV_WC_TM_DATA_VALID, "enum ibv_wc_flags");
static_assert((int)RXE_WC_TM_RNDV_INCOMPLETE == (int)IBV_WC_TM_RNDV_INCOMPLETE,
	      "enum ibv_wc_status");

int vb_tag_check(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr)
{
	const struct ctl_profile *profile = vb_profile(vb_device(context));
	const uint32_t needed = IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;

	if ((attr->comp_mask & needed) != needed || !vb_is_usable(context, attr->cq, VB_KIND_CQ))
		return EINVAL;
	if (attr->tm_cap.max_num_tags < 1 || attr->tm_cap.max_num_tags > profile->max_num_tags ||
	    attr->tm_cap.max_ops < 1 || attr->tm_cap.max_ops > RXE_MAX_TM_OPS)
		return EINVAL;
	return 0;
}

int vb_tag_begin(struct vb_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t max = attr->tm_cap.max_num_tags;

	if (!vb_buffer_alloc(&srq->tags_memory, srq->base.pd,
			     rxe_tag_list_bytes(max, srq->srq.max_sge), VB_BUFFER_SRQ))
		return ENOMEM;
	rxe_tag_list_init(&srq->tags, srq->tags_memory.memory, max, srq->srq.max_sge);
	rxe_srq_match_tags(&srq->srq, &srq->tags, &vb_cq(attr->cq)->cq);
	srq->cq = attr->cq;
	vb_object_use(srq->cq);
	return 0;
}

void vb_tag_end(struct vb_srq *srq)
{
	if (!srq->srq.tags)
		return;
	vb_object_unuse(srq->cq);
	vb_buffer_free(&srq->tags_memory, srq->base.pd, VB_BUFFER_SRQ);
}

static int post_one(struct vb_srq *srq, struct ibv_ops_wr *wr, uint64_t now_ns)
{
	struct rxe_tm_wr in = {
		.wr_id = wr->wr_id,
		.op = (enum rxe_tm_op)wr->opcode,
		.signaled = wr->flags & IBV_OPS_SIGNALED,
		.has_count = wr->flags & IBV_OPS_TM_SYNC,
		.unexpected_cnt = wr->tm.unexpected_cnt,
		.handle = wr->tm.handle,
	};
	int err;

	if ((unsigned int)wr->opcode > IBV_WR_TAG_SYNC ||
	    wr->flags & ~(IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC))
		return EINVAL;
	if (wr->opcode == IBV_WR_TAG_ADD) {
		in.tag = wr->tm.add.tag;
		in.mask = wr->tm.add.mask;
		in.recv = (struct rxe_recv_wr){
			.wr_id = wr->tm.add.recv_wr_id,
			.num_sge = (uint32_t)wr->tm.add.num_sge,
			.sges = (const struct rxe_sge *)(const void *)wr->tm.add.sg_list,
		};
	}
	err = vb_post_errno(rxe_tm_post(srq->dev->progress.engine, &srq->srq, &in, now_ns));
	if (!err && wr->opcode == IBV_WR_TAG_ADD)
		wr->tm.handle = in.handle;
	return err;
}

int vb_tag_post(struct ibv_srq *base, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr)
{
	struct vb_srq *srq = vb_srq(base);
	int err = 0;

	*bad_wr = wr;
	if (vb_verb_fails(base->context, post_srq_ops))
		return errno;
	if (!srq->srq.tags || !vb_lock_engine(srq->dev, srq->forks))
		return vb_result(EINVAL);
	for (; wr && !err; wr = wr->next) {
		*bad_wr = wr;
		err = post_one(srq, wr, clock_now_ns());
	}
	rxe_engine_settle(srq->dev->progress.engine);
	progress_unlock(&srq->dev->progress);
	return vb_result(err);
}
