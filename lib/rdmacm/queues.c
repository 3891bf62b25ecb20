// SPDX-License-Identifier: MIT
/* What belongs to an id, which a program reads with rdma_get_send_comp() and rdma_get_recv_comp():
 * queue pairs, completion queues and shared receive queues. */
#include "lib/rdmacm/id.h"

#include <stdbool.h>
#include <string.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/qp.h"
#include "lib/rdmacm/server.h"
#include "lib/refusal/refusal.h"

static void destroy_queue(struct ibv_cq **cq, struct ibv_comp_channel **channel)
{
	if (*cq)
		ibv_destroy_cq(*cq);
	if (*channel)
		ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

/* Ends the id's completion queues, unless its shared receive queue uses them. */
static void destroy_queues(struct rdma_cm_id *base)
{
	if (base->qp_type == IBV_QPT_XRC_RECV && base->srq)
		return;
	destroy_queue(&base->recv_cq, &base->recv_cq_channel);
	destroy_queue(&base->send_cq, &base->send_cq_channel);
}

/* A completion queue on a channel of its own, whose context is the id. Size 0: none. */
static int create_queue(struct rdma_cm_id *base, uint32_t size, struct ibv_cq **cq,
			struct ibv_comp_channel **channel)
{
	if (!size)
		return 0;
	*channel = ibv_create_comp_channel(base->verbs);
	if (*channel)
		*cq = ibv_create_cq(base->verbs, (int)size, base, *channel, 0);
	return *cq ? 0 : rcm_errno();
}

static int create_queues(struct rdma_cm_id *base, uint32_t send_size, uint32_t recv_size)
{
	int err = create_queue(base, recv_size, &base->recv_cq, &base->recv_cq_channel);

	if (!err)
		err = create_queue(base, send_size, &base->send_cq, &base->send_cq_channel);
	if (err)
		destroy_queues(base);
	return err;
}

static bool contradict(const struct ibv_cq *its, const struct ibv_cq *wanted)
{
	return its && wanted && its != wanted;
}

/* Makes the completion queues that neither the program nor the id has, and names the id's in
 * attr. */
static int create_queues_for_qp(struct rdma_cm_id *base, struct ibv_qp_init_attr_ex *attr)
{
	bool has_send = attr->send_cq || base->send_cq;
	bool has_recv = attr->recv_cq || base->recv_cq;
	int err;

	if (contradict(base->recv_cq, attr->recv_cq) || contradict(base->send_cq, attr->send_cq))
		return refuse(WHY_CM_OTHER_CQ);
	err = create_queues(base, has_send ? 0 : attr->cap.max_send_wr,
			    has_recv ? 0 : attr->cap.max_recv_wr);
	if (err)
		return err;
	if (!attr->send_cq)
		attr->send_cq = base->send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = base->recv_cq;
	return 0;
}

/* What the id has goes where the program has named nothing. EINVAL: the two contradict. */
static int complete_attr(struct rcm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *base = &id->base;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = base->pd;
	} else if (base->verbs != attr->pd->context) {
		return refuse(WHY_OTHER_DEVICE, "the PD");
	}
	if (base->qp_type != IBV_QPT_XRC_RECV ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) && attr->xrcd))
		return 0;
	attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	attr->xrcd = rcm_device_xrcd(id->device);
	return attr->xrcd ? 0 : rcm_errno();
}

static int create_qp(struct rcm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = ibv_create_qp_ex(id->base.verbs, attr);
	int err;

	if (!qp)
		return rcm_errno();
	err = rcm_qp_begin(id, qp);
	if (err) {
		ibv_destroy_qp(qp);
		return err;
	}
	id->base.qp = qp;
	/* An XRC_RECV queue pair has none; what is registered, and its SRQ, use the id's. */
	if (qp->pd)
		id->base.pd = qp->pd;
	return id->remote_ece.vendor ? rcm_qp_read_ece(id) : 0;
}

