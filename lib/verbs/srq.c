// SPDX-License-Identifier: MIT
/* Creates, modifies and destroys shared receive queues (ibv_create_srq(3), ibv_modify_srq(3)), also
 * those that match tags (ibv_post_srq_ops(3); emu/tag_matching.h has the behaviour). */
#include "lib/verbs/srq.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "emu/tag_matching.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/async.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/refuse_post.h"
#include "lib/verbs/xrc.h"
#include "net/link/clock.h"

static_assert((int)RXE_TM_SYNC == (int)IBV_WR_TAG_SYNC, "enum ibv_ops_wr_opcode");
static_assert((int)RXE_WC_TM_NO_TAG == (int)IBV_WC_TM_NO_TAG, "enum ibv_wc_opcode");
static_assert((int)RXE_WC_TM_DATA_VALID == (int)IBV_WC_TM_DATA_VALID, "enum ibv_wc_flags");
static_assert((int)RXE_WC_TM_RNDV_INCOMPLETE == (int)IBV_WC_TM_RNDV_INCOMPLETE,
	      "enum ibv_wc_status");

/* Gives the SRQ its domain, memory and receive queue. 0 or an errno. */
static int begin(struct vb_srq *srq, struct ibv_pd *pd, const struct ibv_srq_attr *attr)
{
	int err = vb_pd_use(pd);

	if (err)
		return err;
	if (!vb_buffer_alloc(&srq->memory, pd,
			     rxe_ring_bytes(attr->max_wr, rxe_recv_stride(attr->max_sge)),
			     VB_BUFFER_SRQ)) {
		vb_pd_unuse(pd);
		return refuse(WHY_NO_MEMORY, "the SRQ");
	}
	rxe_srq_init(&srq->srq, pd->handle, srq->memory.memory, attr->max_wr, attr->max_sge, srq);
	return 0;
}

/* Gives an XRC SRQ a number, by which packets name it. */
static int assign_number(struct vb_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	struct rxe_engine *engine;
	uint32_t srqn;

	if (!vb_lock_engine(srq->dev, srq->forks))
		return refuse(WHY_NO_ENGINE, "object");
	engine = srq->dev->progress.engine;
	srqn = rxe_engine_alloc_srqn(engine);
	if (srqn) {
		rxe_srq_name(engine, &srq->srq, srqn, vb_xrcd(attr->xrcd)->domain,
			     &vb_cq(attr->cq)->cq);
		remote_srq_publish(&srq->dev->progress, &srq->srq);
		srq->base.handle = srqn;
		vb_object_set_handle(srq, srqn);
		srq->cq = attr->cq;
		srq->xrcd = attr->xrcd;
		vb_object_use(srq->cq);
		vb_object_use(srq->xrcd);
	}
	progress_unlock(&srq->dev->progress);
	return srqn ? 0 : refuse(WHY_NO_SRQN, vb_profile(srq->dev)->max_srq);
}

static bool is_offered(struct ibv_context *context, enum ibv_srq_type type)
{
	const struct ctl_profile *profile = vb_profile(vb_device(context));

	return profile->max_srq && (type != IBV_SRQT_XRC || profile->xrc) &&
	       (type != IBV_SRQT_TM || profile->max_num_tags);
}

/* 0, or an errno: bad attributes of an SRQ of type IBV_SRQT_TM. */
static int tag_check(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr)
{
	const struct ctl_profile *profile = vb_profile(vb_device(context));
	const uint32_t needed = IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;

	if ((attr->comp_mask & needed) != needed)
		return refuse(WHY_BITS_MISSING, "comp_mask", (uint64_t)(needed & ~attr->comp_mask));
	if (vb_refuses_use(context, attr->cq, VB_KIND_CQ))
		return refusal_noted();
	if (attr->tm_cap.max_num_tags < 1 || attr->tm_cap.max_num_tags > profile->max_num_tags)
		return refuse(WHY_TAG_RANGE, "max_num_tags", attr->tm_cap.max_num_tags,
			      profile->max_num_tags);
	if (attr->tm_cap.max_ops < 1 || attr->tm_cap.max_ops > RXE_MAX_TM_OPS)
		return refuse(WHY_TAG_RANGE, "max_ops", attr->tm_cap.max_ops,
			      (uint32_t)RXE_MAX_TM_OPS);
	return 0;
}

