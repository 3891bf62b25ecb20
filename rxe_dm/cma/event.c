// SPDX-License-Identifier: MIT
/* Events of exchanges (rxe_dm/cm) become events of ids. An id gets an event of its connection only
 * in the states in which Linux reports it: DISCONNECTED once, then TIMEWAIT_EXIT. The endpoints in
 * a connection request choose the listener, which gets a new id and the event CONNECT_REQUEST. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "emu/min.h"
#include "rxe_dm/cma/emit.h"
#include "rxe_dm/cma/event.h"
#include "rxe_dm/cma/port.h"
#include "rxe_dm/cma/query.h"

#define PKEY_BASE 0x7fffu

/* The private data of a message from an offset on; in a REQ, the endpoints come first. */
static void take_private(struct ctl_cm_conn *conn, const struct cm_msg *msg, uint8_t offset)
{
	conn->private_len = (uint8_t)(msg->private_len - offset);
	memcpy(conn->private_data, msg->private_data + offset, conn->private_len);
}

/* READs and atomics that the peer asks for, within the device. The peer's depths are seen from its
 * side: what it initiates, this side responds to. */
static void take_depths(struct cma_id *id, uint8_t its_resources, uint8_t its_depth)
{
	const struct cma_device *device = &id->ids->device[id->device];

	id->exchange.responder_resources = min_u8(its_depth, device->max_responder_resources);
	id->exchange.initiator_depth = min_u8(its_resources, device->max_initiator_depth);
}

/* A peer may offer more than the REQ asked for, as perftest's server does: this side initiates no
 * more than it asked for. It responds to all that the peer initiates: a request beyond
 * responder_resources is fatal. A REQ that asked for none takes what the peer offers, as in Linux.
 */
static void agree_on_depths(struct cma_id *id, const struct cm_rep *rep)
{
	const uint8_t asked = id->exchange.initiator_depth;

	take_depths(id, rep->responder_resources, rep->initiator_depth);
	if (asked)
		id->exchange.initiator_depth = min_u8(id->exchange.initiator_depth, asked);
}

