// SPDX-License-Identifier: MIT
/* Shared receive queues. */
#include "lib/check/hooks.h"
#include "lib/check/inner.h"
#include "lib/check/queue.h"
#include "lib/check/thread.h"
#include "lib/check/wrap.h"

INNER(ibv_create_srq);
INNER(ibv_destroy_srq);

/* tracked: the completions of its receives can be told from others'. */
static void made(struct ibv_srq *srq, uint32_t max_wr, bool tracked)
{
	struct check_object *object;

	check_lock();
	object = object_made(srq, VB_KIND_SRQ, srq->context);
	if (object)
		thread_joins(object, srq->pd);
	if (object && tracked)
		queue_srq_made(object, max_wr);
	check_unlock();
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq;

	wrap_used(pd, VB_KIND_PD, "ibv_create_srq");
	srq = inner_ibv_create_srq(pd, attr);
	if (srq)
		made(srq, attr->attr.max_wr, true);
	return srq;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq = check_inner.base.create_srq_ex(context, attr);
	const bool basic =
		!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || attr->srq_type == IBV_SRQT_BASIC;

	if (srq)
		made(srq, attr->attr.max_wr, basic);
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct check_object *object = wrap_ending(srq, VB_KIND_SRQ, "ibv_destroy_srq");
	struct check_srq *part = object ? object->part : NULL;
	const int err = inner_ibv_destroy_srq(srq);

	if (!err && part) {
		check_lock();
		hook_drop_all(&part->recv);
		check_unlock();
	}
	return wrap_ended(object, err);
}

void wrap_srq_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_srq_ex = create_srq_ex;
}
