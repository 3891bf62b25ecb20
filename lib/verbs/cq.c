// SPDX-License-Identifier: MIT
/* Completion queues: create, arm, resize, moderate, destroy (ibv_create_cq(3),
 * ibv_modify_cq(3)). */
#include "lib/verbs/cq.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "emu/container_of.h"
#include "emu/cq.h"
#include "emu/limits.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/async.h"
#include "lib/verbs/context.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"

/* Or NULL. An older program's structure ends before this member. */
static struct ibv_pd *parent_domain(const struct ibv_cq_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		return NULL;
	return container_of(attr, const struct ibv_cq_init_attr_ex_65, base)->parent_domain;
}

static uint32_t flags_of(const struct ibv_cq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
}

#define WITH_TIMESTAMP                                                                             \
	((uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |                                           \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static int check_channel(const struct ibv_context *context, struct ibv_comp_channel *channel)
{
	char name[VB_NAME_MAX];

	if (vb_refuses(channel, VB_KIND_CHANNEL))
		return refusal_noted();
	vb_object_name(channel, VB_KIND_CHANNEL, name);
	if (vb_object_is_inherited(channel))
		return refuse(WHY_INHERITED, name);
	return channel->context == context ? 0 : refuse(WHY_OTHER_CONTEXT, name);
}

static int check_attr(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	const uint32_t flags_known =
		IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	const struct ctl_profile *profile = vb_profile(vb_device(context));
	struct ibv_pd *pd = parent_domain(attr);

	if (attr->comp_mask & ~known)
		return refuse(WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)(attr->comp_mask & ~known));
	if (flags_of(attr) & ~flags_known)
		return refuse(WHY_BITS_REFUSED, "flags", (uint64_t)(flags_of(attr) & ~flags_known));
	if (attr->wc_flags & WITH_TIMESTAMP && !profile->completion_timestamp)
		return refuse(WHY_NOT_OFFERED, "completion timestamps");
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (vb_refuses_pd(pd) || refuse_if(!vb_pd(pd)->under, WHY_NOT_A_PARENT)))
		return refusal_noted();
	if (attr->cqe < 1)
		return refuse(WHY_BELOW_ONE, "cqe", (int64_t)attr->cqe);
	if (attr->cqe > profile->max_cqe)
		return refuse(WHY_ABOVE_LIMIT, "cqe", (uint64_t)attr->cqe,
			      (uint64_t)profile->max_cqe);
	if (attr->comp_vector >= (uint32_t)context->num_comp_vectors)
		return refuse(WHY_COMP_VECTOR, (int)attr->comp_vector, context->num_comp_vectors);
	return attr->channel ? check_channel(context, attr->channel) : 0;
}

static void init_base(struct vb_cq *cq, const struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq *base = vb_cq_base(cq);

	base->channel = attr->channel;
	base->cq_context = attr->cq_context;
	base->cqe = (int)attr->cqe;
	pthread_mutex_init(&base->mutex, NULL);
	pthread_cond_init(&base->cond, NULL);
	cq->dev = vb_device(base->context);
	cq->forks = vb_forks();
	cq->channel = attr->channel ? vb_channel(attr->channel) : NULL;
	pthread_mutex_init(&cq->lock, NULL);
	if (attr->channel)
		__atomic_fetch_add(&attr->channel->refcnt, 1, __ATOMIC_ACQ_REL);
}

static void return_ring(struct vb_cq *cq)
{
	vb_buffer_free(&cq->ring, cq->parent_domain, VB_BUFFER_CQ);
	if (cq->parent_domain)
		vb_pd_unuse(cq->parent_domain);
}

static int take_ring(struct vb_cq *cq, const struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_pd *pd = parent_domain(attr);
	int err = pd ? vb_pd_use(pd) : 0;

	if (err)
		return err;
	cq->parent_domain = pd;
	if (!vb_buffer_alloc(&cq->ring, cq->parent_domain, rxe_cq_ring_bytes(attr->cqe),
			     VB_BUFFER_CQ))
		return refuse(WHY_NO_MEMORY, "the ring of the CQ");
	return 0;
}

/* With a thread domain, or the flag, the program itself keeps its threads apart. */
static bool is_single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_pd *pd = parent_domain(attr);

	return (pd && vb_pd(pd)->td) || flags_of(attr) & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
}

static struct ibv_cq_ex *create(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
				enum inject_verb verb)
{
	const char *call = inject_verb_str(verb);
	struct vb_cq *cq;
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail_as(call, refusal_noted());
	if (vb_gate_fails(context, verb))
		return vb_fail_as(call, errno);
	err = check_attr(context, attr);
	if (err)
		return vb_fail_as(call, err);
	cq = vb_object_new(context, VB_KIND_CQ, sizeof(*cq));
	if (!cq)
		return vb_fail_as(call, errno);
	err = vb_cq_ex_fill(cq, attr->wc_flags) ? take_ring(cq, attr)
						: refuse(WHY_WC_FIELDS, attr->wc_flags);
	if (err) {
		return_ring(cq);
		return vb_fail_as(call, vb_object_undo(cq, err));
	}
	cq->single_threaded = is_single_threaded(attr);
	rxe_cq_init(&cq->cq, cq->ring.memory, attr->cqe, cq);
	cq->cq.ignores_overrun = flags_of(attr) & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	init_base(cq, attr);
	return &cq->ex;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	return create(context, attr, INJECT_VERB_create_cq_ex);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)comp_vector,
	};
	struct ibv_cq_ex *cq;

	if (refuse_if(cqe < 1, WHY_BELOW_ONE, "cqe", (int64_t)cqe) ||
	    refuse_if(comp_vector < 0, WHY_COMP_VECTOR, comp_vector, 1))
		return vb_fail(refusal_noted());
	cq = create(context, &attr, INJECT_VERB_create_cq);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static int req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	struct vb_cq *cq = vb_cq(base);

	if (vb_verb_fails(base->context, req_notify_cq))
		return vb_result(errno);
	/* No event can come. */
	if (!cq->channel)
		return vb_result(refuse(WHY_NO_CHANNEL, base->handle));
	if (!vb_lock_engine(cq->dev, cq->forks))
		return vb_result(refuse(WHY_NO_ENGINE, "object"));
	if (cq->cq.armed == RXE_CQ_IDLE)
		progress_cq_armed(&cq->dev->progress);
	if (rxe_cq_arm(&cq->cq, solicited_only ? RXE_CQ_ARM_SOLICITED : RXE_CQ_ARM_ANY))
		progress_cq_notify(&cq->dev->progress, &cq->cq);
	progress_unlock(&cq->dev->progress);
	return 0;
}

