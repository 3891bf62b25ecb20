// SPDX-License-Identifier: MIT
/* What others see of an id: its addresses and path, the attributes of the program's queue pair for
 * its way to RTS, and the line that `rxe_dm show` prints. */
#include <errno.h>

#include "rxe_dm/cma/query.h"

void cma_id_fill_ah(const struct cma_id *id, struct ctl_cm_ah *ret)
{
	*ret = (struct ctl_cm_ah){
		.dgid = id->dgid,
		.flow_label = id->flow_label,
		.hop_limit = id->hop_limit,
		.traffic_class = id->traffic_class,
		.is_global = 1,
		.port_num = 1,
	};
}

/* XRC splits the reliable queue pair in two: XRC_SEND requests, XRC_RECV responds. */
static bool is_requester(const struct cma_id *id)
{
	return id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND;
}

static bool is_responder(const struct cma_id *id)
{
	return id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV;
}

/* Each adds what its transition needs. */
static void attr_init(const struct cma_id *id, struct ctl_cm_qp_attr *ret)
{
	ret->mask |= IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	ret->port_num = 1;
	if (cma_id_is_datagram(id)) {
		ret->mask |= IBV_QP_QKEY;
		ret->qkey = id->qkey ? id->qkey : CTL_CM_UDP_QKEY;
		return;
	}
	ret->mask |= IBV_QP_ACCESS_FLAGS;
	if (id->cm)
		ret->access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (id->cm && id->exchange.responder_resources)
		ret->access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

static void attr_rtr(const struct cma_id *id, struct ctl_cm_qp_attr *ret)
{
	const struct cma_exchange *exchange = &id->exchange;

	ret->mask |= IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	cma_id_fill_ah(id, &ret->ah);
	ret->path_mtu = exchange->mtu;
	ret->dest_qpn = exchange->remote_qpn;
	ret->rq_psn = id->psn;
	if (is_responder(id)) {
		ret->mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		ret->max_dest_rd_atomic = exchange->responder_resources;
	}
}

static void attr_rts(const struct cma_id *id, struct ctl_cm_qp_attr *ret)
{
	const struct cma_exchange *exchange = &id->exchange;

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
}

int cma_id_init_qp_attr(const struct cma_id *id, uint32_t qp_state, struct ctl_cm_qp_attr *ret)
{
	*ret = (struct ctl_cm_qp_attr){ .qp_state = qp_state };
	if (!id->has_device)
		return -EINVAL;
	/* Linux knows one transition of a datagram queue pair; the library makes the others. */
	if (qp_state == IBV_QPS_INIT || cma_id_is_datagram(id))
		attr_init(id, ret);
	else if (qp_state == IBV_QPS_RTR && id->exchange.peer_known)
		attr_rtr(id, ret);
	else if (qp_state == IBV_QPS_RTS && id->exchange.peer_known)
		attr_rts(id, ret);
	else
		return -EINVAL;
	return 0;
}

void cma_id_all_attr(const struct cma_id *id, struct ctl_cm_qp_attr *ret)
{
	*ret = (struct ctl_cm_qp_attr){ 0 };
	if (!id->has_device || cma_id_is_datagram(id))
		return;
	attr_init(id, ret);
	if (!id->exchange.peer_known)
		return;
	attr_rtr(id, ret);
	attr_rts(id, ret);
}

void cma_id_query(const struct cma_id *id, struct ctl_cm_addr *ret)
{
	*ret = (struct ctl_cm_addr){
		.sgid = id->local.address,
		.dgid = id->remote.address,
		.num_paths = id->num_paths,
		.flow_label = id->flow_label,
		.pkey = CMA_PKEY,
		.hop_limit = id->hop_limit,
		.traffic_class = id->traffic_class,
		.mtu = id->path_mtu,
		.packet_life_time = id->has_ack_timeout && id->ack_timeout
					    ? (uint8_t)(id->ack_timeout - 1)
					    : CMA_LIFE_TIME,
	};
	endpoint_emit(&ret->local, &id->local);
	endpoint_emit(&ret->remote, &id->remote);
	if (!id->has_device)
		return;
	ret->device = id->device;
	ret->port_num = 1;
	ret->node_guid = id->ids->device[id->device].node_guid;
	ret->sgid = id->ids->device[id->device].gid;
	if (id->num_paths)
		ret->dgid = id->dgid;
}

static enum ctl_cm_state connection_state(const struct cma_id *id)
{
	switch (cm_id_state(id->cm)) {
	case CM_STATE_REQ_RCVD:
	case CM_STATE_MRA_REQ_SENT:
	case CM_STATE_SIDR_REQ_RCVD: return CTL_CM_REQUESTED;
	case CM_STATE_ESTABLISHED:
	case CM_STATE_SIDR_REP_SENT: return CTL_CM_ESTABLISHED;
	case CM_STATE_DREQ_SENT:
	case CM_STATE_DREQ_RCVD: return CTL_CM_DISCONNECTING;
	case CM_STATE_IDLE:
		/* The exchange of a datagram id is over with its answer. */
		return cma_id_is_datagram(id) && id->qkey ? CTL_CM_ESTABLISHED : CTL_CM_REJECTED;
	case CM_STATE_REJ_SENT:
	case CM_STATE_TIME_WAIT: return CTL_CM_REJECTED;
	case CM_STATE_LISTEN:
	case CM_STATE_REQ_SENT:
	case CM_STATE_MRA_REQ_RCVD:
	case CM_STATE_REP_RCVD:
	case CM_STATE_MRA_REP_SENT:
	case CM_STATE_REP_SENT:
	case CM_STATE_MRA_REP_RCVD:
	case CM_STATE_SIDR_REQ_SENT: return CTL_CM_CONNECTING;
	}
	return CTL_CM_CONNECTING;
}

static enum ctl_cm_state state_of(const struct cma_id *id)
{
	switch (id->state) {
	case ID_IDLE: return CTL_CM_IDLE;
	case ID_BOUND: return CTL_CM_BOUND;
	case ID_ADDR_QUERY: return CTL_CM_ADDR_QUERY;
	case ID_ADDR_RESOLVED: return CTL_CM_ADDR_RESOLVED;
	case ID_ROUTE_RESOLVED: return CTL_CM_ROUTE_RESOLVED;
	case ID_LISTEN: return CTL_CM_LISTENING;
	case ID_DISCONNECT: return CTL_CM_DISCONNECTED;
	case ID_CONNECT: return connection_state(id);
	}
	return CTL_CM_IDLE;
}

void cma_id_describe(const struct cma_id *id, struct ctl_cm_listed *ret)
{
	*ret = (struct ctl_cm_listed){
		.id = id->handle,
		.port_space = id->port_space,
		.state = state_of(id),
		.port_num = id->has_device,
		.device = id->device,
		.qpn = id->qpn,
		.remote_qpn = id->exchange.remote_qpn,
		.backlog = id->backlog,
		.dropped = id->dropped,
		.reject = id->reject,
	};
	endpoint_emit(&ret->local, &id->local);
	endpoint_emit(&ret->remote, &id->remote);
}
