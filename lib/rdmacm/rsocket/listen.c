// SPDX-License-Identifier: MIT
/* The passive side. */
#include "lib/rdmacm/rsocket/listen.h"

#include <fcntl.h>
#include <utlist.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/setup.h"

static struct rsocket *new_child(struct rsocket *listener, struct rdma_cm_id *id)
{
	struct rsocket *child = rs_new(listener->domain);

	if (!child)
		return NULL;
	child->options = listener->options;
	child->state = RS_ACCEPTING;
	child->id = id;
	id->context = child;
	return child;
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

static void drop(struct rsocket *child)
{
	rs_destroy(child);
	rs_put(child);
}

void rs_listen_request(struct rsocket *listener, const struct rdma_cm_event *event)
{
	struct rsocket *child = new_child(listener, event->id);

	if (!child) {
		rdma_reject(event->id, NULL, 0);
		rdma_destroy_id(event->id);
		return;
	}
	if (accept_id(child, &event->param.conn)) {
		rdma_reject(child->id, NULL, 0);
		drop(child);
		return;
	}
	DL_APPEND(listener->accepting, child);
}

/* The id gets a channel of its own. */
static int separate(struct rsocket *child)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int err;

	if (!channel)
		return rcm_errno();
	if (fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK) ||
	    rdma_migrate_id(child->id, channel)) {
		err = rcm_errno();
		rdma_destroy_event_channel(channel);
		return err;
	}
	child->channel = channel;
	return 0;
}

void rs_listen_event(struct rsocket *listener, struct rsocket *child,
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

static void free_list(struct rsocket *list)
{
	struct rsocket *child;

	while (list) {
		child = list;
		DL_DELETE(list, child);
		drop(child);
	}
}

void rs_listen_free(struct rsocket *listener)
{
	free_list(listener->accepting);
	free_list(listener->accepted);
	listener->accepting = listener->accepted = NULL;
}
