// SPDX-License-Identifier: MIT
/* Shared receive queues. */
#include "lib/record/below.h"
#include "lib/record/ring.h"

BELOW(ibv_create_srq);
BELOW(ibv_modify_srq);
BELOW(ibv_destroy_srq);

static struct ibv_srq *made(struct ibv_srq *srq, uint64_t began, const struct ibv_pd *pd,
			    uint32_t max_wr)
{
	RECORD(RECORD_CREATE_SRQ, began, record_null(srq), pd ? pd->handle : 0, max_wr,
	       srq ? srq->handle : 0);
	return srq;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	const uint64_t began = record_now();
	struct ibv_srq *srq = below_ibv_create_srq(pd, attr);

	return made(srq, began, pd, attr ? attr->attr.max_wr : 0);
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint64_t began = record_now();
	struct ibv_srq *srq = record_below.base.create_srq_ex(context, attr);

	return made(srq, began, attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ? attr->pd : NULL,
		    attr->attr.max_wr);
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	const uint64_t began = record_now();
	const int rc = below_ibv_modify_srq(srq, attr, mask);

	RECORD(RECORD_MODIFY_SRQ, began, record_error(rc), srq ? srq->handle : 0, (uint64_t)mask,
	       attr && (mask & IBV_SRQ_MAX_WR) ? attr->max_wr : 0,
	       attr && (mask & IBV_SRQ_LIMIT) ? attr->srq_limit : 0);
	return rc;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	const uint64_t began = record_now(), handle = srq ? srq->handle : 0;
	const int rc = below_ibv_destroy_srq(srq);

	RECORD(RECORD_DESTROY_SRQ, began, record_error(rc), handle);
	return rc;
}

void record_srq_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_srq_ex = create_srq_ex;
}
