// SPDX-License-Identifier: MIT
/* Connections of streams, by events of the connection manager. */
#include "lib/rdmacm/rsocket/connection.h"

#include <fcntl.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/rsocket.h"

#define RESOLVE_TIMEOUT_MS 2000

int rs_channel_create(struct rsocket *rs)
{
	rs->channel = rdma_create_event_channel();
	if (!rs->channel)
		return rcm_errno();
	return rs_set_nonblocking(rs->channel->fd);
}

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
	rs->state = RS_CONNECTING;
	return 0;
}

static void connect_id(struct rsocket *rs)
{
	struct rdma_conn_param param;
	struct rs_conn_data data;
	int err = rs_setup(rs);

	if (!err) {
		param = rs_setup_param(rs, &data);
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

/* The positive errno of an event that reports a failure. */
static int event_error(const struct rdma_cm_event *event)
{
	int status = event->status < 0 ? -event->status : event->status;

	switch ((int)event->event) {
	case RDMA_CM_EVENT_REJECTED: return ECONNREFUSED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL: return ENODEV;
	case RDMA_CM_EVENT_UNREACHABLE: return status ? status : ETIMEDOUT;
	default: return status ? status : ECONNABORTED;
	}
}

/* An event of an rsocket that connects or is connected. */
static void own_event(struct rsocket *rs, const struct rdma_cm_event *event)
{
	bool is_connected = rs->state == RS_CONNECTED;

	switch ((int)event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(rs->id, RESOLVE_TIMEOUT_MS))
			fail(rs, rcm_errno());
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED: connect_id(rs); break;
	case RDMA_CM_EVENT_ESTABLISHED: establish(rs, event); break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (is_connected)
			disconnect(rs);
		else
			fail(rs, ECONNRESET);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (is_connected)
			rs_queue_lost(rs, event_error(event));
		else
			fail(rs, event_error(event));
		break;
	default: break;
	}
}

static void drop(struct rsocket *child)
{
	rs_connection_free(child);
	rs_put(child);
}

static int accept_id(struct rsocket *child, const struct rdma_conn_param *request)
{
	struct rdma_conn_param param;
	struct rs_conn_data data;
	int err = rs_setup(child);

	if (err)
		return err;
	if (!rs_setup_peer(child, request))
		return EPROTO;
	param = rs_setup_param(child, &data);
	return rdma_accept(child->id, &param) ? rcm_errno() : 0;
}

static void request(struct rsocket *listener, const struct rdma_cm_event *event)
{
	struct rsocket *child = rs_new(listener->domain);

	if (!child) {
		rdma_reject(event->id, NULL, 0);
		rdma_destroy_id(event->id);
		return;
	}
	child->options = listener->options;
	child->state = RS_CONNECTING;
	child->id = event->id;
	child->id->context = child;
	if (accept_id(child, &event->param.conn)) {
		rdma_reject(child->id, NULL, 0);
		drop(child);
		return;
	}
	DL_APPEND(listener->accepting, child);
}

/* The id gets a channel of its own. 0 or a positive errno. */
static int separate(struct rsocket *child)
{
	int err = rs_channel_create(child);

	if (err)
		return err;
	return rdma_migrate_id(child->id, child->channel) ? rcm_errno() : 0;
}

/* An event of a connection that the listener accepts. The event has been acknowledged; copy. */
static void child_event(struct rsocket *listener, struct rsocket *child,
			const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		return;
	DL_DELETE(listener->accepting, child);
	if (event->event != RDMA_CM_EVENT_ESTABLISHED || separate(child)) {
		drop(child);
		return;
	}
	child->state = RS_CONNECTED;
	DL_APPEND(listener->accepted, child);
	listener->edges.in++;
}

/* The event is acknowledged before an id that it counts for ends or moves. */
static void handle_event(struct rsocket *rs, struct rdma_cm_event *event)
{
	struct rdma_cm_event copy = *event;
	struct rsocket *of = event->id->context;

	if (of == rs && event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		request(rs, event);
		rdma_ack_cm_event(event);
	} else if (of == rs) {
		own_event(rs, event);
		rdma_ack_cm_event(event);
	} else {
		rdma_ack_cm_event(event);
		child_event(rs, of, &copy);
	}
}

/* No event can be read: ENODEV, the device server has exited, which was the connection manager;
 * ENOMEM, an event is lost, and a listener goes on with the next one. */
static void lose_events(struct rsocket *rs, int err)
{
	if (rs->state == RS_LISTENING) {
		rs->end.receiving |= err != ENOMEM;
	} else if (rs->state == RS_CONNECTED) {
		rs_queue_lost(rs, err);
	} else if (rs->state == RS_CONNECTING) {
		rs->state = RS_FAILED;
		rs->err = err;
	}
}

void rs_connection_events(struct rsocket *rs)
{
	struct rdma_cm_event *event;

	if (!rs->channel)
		return;
	while (!rdma_get_cm_event(rs->channel, &event))
		handle_event(rs, event);
	if (errno != EAGAIN && errno != EINTR)
		lose_events(rs, errno);
}

static void free_list(struct rsocket **list)
{
	struct rsocket *child;

	while (*list) {
		child = *list;
		DL_DELETE(*list, child);
		drop(child);
	}
}

void rs_connection_free(struct rsocket *rs)
{
	free_list(&rs->accepting);
	free_list(&rs->accepted);
	if (rs->state == RS_CONNECTED)
		rdma_disconnect(rs->id);
	rs_setup_free(rs);
	if (rs->fd >= 0)
		close(rs->fd);
	if (rs->id)
		rdma_destroy_id(rs->id);
	if (rs->channel)
		rdma_destroy_event_channel(rs->channel);
	rs->id = NULL;
	rs->channel = NULL;
	rs->fd = -1;
	rs->state = RS_CLOSED;
}
