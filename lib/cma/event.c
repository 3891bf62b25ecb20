// SPDX-License-Identifier: MIT
/* Events of cm.h become events of ids. An id hears of its connection only in the states in which
 * Linux reports it: DISCONNECTED once, TIMEWAIT_EXIT behind it. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/cma/private.h"

static void put_private(struct ctl_cm_conn *conn, const struct cm_msg *msg, uint8_t len)
{
	conn->private_len = len;
	memcpy(conn->private_data, msg->private_data, len);
}

/* The peer's depths are seen from its side: what it initiates, this side responds to. */
static void rep_received(struct rdma_id *id, const struct cm_msg *msg)
{
	const struct cm_rep *rep = &msg->u.rep;
	struct rdma_exchange *exchange = &id->exchange;
	struct ctl_cm_event event = {
		.event = RCM_EVENT_CONNECT_RESPONSE,
		.conn = { .qpn = rep->local_qpn,
			  .ece_vendor = rep->vendor_id,
			  .ece_options = msg->ece_options,
			  .responder_resources = rep->initiator_depth,
			  .initiator_depth = rep->responder_resources,
			  .flow_control = rep->flow_control,
			  .rnr_retry_count = rep->rnr_retry_count,
			  .srq = rep->srq },
	};

	exchange->peer_known = true;
	exchange->remote_qpn = rep->local_qpn;
	exchange->sq_psn = rep->starting_psn;
	exchange->responder_resources = rep->initiator_depth;
	exchange->initiator_depth = rep->responder_resources;
	exchange->rnr_retry_count = rep->rnr_retry_count;
	if (!id->has_ack_timeout)
		exchange->ack_timeout = rdma_ack_timeout(rep->target_ack_delay, RDMA_LIFE_TIME);
	put_private(&event.conn, msg, CM_REP_PRIVATE);
	cm_defer_mra(id->cm, RDMA_MRA_TIMEOUT);
	rdma_id_emit(id, &event);
}

static void rejected(struct rdma_id *id, const struct cm_msg *msg)
{
	struct ctl_cm_event event = { .event = RCM_EVENT_REJECTED, .status = msg->u.rej.reason };

	id->reject = msg->u.rej.reason;
	put_private(&event.conn, msg, CM_REJ_PRIVATE);
	rdma_id_emit(id, &event);
}

static void disconnected(struct rdma_id *id, int status)
{
	id->state = ID_DISCONNECT;
	rdma_id_emit_status(id, RCM_EVENT_DISCONNECTED, status);
}

void rdma_id_fill_ah(const struct rdma_id *id, struct ctl_cm_ah *ret)
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

static void sidr_rep_received(struct rdma_id *id, const struct cm_msg *msg)
{
	const struct cm_sidr_rep *rep = &msg->u.sidr_rep;
	struct ctl_cm_event event = { .event = RCM_EVENT_ESTABLISHED };

	put_private(&event.conn, msg, CM_SIDR_REP_PRIVATE);
	if (rep->status != CM_SIDR_SUCCESS) {
		event.event = RCM_EVENT_UNREACHABLE;
		event.status = rep->status;
	} else {
		event.conn.qpn = rep->qpn;
		event.conn.qkey = rep->qkey;
		id->qkey = rep->qkey;
		rdma_id_fill_ah(id, &event.ah);
	}
	rdma_id_emit(id, &event);
}

static void connecting(struct rdma_id *id, const struct cm_event *event)
{
	switch (event->type) {
	case CM_EVENT_REQ_TIMED_OUT:
	case CM_EVENT_REP_TIMED_OUT:
	case CM_EVENT_SIDR_REQ_TIMED_OUT:
		rdma_id_emit_status(id, RCM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case CM_EVENT_REP_RECEIVED: rep_received(id, event->msg); break;
	case CM_EVENT_RTU_RECEIVED: rdma_id_emit_status(id, RCM_EVENT_ESTABLISHED, 0); break;
	case CM_EVENT_REJ_RECEIVED: rejected(id, event->msg); break;
	case CM_EVENT_DREQ_RECEIVED:
	case CM_EVENT_DREP_RECEIVED: disconnected(id, 0); break;
	case CM_EVENT_DREQ_TIMED_OUT: disconnected(id, -ETIMEDOUT); break;
	case CM_EVENT_SIDR_REP_RECEIVED: sidr_rep_received(id, event->msg); break;
	case CM_EVENT_MRA_RECEIVED:
	case CM_EVENT_TIME_WAIT_EXIT:
	case CM_EVENT_REQ_RECEIVED:
	case CM_EVENT_SIDR_REQ_RECEIVED: break;
	}
}

void rdma_cm_event(void *host, const struct cm_event *event)
{
	struct rdma_id *id = (struct rdma_id *)event->user;

	if (event->type == CM_EVENT_REQ_RECEIVED || event->type == CM_EVENT_SIDR_REQ_RECEIVED) {
		rdma_request_received((struct rdma_ids *)host, event);
		return;
	}
	assert(id);
	if (event->type == CM_EVENT_TIME_WAIT_EXIT && id->state == ID_DISCONNECT)
		rdma_id_emit_status(id, RCM_EVENT_TIMEWAIT_EXIT, 0);
	else if (id->state == ID_CONNECT)
		connecting(id, event);
}
