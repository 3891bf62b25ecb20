/* SPDX-License-Identifier: MIT */
/* REQ: the request for a connection, sent, received, received again. */
#include <errno.h>

#include "lib/cm/id.h"

/* A packet's lifetime as a code: an ACK timeout covers it twice (12.7.34). */
static uint8_t lifetime(uint8_t ack_timeout)
{
	return ack_timeout > 0 ? (uint8_t)(ack_timeout - 1) : 0;
}

static void begin(struct cm_id *id, const struct cm_path *path, const struct cm_req *req)
{
	id->path = *path;
	id->service_id = req->service_id;
	id->ack_timeout = req->primary.ack_timeout;
	id->max_retries = req->max_cm_retries;
	id->is_xrc = req->transport == CM_TRANSPORT_EXTENDED &&
		     req->extended_transport == CM_TRANSPORT_EXTENDED_XRC;
}

int cm_send_req(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg,
		uint64_t now_ns)
{
	const struct cm_req *req = &msg->u.req;

	if (id->state != CM_STATE_IDLE || !cm_msg_is_sendable(msg, CM_REQ))
		return -EINVAL;
	if (!cm_table_add_comm_id(id))
		return -ENOMEM;
	begin(id, path, req);
	id->tid = (uint64_t)id->cm->tid_high << 32 | id->local_comm_id;
	id->local_qpn = req->local_qpn;
	id->local_ca_guid = req->local_ca_guid;
	id->timeout_ns = cm_timeout_ns(req->remote_cm_timeout, CM_MAX_TIMEOUT) +
			 2 * cm_timeout_ns(lifetime(req->primary.ack_timeout), CM_MAX_TIMEOUT);
	id->state = CM_STATE_REQ_SENT;
	cm_last_set(id, msg);
	cm_last_retry(id, now_ns);
	return 0;
}

/* Says again what has been said. A REQ that is not answered yet stays so; an end that is past the
 * REQ hears only of a duplicate that is late. */
static void req_again(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg)
{
	switch (id->state) {
	case CM_STATE_MRA_REQ_SENT:
	case CM_STATE_REP_SENT:
	case CM_STATE_MRA_REP_RCVD:
	case CM_STATE_REJ_SENT: cm_last_send(id); break;
	case CM_STATE_DREQ_SENT:
		/* The REP was withdrawn by a REJ, which is lost. */
		if (id->reject_reason)
			cm_rej_stateless(id->cm, path, msg, id->reject_reason);
		break;
	case CM_STATE_TIME_WAIT:
		cm_rej_stateless(id->cm, path, msg,
				 id->reject_reason ? id->reject_reason : CM_REJ_STALE_CONNECTION);
		break;
	case CM_STATE_IDLE:
	case CM_STATE_LISTEN:
	case CM_STATE_REQ_SENT:
	case CM_STATE_MRA_REQ_RCVD:
	case CM_STATE_REP_RCVD:
	case CM_STATE_MRA_REP_SENT:
	case CM_STATE_REQ_RCVD:
	case CM_STATE_ESTABLISHED:
	case CM_STATE_DREQ_RCVD:
	case CM_STATE_SIDR_REQ_SENT:
	case CM_STATE_SIDR_REQ_RCVD:
	case CM_STATE_SIDR_REP_SENT: break;
	}
}

/* A new passive end. NULL: max_ids, or no memory. */
static struct cm_id *passive_end(struct cm *cm, const struct cm_path *path,
				 const struct cm_msg *msg)
{
	const struct cm_req *req = &msg->u.req;
	struct cm_id *id = cm_id_create(cm, NULL);

	if (!id)
		return NULL;
	begin(id, path, req);
	id->tid = msg->tid;
	id->timeout_ns = cm_timeout_ns(req->local_cm_timeout, CM_MAX_TIMEOUT);
	/* The active end's interval between two REQs, twice. */
	id->duplicates_ns = 2 * cm_timeout_ns(req->remote_cm_timeout, CM_MAX_TIMEOUT) +
			    4 * cm_timeout_ns(lifetime(req->primary.ack_timeout), CM_MAX_TIMEOUT);
	id->is_passive = true;
	id->state = CM_STATE_REQ_RCVD;
	if (cm_table_add_comm_id(id) &&
	    cm_table_add_remote(id, req->local_ca_guid, msg->local_comm_id) &&
	    cm_table_add_remote_qp(id, req->local_ca_guid, req->local_qpn))
		return id;
	cm_id_free(id);
	return NULL;
}

/* The peer's queue pair cannot be in two connections: the older one is over, whether the peer said
 * so or not (12.9.8.3.1). */
void cm_end_stale(struct cm_id *old, uint64_t now_ns)
{
	const struct cm_msg dreq = { .attr = CM_DREQ };

	if (old->state == CM_STATE_ESTABLISHED)
		cm_dreq_begin(old, &dreq, true, now_ns);
}

void cm_req_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns)
{
	const struct cm_req *req = &msg->u.req;
	struct cm_id *id = cm_find_remote(cm, req->local_ca_guid, msg->local_comm_id);
	struct cm_event event = { .type = CM_EVENT_REQ_RECEIVED, .path = path, .msg = msg };

	if (id) {
		req_again(id, path, msg);
		return;
	}
	id = cm_find_remote_qp(cm, req->local_ca_guid, req->local_qpn);
	if (id) {
		cm_rej_stateless(cm, path, msg, CM_REJ_STALE_CONNECTION);
		cm_end_stale(id, now_ns);
		return;
	}
	event.listener = cm_listen_find(cm, req->service_id, path);
	if (!event.listener) {
		cm_rej_stateless(cm, path, msg, CM_REJ_INVALID_SERVICE_ID);
		return;
	}
	event.id = passive_end(cm, path, msg);
	if (!event.id) {
		cm_rej_stateless(cm, path, msg, CM_REJ_NO_RESOURCES);
		return;
	}
	event.user = event.listener->user;
	cm->cfg.ops->event(cm->cfg.host, &event);
}
