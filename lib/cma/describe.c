// SPDX-License-Identifier: MIT
/* An id as people see it. */
#include "lib/cma/private.h"

static enum ctl_cm_state connection_state(const struct rdma_id *id)
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
		return rdma_id_is_datagram(id) && id->qkey ? CTL_CM_ESTABLISHED : CTL_CM_REJECTED;
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

static enum ctl_cm_state state_of(const struct rdma_id *id)
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

void rdma_id_describe(const struct rdma_id *id, struct ctl_cm_listed *ret)
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