/* Gives the new SRQ its matching list and CQ. 0 or an errno. */
static int tag_begin(struct vb_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t max = attr->tm_cap.max_num_tags;

	if (!vb_buffer_alloc(&srq->tags_memory, srq->base.pd,
			     rxe_tag_list_bytes(max, srq->srq.max_sge), VB_BUFFER_SRQ))
		return refuse(WHY_NO_MEMORY, "the list of tags");
	rxe_tag_list_init(&srq->tags, srq->tags_memory.memory, max, srq->srq.max_sge);
	rxe_srq_match_tags(&srq->srq, &srq->tags, &vb_cq(attr->cq)->cq);
	srq->cq = attr->cq;
	vb_object_use(srq->cq);
	return 0;
}

/* The SRQ has left the engine. Does nothing for others. */
static void tag_end(struct vb_srq *srq)
{
	if (!srq->srq.tags)
		return;
	vb_object_unuse(srq->cq);
	vb_buffer_free(&srq->tags_memory, srq->base.pd, VB_BUFFER_SRQ);
}

/* Ends what vb_object_new() did not begin. */
static void take_down(struct vb_srq *srq)
{
	struct ibv_srq *base = &srq->base;

	if (vb_lock_engine(srq->dev, srq->forks)) {
		if (srq->xrcd)
			remote_srq_unpublish(&srq->dev->progress, &srq->srq);
		rxe_srq_fini(srq->dev->progress.engine, &srq->srq);
		progress_unlock(&srq->dev->progress);
	}
	if (srq->xrcd) {
		vb_object_unuse(srq->cq);
		vb_object_unuse(srq->xrcd);
	}
	tag_end(srq);
	vb_async_forget(base->context, srq->forks, base, IBV_EVENT_SRQ_ERR);
	vb_buffer_free(&srq->memory, base->pd, VB_BUFFER_SRQ);
	vb_pd_unuse(base->pd);
	pthread_mutex_destroy(&base->mutex);
	pthread_cond_destroy(&base->cond);
}

static int check_size(const struct ctl_profile *profile, const struct ibv_srq_attr *attr)
{
	if (attr->max_wr < 1)
		return refuse(WHY_BELOW_ONE, "max_wr", (int64_t)attr->max_wr);
	if (attr->max_wr > profile->max_srq_wr)
		return refuse(WHY_ABOVE_LIMIT, "max_wr", (uint64_t)attr->max_wr,
			      (uint64_t)profile->max_srq_wr);
	return attr->max_sge > profile->max_srq_sge
		       ? refuse(WHY_ABOVE_LIMIT, "max_sge", (uint64_t)attr->max_sge,
				(uint64_t)profile->max_srq_sge)
		       : 0;
}

/* NULL and errno, with a noted reason. */
static struct ibv_srq *create(struct ibv_srq_init_attr_ex *attr, enum ibv_srq_type type)
{
	struct ibv_pd *pd = attr->pd;
	struct vb_srq *srq;
	int err = check_size(vb_profile(vb_device(pd->context)), &attr->attr);

	if (err) {
		errno = err;
		return NULL;
	}
	if (attr->attr.max_sge == 0)
		attr->attr.max_sge = 1;
	srq = vb_object_new(pd->context, VB_KIND_SRQ, sizeof(*srq));
	if (!srq)
		return NULL;
	err = begin(srq, pd, &attr->attr);
	if (err) {
		errno = vb_object_undo(srq, err);
		return NULL;
	}
	srq->dev = vb_device(pd->context);
	srq->forks = vb_forks();
	srq->base.srq_context = attr->srq_context;
	srq->base.pd = pd;
	pthread_mutex_init(&srq->base.mutex, NULL);
	pthread_cond_init(&srq->base.cond, NULL);
	err = type == IBV_SRQT_XRC  ? assign_number(srq, attr)
	      : type == IBV_SRQT_TM ? tag_begin(srq, attr)
				    : 0;
	if (err) {
		take_down(srq);
		errno = vb_object_undo(srq, err);
		return NULL;
	}
	return &srq->base;
}

static int check_attr(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr,
		      enum ibv_srq_type type)
{
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	const uint32_t known =
		IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TM | xrc;

