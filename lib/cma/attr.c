// SPDX-License-Identifier: MIT
/* Attributes of a program's queue pair for its way to RTS: what the two sides have agreed on. */
#include <errno.h>

#include "lib/cma/private.h"

/* XRC splits the reliable queue pair in two: XRC_SEND requests, XRC_RECV responds. */
static bool is_requester(const struct rdma_id *id)
{
	return id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND;
}

static bool is_responder(const struct rdma_id *id)
{
	return id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV;
}

/* Each adds what its transition needs. */
static int attr_init(const struct rdma_id *id, struct ctl_cm_qp_attr *ret)
{
	ret->mask |= IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	ret->port_num = 1;
	if (rdma_id_is_datagram(id)) {
		ret->mask |= IBV_QP_QKEY;
		ret->qkey = id->qkey ? id->qkey : RCM_UDP_QKEY;
		return 0;
	}
	ret->mask |= IBV_QP_ACCESS_FLAGS;
	if (id->cm)
		ret->access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (id->cm && id->exchange.responder_resources)
		ret->access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return 0;
}

static int attr_rtr(const struct rdma_id *id, struct ctl_cm_qp_attr *ret)
{
	const struct rdma_exchange *exchange = &id->exchange;

	if (!exchange->peer_known)
		return -EINVAL;
	ret->mask |= IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	rdma_id_fill_ah(id, &ret->ah);
	ret->path_mtu = exchange->mtu;
	ret->dest_qpn = exchange->remote_qpn;
	ret->rq_psn = id->psn;
	if (is_responder(id)) {
		ret->mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		ret->max_dest_rd_atomic = exchange->responder_resources;
	}
	return 0;
}

static int attr_rts(const struct rdma_id *id, struct ctl_cm_qp_attr *ret)
{
	const struct rdma_exchange *exchange = &id->exchange;

	if (!exchange->peer_known)
		return -EINVAL;
	ret->mask |= IBV_QP_STATE | IBV_QP_SQ_PSN;
	ret->sq_psn = exchange->sq_psn;
	if (is_requester(id) || is_responder(id)) {
		ret->mask |= IBV_QP_TIMEOUT;
		ret->timeout = id->has_ack_timeout ? id->ack_timeout : exchange->ack_timeout;
	}
	if (is_requester(id)) {
		ret->mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
		ret->retry_cnt = exchange->retry_count;
		ret->rnr_retry = exchange->rnr_retry_count;
		ret->max_rd_atomic = exchange->initiator_depth;
	}
	return 0;
}

int rdma_id_init_qp_attr(const struct rdma_id *id, uint32_t qp_state, struct ctl_cm_qp_attr *ret)
{
	*ret = (struct ctl_cm_qp_attr){ .qp_state = qp_state };
	if (!id->has_device)
		return -EINVAL;
	/* Linux knows one transition of a datagram queue pair; the library makes the others. */
	if (qp_state == IBV_QPS_INIT || rdma_id_is_datagram(id))
		return attr_init(id, ret);
	switch (qp_state) {
	case IBV_QPS_RTR: return attr_rtr(id, ret);
	case IBV_QPS_RTS: return attr_rts(id, ret);
	default: return -EINVAL;
	}
}

void rdma_id_all_attr(const struct rdma_id *id, struct ctl_cm_qp_attr *ret)
{
	*ret = (struct ctl_cm_qp_attr){ 0 };
	if (!id->has_device || rdma_id_is_datagram(id))
		return;
	(void)attr_init(id, ret);
	(void)attr_rtr(id, ret);
	(void)attr_rts(id, ret);
}
