// SPDX-License-Identifier: MIT
/* Events as programs see them: made from the server's, after what an event demands of the id. So
 * queue pairs change their state in the thread that reads the events. */
#include "lib/rdmacm/event.h"

#include <stdlib.h>
#include <string.h>

#include "lib/rdmacm/ack.h"
#include "lib/rdmacm/address.h"
#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/establish.h"
#include "lib/rdmacm/explain.h"
#include "lib/rdmacm/life.h"
#include "lib/rdmacm/member.h"
#include "lib/rdmacm/qp.h"
#include "lib/refusal/refusal.h"

static void fill_conn(struct rcm_event *event, const struct ctl_cm_conn *conn)
{
	event->base.param.conn = (struct rdma_conn_param){
		.private_data = conn->private_len ? event->private_data : NULL,
		.private_data_len = conn->private_len,
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->initiator_depth,
		.flow_control = conn->flow_control,
		.retry_count = conn->retry_count,
		.rnr_retry_count = conn->rnr_retry_count,
		.srq = conn->srq,
		.qp_num = conn->qpn,
	};
}

static void fill_ud(struct rcm_event *event, const struct ctl_cm_event *from)
{
	struct rdma_ud_param *ud = &event->base.param.ud;

	*ud = (struct rdma_ud_param){
		.private_data = from->conn.private_len ? event->private_data : NULL,
		.private_data_len = from->conn.private_len,
		.qp_num = from->conn.qpn,
		.qkey = from->conn.qkey,
	};
	rcm_qp_unpack_ah(&ud->ah_attr, &from->ah);
	if (event->claim.member)
		ud->private_data = event->claim.member->context;
}

static void fill(struct rcm_event *event, const struct ctl_cm_event *from)
{
	struct rcm_id *id = event->claim.id;

	event->base.id = &id->base;
	event->base.event = (enum rdma_cm_event_type)from->event;
	event->base.status = from->status;
	memcpy(event->private_data, from->conn.private_data, sizeof(event->private_data));
	if (event->claim.member || id->base.qp_type == IBV_QPT_UD)
		fill_ud(event, from);
	else
		fill_conn(event, &from->conn);
}

/* An event of this type, unless err is not 0: a failure of another one. */
static void fail_if(struct rcm_event *event, int err, enum rdma_cm_event_type failure)
{
	if (!err)
		return;
	event->base.event = failure;
	event->base.status = -err;
}

/* False: no memory for the new id, which has rejected the request. */
static bool process_request(struct rcm_event *event, const struct ctl_cm_event *from)
{
	struct rcm_id *id = rcm_id_of_request(event->claim.id, from);

	if (!id)
		return false;
	event->base.listen_id = &event->claim.id->base;
	event->base.id = &id->base;
	return true;
}

/* With a queue pair, the library establishes the connection. Without, the program does. */
static void process_response(struct rcm_event *event, const struct ctl_cm_event *from)
{
	struct rcm_id *id = event->claim.id;
	int err;

	if (!id->base.qp) {
		id->remote_ece = (struct rcm_ece){ from->conn.ece_vendor, from->conn.ece_options };
		return;
	}
	rcm_qp_keep_attr(id, &from->attr);
	err = rcm_connect_finish(id, &from->conn);
	id->is_failed = err != 0;
	event->base.event = RDMA_CM_EVENT_ESTABLISHED;
	fail_if(event, err, RDMA_CM_EVENT_CONNECT_ERROR);
}

static void process_join(struct rcm_event *event)
{
	struct rcm_claim *claim = &event->claim;

	if (claim->member)
		fail_if(event,
			rcm_member_joined(claim->id, claim->member, &event->base.param.ud.ah_attr),
			RDMA_CM_EVENT_MULTICAST_ERROR);
}