	if (attr->comp_mask & ~known)
		return refuse(WHY_BITS_REFUSED, "comp_mask", (uint64_t)(attr->comp_mask & ~known));
	if ((unsigned int)type > IBV_SRQT_TM || !is_offered(context, type))
		return refuse(WHY_NOT_OFFERED, "SRQs of this type");
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return refuse(WHY_BITS_MISSING, "comp_mask", (uint64_t)IBV_SRQ_INIT_ATTR_PD);
	if (vb_refuses_pd_of(attr->pd, context))
		return refusal_noted();
	if (type == IBV_SRQT_TM)
		return tag_check(context, attr);
	if (type != IBV_SRQT_XRC)
		return 0;
	if ((attr->comp_mask & xrc) != xrc)
		return refuse(WHY_BITS_MISSING, "comp_mask", (uint64_t)(xrc & ~attr->comp_mask));
	return vb_refuses_use(context, attr->xrcd, VB_KIND_XRCD) ||
			       vb_refuses_use(context, attr->cq, VB_KIND_CQ)
		       ? refusal_noted()
		       : 0;
}

static struct ibv_srq *create_checked(struct ibv_context *context,
				      struct ibv_srq_init_attr_ex *attr, enum inject_verb verb)
{
	enum ibv_srq_type type = IBV_SRQT_BASIC;
	const char *call = inject_verb_str(verb);
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail_as(call, refusal_noted());
	if (vb_gate_fails(context, verb))
		return vb_fail_as(call, errno);
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE)
		type = attr->srq_type;
	err = check_attr(context, attr, type);
	return err ? vb_fail_as(call, err) : vb_made_as(call, create(attr, type));
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	return create_checked(context, attr, INJECT_VERB_create_srq_ex);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex;
	struct ibv_srq *srq;

	if (vb_refuses_pd(pd) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	ex = (struct ibv_srq_init_attr_ex){
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
		.pd = pd,
	};
	srq = create_checked(pd->context, &ex, INJECT_VERB_create_srq);
	attr->attr = ex.attr;
	return srq;
}

static int get_srq_num(struct ibv_srq *base, uint32_t *srq_num)
{
	struct vb_srq *srq = vb_srq(base);

	if (vb_refuses(srq, VB_KIND_SRQ) || refuse_if(!srq_num, WHY_NULL, "srq_num"))
		return vb_result(refusal_noted());
	/* Only XRC addresses SRQs by number. */
	if (!srq->xrcd)
		return vb_result(refuse(WHY_SRQ_NUMBER));
	if (vb_verb_fails(base->context, get_srq_num))
		return vb_result(errno);
	*srq_num = srq->srq.srqn;
	return 0;
}

static int post_tag(struct vb_srq *srq, struct ibv_ops_wr *wr, uint64_t now_ns)
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
		return refuse(WHY_TAG_OP, (unsigned int)wr->opcode, (unsigned int)wr->flags);
	if (wr->opcode == IBV_WR_TAG_ADD) {
		in.tag = wr->tm.add.tag;
		in.mask = wr->tm.add.mask;
		in.recv = (struct rxe_recv_wr){
			.wr_id = wr->tm.add.recv_wr_id,
			.num_sge = (uint32_t)wr->tm.add.num_sge,
			.sges = (const struct rxe_sge *)(const void *)wr->tm.add.sg_list,
		};
	}
	err = vb_refuse_tag(srq, rxe_tm_post(srq->dev->progress.engine, &srq->srq, &in, now_ns));
	if (!err && wr->opcode == IBV_WR_TAG_ADD)
		wr->tm.handle = in.handle;
	return err;
}

static int post_srq_ops(struct ibv_srq *base, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr)
{
	struct vb_srq *srq = vb_srq(base);
	int err = 0;

	*bad_wr = wr;
	if (vb_verb_fails(base->context, post_srq_ops))
		return vb_result(errno);
	if (!srq->srq.tags)
		return vb_result(refuse(WHY_SRQ_TAGS));
	if (!vb_lock_engine(srq->dev, srq->forks))
		return vb_result(refuse(WHY_NO_ENGINE, "SRQ"));
	for (; wr && !err; wr = wr->next) {
		*bad_wr = wr;
		err = post_tag(srq, wr, clock_now_ns());
	}
	rxe_engine_settle(srq->dev->progress.engine);
	progress_unlock(&srq->dev->progress);
	return vb_result(err);
}

