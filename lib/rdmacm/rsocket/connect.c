// SPDX-License-Identifier: MIT
/* The active side of a connection, and what ends one. */
#include "lib/rdmacm/rsocket/connect.h"

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/setup.h"

#define RESOLVE_TIMEOUT_MS 2000

static void fail(struct rsocket *rs, int err)
{
	rs_setup_free(rs);
	rs->state = RS_FAILED;
	rs->err = err;
}

int rs_connect_begin(struct rsocket *rs, const struct sockaddr *addr)
{
	if (rdma_resolve_addr(rs->id, NULL, (struct sockaddr *)(uintptr_t)addr, RESOLVE_TIMEOUT_MS))
		return rcm_errno();
	rs->state = RS_RESOLVING_ADDR;
	return 0;
}

static void resolve_route(struct rsocket *rs)
{
	rs->state = RS_RESOLVING_ROUTE;
	if (rdma_resolve_route(rs->id, RESOLVE_TIMEOUT_MS))
		fail(rs, rcm_errno());
}

static void connect_id(struct rsocket *rs)
{
	struct rdma_conn_param param;
	struct rs_conn_data data;
	int err = rs_setup(rs);

	if (!err) {
		param = rs_setup_param(rs, &data);
		rs->state = RS_CONNECTING;
		err = rdma_connect(rs->id, &param) ? rcm_errno() : 0;
	}
	if (err)
		fail(rs, err);
}

static void establish(struct rsocket *rs, const struct rdma_cm_event *event)
{
	if (!rs_setup_peer(rs, &event->param.conn)) {
		rdma_disconnect(rs->id);
		fail(rs, EPROTO);
		return;
	}
	rs->state = RS_CONNECTED;
}

/* What the peer sent before it ended the connection has been received, but may not have completed
 * yet. It has once the queue pair is in error, which rdma_disconnect() puts it into. */
static void disconnect(struct rsocket *rs)
{
	rs->end.connection = true;
	rdma_disconnect(rs->id);
	rs_queue_progress(rs);
	rs_queue_lost(rs, 0);
}

int rs_event_error(const struct rdma_cm_event *event)
{
	int status = event->status < 0 ? -event->status : event->status;

	switch ((int)event->event) {
	case RDMA_CM_EVENT_REJECTED: return ECONNREFUSED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL: return ENODEV;
	case RDMA_CM_EVENT_UNREACHABLE: return status ? status : ETIMEDOUT;
	default: return status ? status : ECONNABORTED;
	}
}

static void failure(struct rsocket *rs, const struct rdma_cm_event *event)
{
	if (rs->state == RS_CONNECTED)
		rs_queue_lost(rs, rs_event_error(event));
	else
		fail(rs, rs_event_error(event));
}

void rs_connect_event(struct rsocket *rs, const struct rdma_cm_event *event)
{
	switch ((int)event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED: resolve_route(rs); break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED: connect_id(rs); break;
	case RDMA_CM_EVENT_ESTABLISHED: establish(rs, event); break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (rs->state == RS_CONNECTED)
			disconnect(rs);
		else
			fail(rs, ECONNRESET);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL: failure(rs, event); break;
	default: break;
	}
}