/* Events of the library's own. */
static void process_own(struct rcm_event *event, const struct ctl_cm_event *from)
{
	if (event->base.event == RDMA_CM_EVENT_INTERNAL) {
		event->base.event = RDMA_CM_EVENT_ADDRINFO_RESOLVED;
		return;
	}
	memset(&event->base.param, 0, sizeof(event->base.param));
	memcpy(&event->base.param, from->conn.private_data, sizeof(uint64_t));
}

/* False: the program does not see the event. */
static bool process(struct rcm_event *event, const struct ctl_cm_event *from)
{
	struct rcm_id *id = event->claim.id;

	switch ((int)from->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rcm_qp_keep_attr(id, &from->attr);
		fail_if(event, rcm_address_fill(id, &from->addr), RDMA_CM_EVENT_ADDR_ERROR);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rcm_qp_keep_attr(id, &from->attr);
		fail_if(event, rcm_address_fill(id, &from->addr), RDMA_CM_EVENT_ROUTE_ERROR);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		rcm_explain_destination(rcm_channel(id->base.channel)->server,
					&id->base.route.addr.dst_addr, -from->status);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST: return process_request(event, from);
	case RDMA_CM_EVENT_CONNECT_RESPONSE: process_response(event, from); break;
	case RDMA_CM_EVENT_REJECTED: rcm_qp_to_error(id); return !id->is_failed;
	case RDMA_CM_EVENT_DISCONNECTED: return !id->is_failed;
	case RDMA_CM_EVENT_MULTICAST_JOIN: process_join(event); break;
	case RDMA_CM_EVENT_USER:
	case RDMA_CM_EVENT_INTERNAL: process_own(event, from); break;
	default: break;
	}
	return true;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **ret)
{
	struct ctl_cm_event from;
	struct rcm_claim claim;
	struct rcm_event *event;
	int err;

	if (!channel || !ret)
		return rcm_result(refuse(WHY_NULL, channel ? "event" : "channel"));
	for (;;) {
		err = rcm_channel_next(rcm_channel(channel), &from, &claim);
		if (err)
			return rcm_result(err);
		event = calloc(1, sizeof(*event));
		if (event) {
			event->claim = claim;
			fill(event, &from);
		}
		if (event && process(event, &from))
			break;
		if (!event)
			rcm_channel_reject(rcm_channel(channel), &from);
		rcm_id_ack(&claim);
		free(event);
		if (!event)
			return rcm_result(refuse(WHY_NO_MEMORY, "the event"));
	}
	*ret = &event->base;
	return 0;
}

int rcm_event_add(struct rcm_id *id, enum rdma_cm_event_type type, int status, uint64_t arg)
{
	struct ctl_cm_event event = {
		.token = id->token,
		.id = id->handle,
		.event = type,
		.status = status,
	};
	int err;

	memcpy(event.conn.private_data, &arg, sizeof(arg));
	err = rcm_channel_add(rcm_channel(id->base.channel), &event);
	if (err)
		return err;
	pthread_mutex_lock(&id->lock);
	id->added++;
	pthread_mutex_unlock(&id->lock);
	return 0;
}

int rdma_write_cm_event(struct rdma_cm_id *base, enum rdma_cm_event_type event, int status,
			uint64_t arg)
{
	if (!base || event != RDMA_CM_EVENT_USER)
		return rcm_result(base ? refuse(WHY_CM_OWN_EVENT, rdma_event_str(event))
				       : refuse(WHY_NULL, "id"));
	return rcm_result(rcm_event_add(rcm_id(base), event, status, arg));
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
		[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
		[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
		[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
		[RDMA_CM_EVENT_ADDRINFO_RESOLVED] = "RDMA_CM_EVENT_ADDRINFO_RESOLVED",
		[RDMA_CM_EVENT_ADDRINFO_ERROR] = "RDMA_CM_EVENT_ADDRINFO_ERROR",
	};

	/* As the original library, also for what it has no name for. */
	if ((unsigned int)event >= sizeof(names) / sizeof(names[0]))
		return "UNKNOWN EVENT";
	return names[event];
}
