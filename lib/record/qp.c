// SPDX-License-Identifier: MIT
/* Queue pairs and their states. */
#include "lib/record/below.h"
#include "lib/record/ring.h"

BELOW(ibv_create_qp);
BELOW(ibv_modify_qp);
BELOW(ibv_query_qp);
BELOW(ibv_destroy_qp);
BELOW(ibv_attach_mcast);
BELOW(ibv_detach_mcast);

static void made(const struct ibv_qp *qp, uint64_t began, const struct ibv_pd *pd,
		 const struct ibv_qp_init_attr_ex *attr)
{
	RECORD(RECORD_CREATE_QP, began, record_null(qp), pd ? pd->handle : 0, attr->qp_type,
	       attr->send_cq ? attr->send_cq->handle : 0, attr->recv_cq ? attr->recv_cq->handle : 0,
	       attr->srq ? attr->srq->handle : 0, attr->cap.max_send_wr, attr->cap.max_recv_wr,
	       qp ? qp->qp_num : 0);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const uint64_t began = record_now();
	struct ibv_qp *qp = below_ibv_create_qp(pd, attr);

	if (attr)
		made(qp, began, pd,
		     &(struct ibv_qp_init_attr_ex){ .qp_type = attr->qp_type,
						    .send_cq = attr->send_cq,
						    .recv_cq = attr->recv_cq,
						    .srq = attr->srq,
						    .cap = attr->cap });
	return qp;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint64_t began = record_now();
	struct ibv_qp *qp = record_below.base.create_qp_ex(context, attr);

	made(qp, began, attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL, attr);
	if (qp && (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		record_build(ibv_qp_to_qp_ex(qp));
	return qp;
}

/* 0 for what the mask leaves out. */
static uint64_t given(int mask, int bit, uint64_t value)
{
	return mask & bit ? value : 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const uint64_t began = record_now();
	const int rc = below_ibv_modify_qp(qp, attr, mask);
	const struct ibv_qp_attr none = { 0 }, *a = attr ? attr : &none;

	RECORD(RECORD_MODIFY_QP, began, record_error(rc), qp ? qp->qp_num : 0, (uint64_t)mask,
	       given(mask, IBV_QP_STATE, a->qp_state), given(mask, IBV_QP_PATH_MTU, a->path_mtu),
	       given(mask, IBV_QP_DEST_QPN, a->dest_qp_num), given(mask, IBV_QP_SQ_PSN, a->sq_psn),
	       given(mask, IBV_QP_RQ_PSN, a->rq_psn), given(mask, IBV_QP_TIMEOUT, a->timeout),
	       given(mask, IBV_QP_RETRY_CNT, a->retry_cnt),
	       given(mask, IBV_QP_RNR_RETRY, a->rnr_retry),
	       given(mask, IBV_QP_MAX_QP_RD_ATOMIC, a->max_rd_atomic),
	       given(mask, IBV_QP_MAX_DEST_RD_ATOMIC, a->max_dest_rd_atomic));
	return rc;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init_attr)
{
	const uint64_t began = record_now();
	const int rc = below_ibv_query_qp(qp, attr, mask, init_attr);

	RECORD(RECORD_QUERY_QP, began, record_error(rc), qp ? qp->qp_num : 0, (uint64_t)mask,
	       rc ? 0 : attr->qp_state);
	return rc;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	const uint64_t began = record_now(), number = qp ? qp->qp_num : 0;
	const int rc = below_ibv_destroy_qp(qp);

	RECORD(RECORD_DESTROY_QP, began, record_error(rc), number);
	return rc;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	const uint64_t began = record_now();
	const int rc = below_ibv_attach_mcast(qp, gid, lid);

	RECORD(RECORD_ATTACH_MCAST, began, record_error(rc), qp ? qp->qp_num : 0);
	return rc;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	const uint64_t began = record_now();
	const int rc = below_ibv_detach_mcast(qp, gid, lid);

	RECORD(RECORD_DETACH_MCAST, began, record_error(rc), qp ? qp->qp_num : 0);
	return rc;
}

void record_qp_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_qp_ex = create_qp_ex;
}
