// SPDX-License-Identifier: MIT
/* Completion queues and shared receive queues of ids. */
#include "lib/rdmacm/queues.h"

#include <stdbool.h>
#include <string.h>

#include "lib/rdmacm/device.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/id.h"

static void destroy_queue(struct ibv_cq **cq, struct ibv_comp_channel **channel)
{
	if (*cq)
		ibv_destroy_cq(*cq);
	if (*channel)
		ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

void rcm_queues_destroy(struct rdma_cm_id *base)
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
		rcm_queues_destroy(base);
	return err;
}

static bool contradict(const struct ibv_cq *its, const struct ibv_cq *wanted)
{
	return its && wanted && its != wanted;
}

int rcm_queues_for_qp(struct rdma_cm_id *base, struct ibv_qp_init_attr_ex *attr)
{
	bool has_send = attr->send_cq || base->send_cq;
	bool has_recv = attr->recv_cq || base->recv_cq;
	int err;

	if (contradict(base->recv_cq, attr->recv_cq) || contradict(base->send_cq, attr->send_cq))
		return EINVAL;
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
		rcm_queues_destroy(&id->base);
		return err;
	}
	if (!id->base.pd)
		id->base.pd = attr->pd;
	id->base.srq = srq;
	return 0;
}

int rdma_create_srq_ex(struct rdma_cm_id *base, struct ibv_srq_init_attr_ex *attr)
{
	if (!base || !attr || !base->verbs || base->srq ||
	    !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		return rcm_result(EINVAL);
	return rcm_result(create_srq(rcm_id(base), attr));
}

int rdma_create_srq(struct rdma_cm_id *base, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex attr_ex = { 0 };
	int ret;

	if (!base || !attr)
		return rcm_result(EINVAL);
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
	rcm_queues_destroy(base);
}