/* Exchanges the CQ's ring and *ring, under both locks. False: the completions do not fit. */
static bool change_ring(struct vb_cq *cq, struct vb_buffer *ring, int cqe)
{
	struct vb_buffer old = cq->ring;

	if (!rxe_cq_resize(&cq->cq, ring->memory, (uint32_t)cqe))
		return false;
	cq->ring = *ring;
	*ring = old;
	vb_cq_base(cq)->cqe = cqe;
	return true;
}

int ibv_resize_cq(struct ibv_cq *base, int cqe)
{
	struct vb_cq *cq = vb_cq(base);
	struct vb_buffer ring;
	bool fits = false;

	if (vb_refuses(cq, VB_KIND_CQ) || refuse_if(cqe < 1, WHY_BELOW_ONE, "cqe", (int64_t)cqe) ||
	    refuse_if((uint32_t)cqe > vb_profile(cq->dev)->max_cqe, WHY_ABOVE_LIMIT, "cqe",
		      (uint64_t)cqe, (uint64_t)vb_profile(cq->dev)->max_cqe))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, resize_cq))
		return vb_result(errno);
	if (!vb_buffer_alloc(&ring, cq->parent_domain, rxe_cq_ring_bytes((uint32_t)cqe),
			     VB_BUFFER_CQ))
		return vb_result(refuse(WHY_NO_MEMORY, "the ring of the CQ"));
	if (vb_lock_engine(cq->dev, cq->forks)) {
		pthread_mutex_lock(&cq->lock);
		fits = change_ring(cq, &ring, cqe);
		pthread_mutex_unlock(&cq->lock);
		progress_unlock(&cq->dev->progress);
	}
	vb_buffer_free(&ring, cq->parent_domain, VB_BUFFER_CQ);
	return vb_result(fits ? 0 : refuse(WHY_CQ_HOLDS, cqe, base->handle));
}

/* ibv_modify_cq(3). EINVAL: no live CQ, or an unknown attribute. */
static int modify_cq(struct ibv_cq *base, struct ibv_modify_cq_attr *attr)
{
	struct vb_cq *cq = vb_cq(base);

	if (vb_refuses(cq, VB_KIND_CQ) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE, WHY_UNKNOWN_BITS,
		      "attr_mask", (uint64_t)attr->attr_mask))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, modify_cq))
		return vb_result(errno);
	if (!vb_profile(cq->dev)->cq_moderation)
		return vb_result(refuse(WHY_NOT_OFFERED, "moderation of CQs"));
	if (!vb_lock_engine(cq->dev, cq->forks))
		return vb_result(refuse(WHY_NO_ENGINE, "object"));
	if (attr->attr_mask & IBV_CQ_ATTR_MODERATE)
		rxe_cq_moderate(&cq->cq, attr->moderate.cq_count, attr->moderate.cq_period);
	progress_unlock(&cq->dev->progress);
	return 0;
}

int ibv_destroy_cq(struct ibv_cq *base)
{
	int err = vb_object_end(base, VB_KIND_CQ, INJECT_VERB_destroy_cq);
	struct vb_cq *cq = vb_cq(base);

	if (err)
		return vb_result(err);
	if (vb_lock_engine(cq->dev, cq->forks)) {
		rxe_cq_fini(cq->dev->progress.engine, &cq->cq);
		if (cq->cq.armed != RXE_CQ_IDLE)
			progress_cq_disarmed(&cq->dev->progress);
		progress_unlock(&cq->dev->progress);
	}
	if (cq->channel) {
		vb_channel_forget(cq->channel, cq);
		if (cq->forks == vb_forks())
			vb_events_wait_acked(base->context, &base->mutex, &base->cond,
					     &base->comp_events_completed, cq->comp_reported);
		__atomic_fetch_sub(&cq->channel->base.refcnt, 1, __ATOMIC_ACQ_REL);
	}
	vb_async_forget(base->context, cq->forks, base, IBV_EVENT_CQ_ERR);
	pthread_mutex_destroy(&base->mutex);
	pthread_cond_destroy(&base->cond);
	pthread_mutex_destroy(&cq->lock);
	return_ring(cq);
	free(cq);
	return 0;
}

void vb_cq_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_cq_ex = create_cq_ex;
	verbs->base.modify_cq = modify_cq;
	verbs->base.context.ops.poll_cq = vb_poll_cq;
	verbs->base.context.ops.req_notify_cq = req_notify_cq;
}