static void rep_received(struct cma_id *id, const struct cm_msg *msg)
{
	const struct cm_rep *rep = &msg->u.rep;
	struct cma_exchange *exchange = &id->exchange;
	struct ctl_cm_event event = {
		.event = CTL_CM_EVENT_CONNECT_RESPONSE,
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
	agree_on_depths(id, rep);
	exchange->rnr_retry_count = rep->rnr_retry_count;
	if (!id->has_ack_timeout)
		exchange->ack_timeout = cm_ack_timeout(rep->target_ack_delay, CMA_ROUND_TRIP);
	take_private(&event.conn, msg, 0);
	cm_defer_mra(id->cm, CMA_MRA_TIMEOUT);
	cma_id_emit(id, &event);
}

static void rejected(struct cma_id *id, const struct cm_msg *msg)
{
	struct ctl_cm_event event = { .event = CTL_CM_EVENT_REJECTED, .status = msg->u.rej.reason };

	id->reject = msg->u.rej.reason;
	take_private(&event.conn, msg, 0);
	cma_id_emit(id, &event);
}

static void disconnected(struct cma_id *id, int status)
{
	id->state = ID_DISCONNECT;
	cma_id_emit_status(id, CTL_CM_EVENT_DISCONNECTED, status);
}

static void sidr_rep_received(struct cma_id *id, const struct cm_msg *msg)
{
	const struct cm_sidr_rep *rep = &msg->u.sidr_rep;
	struct ctl_cm_event event = { .event = CTL_CM_EVENT_ESTABLISHED };

	take_private(&event.conn, msg, 0);
	if (rep->status != CM_SIDR_SUCCESS) {
		event.event = CTL_CM_EVENT_UNREACHABLE;
		event.status = rep->status;
	} else {
		event.conn.qpn = rep->qpn;
		event.conn.qkey = rep->qkey;
		id->qkey = rep->qkey;
		cma_id_fill_ah(id, &event.ah);
	}
	cma_id_emit(id, &event);
}

static void connecting(struct cma_id *id, const struct cm_event *event)
{
	switch (event->type) {
	case CM_EVENT_REQ_TIMED_OUT:
	case CM_EVENT_REP_TIMED_OUT:
	case CM_EVENT_SIDR_REQ_TIMED_OUT:
		cma_id_emit_status(id, CTL_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case CM_EVENT_REP_RECEIVED: rep_received(id, event->msg); break;
	case CM_EVENT_RTU_RECEIVED: cma_id_emit_status(id, CTL_CM_EVENT_ESTABLISHED, 0); break;
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

static struct endpoint endpoint_of(const struct cm_ip_header *header, const struct gid *address,
				   uint16_t port)
{
	return (struct endpoint){
		.family = header->ip_version == 4 ? AF_INET : AF_INET6,
		.port = port,
		.address = *address,
	};
}

static void refuse(const struct cma_ids *ids, const struct cm_event *event,
		   const struct cm_rej *why)
{
	const struct cm_msg rej = { .attr = CM_REJ, .u.rej = *why };
	const struct cm_msg rep = { .attr = CM_SIDR_REP,
				    .u.sidr_rep = { .status = CM_SIDR_UNSUPPORTED } };

	if (event->type == CM_EVENT_SIDR_REQ_RECEIVED)
		(void)cm_send_sidr_rep(event->id, &rep, ids->now_ns);
	else
		(void)cm_send_rej(event->id, &rej, ids->now_ns);
	cm_id_destroy(event->id, ids->now_ns);
}

/* 0: a transport that cannot be connected here. */
static uint32_t qp_type_of(const struct cm_req *req)
{
	if (req->transport == CM_TRANSPORT_RC)
		return IBV_QPT_RC;
	if (req->transport == CM_TRANSPORT_UC)
		return IBV_QPT_UC;
	return req->transport == CM_TRANSPORT_EXTENDED &&
			       req->extended_transport == CM_TRANSPORT_EXTENDED_XRC
		       ? IBV_QPT_XRC_RECV
		       : 0;
}

static void keep_req(struct cma_id *id, const struct cm_req *req, const struct cm_path *path)
{
	id->path_mtu = req->path_mtu;
	id->asked_alternate = !gid_is_zero(&req->alternate.remote_gid);
	id->flow_label = req->primary.flow_label;
	id->traffic_class = req->primary.traffic_class;
	if (req->primary.hop_limit > 1)
		id->hop_limit = req->primary.hop_limit;
	/* A GID of the other family cannot be reached from this device. */
	if (gid_is_v4(&req->primary.local_gid) == gid_is_v4(&path->src))
		id->dgid = req->primary.local_gid;
	id->exchange = (struct cma_exchange){
		.peer_known = true,
		.remote_qpn = req->local_qpn,
		.sq_psn = req->starting_psn,
		.mtu = id->path_mtu,
		.retry_count = req->retry_count,
		.rnr_retry_count = req->rnr_retry_count,
		.ack_timeout = req->primary.ack_timeout,
	};
	take_depths(id, req->responder_resources, req->initiator_depth);
}

static struct cma_id *new_id(struct cma_id *listener, const struct cm_event *event,
			     const struct cm_ip_header *header)
{
	const bool datagram = event->type == CM_EVENT_SIDR_REQ_RECEIVED;
	const uint32_t qp_type = datagram ? IBV_QPT_UD : qp_type_of(&event->msg->u.req);
	struct cma_id *id = cma_id_new(listener->ids, listener->port_space, qp_type);

	if (!id)
		return NULL;
	id->user.owner = listener->user.owner;
	cma_id_set_channel(id, listener->user.channel, listener->user.channel_ids);
	id->user.request = UINT64_MAX;
	id->local = endpoint_of(header, &header->dst, listener->local.port);
	id->remote = endpoint_of(header, &header->src, header->src_port);
	cma_id_set_device(id, event->path->device);
	id->dgid = event->path->dst;
	id->num_paths = 1;
	if (!datagram)
		keep_req(id, &event->msg->u.req, event->path);
	id->cm = event->id;
	id->state = ID_CONNECT;
	cm_id_set_user(event->id, id);
	return id;
}

static void put_conn(struct ctl_cm_conn *ret, const struct cm_event *event)
{
	const struct cm_req *req = &event->msg->u.req;

	if (event->type == CM_EVENT_REQ_RECEIVED)
		*ret = (struct ctl_cm_conn){
			.qpn = req->local_qpn,
			.ece_vendor = req->vendor_id,
			.ece_options = event->msg->ece_options,
			.responder_resources = req->initiator_depth,
			.initiator_depth = req->responder_resources,
			.flow_control = req->flow_control,
			.retry_count = req->retry_count,
			.rnr_retry_count = req->rnr_retry_count,
			.srq = req->srq,
		};
	take_private(ret, event->msg, CM_IP_HEADER_BYTES);
}

static void report(struct cma_id *listener, struct cma_id *id, const struct cm_event *event)
{
	struct ctl_cm_event report = { .event = CTL_CM_EVENT_CONNECT_REQUEST,
				       .new_id = id->handle };

	put_conn(&report.conn, event);
	cma_id_query(id, &report.addr);
	cma_id_all_attr(id, &report.attr);
	if (event->type == CM_EVENT_REQ_RECEIVED)
		cm_defer_mra(id->cm, CMA_MRA_TIMEOUT);
	cma_id_emit(listener, &report);
}

/* What is wrong with a REQ, whatever its listener (12.6.7.2). ret->reason 0: nothing. */
static void check_req(const struct cma_ids *ids, const struct cm_event *event, struct cm_rej *ret)
{
	const struct cm_req *req = &event->msg->u.req;
	const struct cma_device *device = &ids->device[event->path->device];

	*ret = (struct cm_rej){ .reason = 0 };
	if (event->type != CM_EVENT_REQ_RECEIVED)
		return;
	if (!qp_type_of(req)) {
		ret->reason = CM_REJ_INVALID_TRANSPORT_TYPE;
	} else if (!gid_equal(&req->primary.remote_gid, &device->gid) ||
		   (req->pkey & PKEY_BASE) != PKEY_BASE) {
		/* As Linux: a P_Key that the port does not have makes the path unusable. */
		ret->reason = CM_REJ_INVALID_GID;
		ret->ari_len = sizeof(device->gid);
		memcpy(ret->ari, &device->gid, sizeof(device->gid));
	} else if (req->path_mtu < IBV_MTU_256 || req->path_mtu > device->mtu) {
		ret->reason = CM_REJ_INVALID_MTU;
		ret->ari_len = 1;
		ret->ari[0] = device->mtu;
	}
}

static struct cma_id *find_listener(const struct cm_event *event, struct cm_ip_header *ret_header)
{
	const struct cma_port *port = (const struct cma_port *)event->user;
	struct endpoint local;

	if (!cm_ip_header_parse(ret_header, event->msg->private_data))
		return NULL;
	local = endpoint_of(ret_header, &ret_header->dst, 0);
	return cma_port_match(port, event->path->device, &local);
}

static void request_received(struct cma_ids *ids, const struct cm_event *event)
{
	struct cm_ip_header header;
	struct cma_id *listener = find_listener(event, &header), *id;
	struct cm_rej why;

	check_req(ids, event, &why);
	if (!listener)
		why = (struct cm_rej){ .reason = CM_REJ_INVALID_SERVICE_ID };
	if (why.reason) {
		refuse(ids, event, &why);
		return;
	}
	/* Beyond the backlog the request is dropped: the other side sends it again. */
	if (ids->ops->has_unread(ids->host, listener, listener->backlog)) {
		listener->dropped++;
		cm_id_forget(event->id);
		return;
	}
	id = new_id(listener, event, &header);
	if (id)
		report(listener, id, event);
	else
		cm_id_forget(event->id);
}

void cma_cm_event(void *host, const struct cm_event *event)
{
	struct cma_id *id = (struct cma_id *)event->user;

	if (event->type == CM_EVENT_REQ_RECEIVED || event->type == CM_EVENT_SIDR_REQ_RECEIVED) {
		request_received((struct cma_ids *)host, event);
		return;
	}
	assert(id);
	if (event->type == CM_EVENT_TIME_WAIT_EXIT && id->state == ID_DISCONNECT)
		cma_id_emit_status(id, CTL_CM_EVENT_TIMEWAIT_EXIT, 0);
	else if (id->state == ID_CONNECT)
		connecting(id, event);
}