int rdma_create_qp_ex(struct rdma_cm_id *base, struct ibv_qp_init_attr_ex *attr)
{
	int err;

	/* Without a device there is nothing to make it on. */
	if (refuse_if(!base, WHY_NULL, "id") || refuse_if(!attr, WHY_NULL, "qp_init_attr") ||
	    refuse_if(base->qp, WHY_CM_HAS_QP, base->qp->qp_num) ||
	    refuse_if(!base->verbs, WHY_CM_NO_DEVICE))
		return rcm_result(refusal_noted());
	err = complete_attr(rcm_id(base), attr);
	if (!err)
		err = create_queues_for_qp(base, attr);
	if (err)
		return rcm_result(err);
	if (base->srq && !attr->srq)
		attr->srq = base->srq;
	err = create_qp(rcm_id(base), attr);
	if (err)
		destroy_queues(base);
	return rcm_result(err);
}

int rdma_create_qp(struct rdma_cm_id *base, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = { .comp_mask = IBV_QP_INIT_ATTR_PD };
	int ret;

	if (!base || !attr)
		return rcm_result(refuse(WHY_NULL, base ? "qp_init_attr" : "id"));
	/* struct ibv_qp_init_attr is how struct ibv_qp_init_attr_ex begins. */
	memcpy(&attr_ex, attr, sizeof(*attr));
	attr_ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr_ex.pd = pd ? pd : base->pd;
	ret = rdma_create_qp_ex(base, &attr_ex);
	memcpy(attr, &attr_ex, sizeof(*attr));
	return ret;
}

void rdma_destroy_qp(struct rdma_cm_id *base)
{
	if (!base || !base->qp)
		return;
	ibv_destroy_qp(base->qp);
	base->qp = NULL;
	destroy_queues(base);
}

/* An XRC queue has a domain and a completion queue. */
static int complete_xrc(struct rcm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	int err = 0;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd) {
		attr->xrcd = rcm_device_xrcd(id->device);
		if (!attr->xrcd)
			return rcm_errno();
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq) {
		if (!id->base.recv_cq)
			err = create_queues(&id->base, 0, attr->attr.max_wr);
		attr->cq = id->base.recv_cq;
	}
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return err;
}

static int create_srq(struct rcm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq;
	int err = 0;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->pd = id->base.pd;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	}
	if (attr->srq_type == IBV_SRQT_XRC)
		err = complete_xrc(id, attr);
	if (err)
		return err;
	srq = ibv_create_srq_ex(id->base.verbs, attr);
	if (!srq) {
		err = rcm_errno();
		destroy_queues(&id->base);
		return err;
	}
	if (!id->base.pd)
		id->base.pd = attr->pd;
	id->base.srq = srq;
	return 0;
}

int rdma_create_srq_ex(struct rdma_cm_id *base, struct ibv_srq_init_attr_ex *attr)
{
	if (refuse_if(!base, WHY_NULL, "id") || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(!base->verbs, WHY_CM_NO_DEVICE) || refuse_if(base->srq, WHY_CM_HAS_SRQ) ||
	    refuse_if(!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE), WHY_BITS_MISSING, "comp_mask",
		      (uint64_t)IBV_SRQ_INIT_ATTR_TYPE))
		return rcm_result(refusal_noted());
	return rcm_result(create_srq(rcm_id(base), attr));
}

int rdma_create_srq(struct rdma_cm_id *base, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex attr_ex = { 0 };
	int ret;

	if (!base || !attr)
		return rcm_result(refuse(WHY_NULL, base ? "attr" : "id"));
	/* struct ibv_srq_init_attr is how struct ibv_srq_init_attr_ex begins. */
	memcpy(&attr_ex, attr, sizeof(*attr));
	attr_ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	attr_ex.srq_type = base->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	attr_ex.pd = pd;
	ret = rdma_create_srq_ex(base, &attr_ex);
	memcpy(attr, &attr_ex, sizeof(*attr));
	return ret;
}

void rdma_destroy_srq(struct rdma_cm_id *base)
{
	if (!base || !base->srq)
		return;
	ibv_destroy_srq(base->srq);
	base->srq = NULL;
	destroy_queues(base);
}