/* Exchanges the SRQ's memory and *memory, which has room for max_wr receives. Under the engine
 * lock. */
static bool change_memory(struct vb_srq *srq, struct vb_buffer *memory, uint32_t max_wr)
{
	struct vb_buffer old = srq->memory;

	if (!rxe_srq_resize(&srq->srq, memory->memory, max_wr))
		return false;
	srq->memory = *memory;
	*memory = old;
	return true;
}

/* All or nothing: the limit that is to hold is compared with the size that is to hold. Under the
 * engine lock. */
static int change(struct vb_srq *srq, const struct ibv_srq_attr *attr, int mask,
		  struct vb_buffer *memory)
{
	const uint32_t max_wr = mask & IBV_SRQ_MAX_WR ? attr->max_wr : srq->srq.rq.limit;
	const uint32_t limit = srq->srq.limit;

	if ((mask & IBV_SRQ_LIMIT) && attr->srq_limit > max_wr)
		return refuse(WHY_SRQ_LIMIT, attr->srq_limit, max_wr);
	if (mask & IBV_SRQ_LIMIT)
		srq->srq.limit = 0;
	if ((mask & IBV_SRQ_MAX_WR) && !change_memory(srq, memory, max_wr)) {
		srq->srq.limit = limit;
		return refuse(WHY_SRQ_HOLDS, max_wr);
	}
	return !(mask & IBV_SRQ_LIMIT) ||
			       rxe_srq_arm(srq->dev->progress.engine, &srq->srq, attr->srq_limit)
		       ? 0
		       : refuse(WHY_SRQ_LIMIT, attr->srq_limit, max_wr);
}

static bool modify_is_good(const struct vb_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	if (vb_refuses(srq, VB_KIND_SRQ) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), WHY_UNKNOWN_BITS, "srq_attr_mask",
		      (uint64_t)(uint32_t)mask))
		return false;
	if (!(mask & IBV_SRQ_MAX_WR))
		return true;
	return check_size(vb_profile(srq->dev), &(struct ibv_srq_attr){ .max_wr = attr->max_wr }) ==
	       0;
}

/* ibv_modify_srq(3). EINVAL: nothing changed; the SRQ holds more receives than max_wr, or a limit
 * exceeds the size. ENOMEM: no memory for the new size. */
int ibv_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
	struct vb_srq *srq = vb_srq(base);
	struct vb_buffer memory = { 0 };
	int err;

	if (!modify_is_good(srq, attr, mask))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, modify_srq))
		return vb_result(errno);
	/* The allocator of a parent domain is called without locks. */
	if ((mask & IBV_SRQ_MAX_WR) &&
	    !vb_buffer_alloc(&memory, base->pd,
			     rxe_ring_bytes(attr->max_wr, rxe_recv_stride(srq->srq.max_sge)),
			     VB_BUFFER_SRQ))
		return vb_result(refuse(WHY_NO_MEMORY, "the SRQ"));
	if (vb_lock_engine(srq->dev, srq->forks)) {
		err = change(srq, attr, mask, &memory);
		progress_unlock(&srq->dev->progress);
	} else {
		err = refuse(WHY_NO_ENGINE, "SRQ");
	}
	vb_buffer_free(&memory, base->pd, VB_BUFFER_SRQ);
	return vb_result(err);
}

int ibv_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
	struct vb_srq *srq = vb_srq(base);

	if (vb_refuses(srq, VB_KIND_SRQ) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, query_srq))
		return vb_result(errno);
	if (!vb_lock_engine(srq->dev, srq->forks))
		return vb_result(refuse(WHY_NO_ENGINE, "object"));
	attr->max_wr = srq->srq.rq.limit;
	attr->max_sge = srq->srq.max_sge;
	attr->srq_limit = srq->srq.limit;
	progress_unlock(&srq->dev->progress);
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *base)
{
	int err = vb_object_end(base, VB_KIND_SRQ, INJECT_VERB_destroy_srq);

	if (err)
		return vb_result(err);
	take_down(vb_srq(base));
	free(base);
	return 0;
}

void vb_srq_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_srq_ex = create_srq_ex;
	verbs->base.get_srq_num = get_srq_num;
	verbs->base.post_srq_ops = post_srq_ops;
}
