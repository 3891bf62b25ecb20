// SPDX-License-Identifier: MIT
/* Progress of one rsocket. */
#include "lib/rdmacm/rsocket/progress.h"

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/connect.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/listen.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/waiter.h"

/* The event is acknowledged before an id that it counts for ends or moves. */
static void handle_event(struct rsocket *rs, struct rdma_cm_event *event)
{
	struct rdma_cm_event copy = *event;
	struct rsocket *of = event->id->context;

	if (of == rs && event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		rs_listen_request(rs, event);
		rdma_ack_cm_event(event);
	} else if (of == rs) {
		rs_connect_event(rs, event);
		rdma_ack_cm_event(event);
	} else {
		rdma_ack_cm_event(event);
		rs_listen_event(rs, of, &copy);
	}
}

/* The device server has exited, which was the connection manager. */
static void lose_server(struct rsocket *rs)
{
	if (rs->state == RS_LISTENING) {
		rs->end.receiving = true;
	} else if (rs->state == RS_CONNECTED) {
		rs_queue_lost(rs, ENODEV);
	} else if (rs_is_connecting(rs)) {
		rs->state = RS_FAILED;
		rs->err = ENODEV;
	}
}

static void handle_events(struct rsocket *rs)
{
	struct rdma_cm_event *event;

	while (rs->channel && !rdma_get_cm_event(rs->channel, &event))
		handle_event(rs, event);
	if (rs->channel && errno != EAGAIN && errno != EINTR)
		lose_server(rs);
}

void rs_progress(struct rsocket *rs)
{
	if (rs->state == RS_CONNECTED)
		rs_queue_progress(rs);
	else if (rs->state == RS_DATAGRAM)
		rs_datagram_progress(rs);
	rs_wake(rs);
}

void rs_progress_events(struct rsocket *rs)
{
	int saved = errno;

	if (rs->state == RS_DATAGRAM)
		rs_datagram_progress_events(rs);
	else if (rs->state != RS_NEW && rs->state != RS_CLOSED)
		handle_events(rs);
	rs_progress(rs);
	errno = saved;
}
