// SPDX-License-Identifier: MIT
/* Ids: from their making to their end. */
#include "lib/rdmacm/life.h"

#include <stdlib.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/ack.h"
#include "lib/rdmacm/address.h"
#include "lib/rdmacm/ask.h"
#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/forks.h"
#include "lib/rdmacm/qp.h"
#include "lib/refusal/refusal.h"

static void free_members(struct rcm_id *id)
{
	struct rcm_member *member, *next;

	LL_FOREACH_SAFE (id->members, member, next)
		free(member);
	id->members = NULL;
}

static void free_id(struct rcm_id *id)
{
	if (id->sync && id->base.channel)
		rdma_destroy_event_channel(id->base.channel);
	free_members(id);
	if (id->resolved)
		rdma_freeaddrinfo(id->resolved);
	free(id->base.route.path_rec);
	free(id->connect_data);
	free(id->qp_init_attr);
	pthread_cond_destroy(&id->acknowledged);
	pthread_mutex_destroy(&id->lock);
	free(id);
}

/* channel NULL: one of its own. NULL, and errno. */
static struct rcm_id *new_id(struct rdma_event_channel *channel, void *context,
			     enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct rcm_id *id = calloc(1, sizeof(*id));

	if (!id) {
		refuse(WHY_NO_MEMORY, "the id");
		return NULL;
	}
	pthread_mutex_init(&id->lock, NULL);
	pthread_cond_init(&id->acknowledged, NULL);
	id->token = rcm_token();
	id->forks = rcm_forks();
	id->sync = !channel;
	id->base.channel = channel ? channel : rdma_create_event_channel();
	id->base.context = context;
	id->base.ps = ps;
	id->base.qp_type = qp_type;
	if (id->base.channel)
		return id;
	free_id(id);
	return NULL;
}

static int create_on_server(struct rcm_id *id)
{
	const struct rcm_channel *channel = rcm_channel(id->base.channel);
	const struct ctl_msg_cm req = {
		.op = CTL_CM_CREATE_ID,
		.channel = channel->handle,
		.token = id->token,
		.port_space = id->base.ps,
		.qp_type = id->base.qp_type,
	};
	struct ctl_msg_cm_reply reply;
	int err;

	if (channel->forks != rcm_forks())
		return refuse(WHY_INHERITED, "the channel");
	err = rcm_server_ask(channel->server, &req, &reply);
	if (!err)
		id->handle = reply.handle;
	return err;
}

int rcm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type, struct rcm_id **ret)
{
	struct rcm_id *id = new_id(channel, context, ps, qp_type);
	int err;

	if (!id)
		return rcm_errno();
	/* Before the server knows the token. */
	err = rcm_id_add(id);
	if (!err)
		err = create_on_server(id);
	if (err) {
		rcm_id_remove(id);
		free_id(id);
		return err;
	}
	*ret = id;
	return 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	bool is_datagram = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	struct rcm_id *made = NULL;
	int err;

	if (!id)
		return rcm_result(refuse(WHY_NULL, "id"));
	err = rcm_id_create(channel, context, ps, is_datagram ? IBV_QPT_UD : IBV_QPT_RC, &made);
	if (!err)
		*id = &made->base;
	return rcm_result(err);
}

/* sent: events that the server has put into the channel's socket, all that it ever will. */
static bool has_unread(struct rcm_id *id, uint32_t sent)
{
	bool ret;

	pthread_mutex_lock(&id->lock);
	ret = id->received != sent + id->added;
	pthread_mutex_unlock(&id->lock);
	return ret;
}

/* The server forgets the id, and its unread events go. */
static int end_on_server(struct rcm_id *id)
{
	struct ctl_msg_cm req = { .op = CTL_CM_DESTROY_ID };
	const struct rcm_wanted wanted = { .token = id->token };
	struct ctl_msg_cm_reply reply;
	int err = rcm_id_ask(id, &req, &reply);

	/* ENODEV: the id ended with the server. */
	if (err && err != ENODEV && id->forks == rcm_forks())
		return err;
	if (err || has_unread(id, reply.events))
		rcm_channel_drop(rcm_channel(id->base.channel), &wanted);
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *base)
{
	struct rcm_id *id = rcm_id(base);
	int err;
	NO_CANCEL;

	if (!base)
		return rcm_result(refuse(WHY_NULL, "id"));
	err = end_on_server(id);
	if (err)
		return rcm_result(err);
	if (id->forks == rcm_forks())
		rcm_id_remove(id);
	rcm_id_drop_event(id);
	rcm_id_await_acks(id, &id->events);
	free_id(id);
	return 0;
}

/* From its channel to another; channel NULL: one of its own. */
static int migrate(struct rcm_id *id, struct rdma_event_channel *channel)
{
	struct rdma_event_channel *before = id->base.channel;
	struct rdma_event_channel *to = channel ? channel : rdma_create_event_channel();
	struct ctl_msg_cm req = { .op = CTL_CM_MIGRATE, .id = id->handle, .token = id->token };
	int err;

	if (!to)
		return rcm_errno();
	req.channel = rcm_channel(to)->handle;
	err = rcm_channel_move(rcm_channel(before), rcm_channel(to), &req);
	if (err) {
		if (!channel)
			rdma_destroy_event_channel(to);
		return err;
	}
	rcm_id_drop_event(id);
	if (id->sync)
		rdma_destroy_event_channel(before);
	id->sync = !channel;
	id->base.channel = to;
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *base, struct rdma_event_channel *channel)
{
	struct rcm_id *id = rcm_id(base);
	int err;
	NO_CANCEL;

	/* A synchronous id has a channel of its own already. */
	if (refuse_if(!base, WHY_NULL, "id") || refuse_if(id->sync && !channel, WHY_CM_IS_SYNC) ||
	    refuse_if(id->forks != rcm_forks(), WHY_INHERITED, "the id"))
		return rcm_result(refusal_noted());
	err = migrate(id, channel);
	/* What was read from the old channel is the program's until acknowledged. */
	if (!err)
		rcm_id_await_acks(id, &id->events);
	return rcm_result(err);
}

struct rcm_id *rcm_id_of_request(struct rcm_id *listener, const struct ctl_cm_event *event)
{
	struct rcm_id *id = new_id(listener->base.channel, listener->base.context,
				   listener->base.ps, listener->base.qp_type);
	int err;

	if (!id) {
		rcm_channel_reject(rcm_channel(listener->base.channel), event);
		return NULL;
	}
	id->handle = event->new_id;
	id->initiator_depth = event->conn.initiator_depth;
	id->responder_resources = event->conn.responder_resources;
	id->remote_ece = (struct rcm_ece){ event->conn.ece_vendor, event->conn.ece_options };
	rcm_qp_keep_attr(id, &event->attr);
	err = rcm_id_add(id);
	if (!err && listener->sync)
		err = migrate(id, NULL);
	if (!err)
		err = rcm_address_fill(id, &event->addr);
	if (!err)
		return id;
	rdma_destroy_id(&id->base);
	return NULL;
}
