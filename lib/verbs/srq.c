// SPDX-License-Identifier: MIT
/* Shared receive queues (ibv_create_srq(3), ibv_modify_srq(3)). */
#include "lib/verbs/srq.h"

#include <stdlib.h>

#include "emu/engine.h"
#include "lib/verbs/async.h"
#include "lib/verbs/driver.h"

static int make(struct ibv_pd *pd, struct ibv_srq_init_attr *attr, struct dm_srq **ret)
{
	uint32_t max_wr = attr->attr.max_wr;
	uint32_t max_sge = attr->attr.max_sge;
	struct dm_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (!srq)
		return ENOMEM;
	err = dm_pd_use(pd);
	if (err) {
		free(srq);
		return err;
	}
	if (!dm_buffer_alloc(&srq->memory, pd, rxe_ring_bytes(max_wr, rxe_recv_stride(max_sge)),
			     DM_BUFFER_SRQ) ||
	    !dm_object_add(srq, DM_KIND_SRQ)) {
		dm_buffer_free(&srq->memory, pd, DM_BUFFER_SRQ);
		dm_pd_unuse(pd);
		free(srq);
		return ENOMEM;
	}
	rxe_srq_init(&srq->srq, pd->handle, srq->memory.memory, max_wr, max_sge, srq);
	*ret = srq;
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct dm_srq *srq;
	int err;

	if (!dm_is_pd(pd) || !attr)
		return dm_fail(EINVAL);
	if (attr->attr.max_wr < 1 || attr->attr.max_wr > RXE_MAX_SRQ_WR ||
	    attr->attr.max_sge > RXE_MAX_SGE)
		return dm_fail(EINVAL);
	if (attr->attr.max_sge == 0)
		attr->attr.max_sge = 1;
	err = make(pd, attr, &srq);
	if (err)
		return dm_fail(err);
	srq->dev = dm_device(pd->context);
	srq->forks = dm_forks();
	srq->max_wr = attr->attr.max_wr;
	srq->base.context = pd->context;
	srq->base.srq_context = attr->srq_context;
	srq->base.pd = pd;
	pthread_mutex_init(&srq->base.mutex, NULL);
	pthread_cond_init(&srq->base.cond, NULL);
	return &srq->base;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr basic;
	struct ibv_srq *srq;

	if (!dm_is_context(context) || !attr)
		return dm_fail(EINVAL);
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC)
		return dm_fail(EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return dm_fail(EINVAL);
	basic = (struct ibv_srq_init_attr){ .srq_context = attr->srq_context, .attr = attr->attr };
	srq = ibv_create_srq(attr->pd, &basic);
	attr->attr = basic.attr;
	return srq;
}

int ibv_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
	struct dm_srq *srq = dm_srq(base);
	bool armed = true;

	if (!dm_object_is(srq, DM_KIND_SRQ) || !attr)
		return EINVAL;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		return EOPNOTSUPP;
	if (!dm_pump_lock_for(srq->dev, srq->forks))
		return EINVAL;
	if (mask & IBV_SRQ_LIMIT)
		armed = rxe_srq_arm(srq->dev->pump.engine, &srq->srq, attr->srq_limit);
	dm_pump_unlock(srq->dev);
	return armed ? 0 : EINVAL;
}

int ibv_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
	struct dm_srq *srq = dm_srq(base);

	if (!dm_object_is(srq, DM_KIND_SRQ) || !attr)
		return EINVAL;
	if (!dm_pump_lock_for(srq->dev, srq->forks))
		return EINVAL;
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->srq.max_sge;
	attr->srq_limit = srq->srq.limit;
	dm_pump_unlock(srq->dev);
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *base)
{
	struct dm_srq *srq = dm_srq(base);

	if (!dm_object_is(srq, DM_KIND_SRQ))
		return EINVAL;
	if (atomic_load(&srq->users))
		return EBUSY;
	if (!dm_object_take(srq, DM_KIND_SRQ))
		return EINVAL;
	if (dm_pump_lock_for(srq->dev, srq->forks)) {
		rxe_srq_fini(srq->dev->pump.engine, &srq->srq);
		dm_pump_unlock(srq->dev);
	}
	dm_async_forget_srq(dm_context(base->context), srq);
	dm_buffer_free(&srq->memory, base->pd, DM_BUFFER_SRQ);
	dm_pd_unuse(base->pd);
	pthread_mutex_destroy(&base->mutex);
	pthread_cond_destroy(&base->cond);
	free(srq);
	return 0;
}

void dm_srq_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_srq_ex = create_srq_ex;
}
