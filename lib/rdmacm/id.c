// SPDX-License-Identifier: MIT
/* Ids: their life, and the events that count for them. */
#include "lib/rdmacm/id.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/control/cancel.h"
#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/server.h"

static pthread_mutex_t ids_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcm_id *ids; /* by token */
static struct rcm_id *not_removed;
static _Atomic uint32_t forks;

static_assert(offsetof(struct rcm_id, base) == 0, "NULL stays NULL");

struct rcm_id *rcm_id(struct rdma_cm_id *base)
{
	return container_of(base, struct rcm_id, base);
}

uint64_t rcm_token(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add(&last, 1) + 1;
}

uint32_t rcm_forks(void)
{
	return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* A child's first request makes a connection of its own (lib/control/connection.c), on which it has
 * neither channels nor ids. Locks may be held by threads that the child does not have. */
static void in_child(void)
{
	atomic_fetch_add(&forks, 1);
	rcm_server_forked();
	pthread_mutex_init(&ids_lock, NULL);
	ids = not_removed = NULL;
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

/* 0 or ENOMEM. */
static int add_id(struct rcm_id *id)
{
	pthread_mutex_lock(&ids_lock);
	HASH_ADD(hh, ids, token, sizeof(id->token), id);
	if (id->hh.tbl)
		DL_APPEND(not_removed, id);
	pthread_mutex_unlock(&ids_lock);
	return id->hh.tbl ? 0 : ENOMEM;
}

static void remove_id(struct rcm_id *id)
{
	pthread_mutex_lock(&ids_lock);
	if (id->hh.tbl) {
		HASH_DELETE(hh, ids, id);
		if (!id->is_removed)
			DL_DELETE(not_removed, id);
	}
	pthread_mutex_unlock(&ids_lock);
}

bool rcm_id_claim(const struct ctl_cm_event *event, struct rcm_claim *ret)
{
	struct rcm_id *id;
	bool is_known = false;

	*ret = (struct rcm_claim){ 0 };
	pthread_mutex_lock(&ids_lock);
	HASH_FIND(hh, ids, &event->token, sizeof(event->token), id);
	if (id) {
		pthread_mutex_lock(&id->lock);
		ret->id = id;
		ret->member = event->mc_token ? rcm_member_claim(id, event->mc_token) : NULL;
		is_known = !event->mc_token || ret->member;
		id->events.claimed += is_known;
		id->received++;
		pthread_mutex_unlock(&id->lock);
	}
	pthread_mutex_unlock(&ids_lock);
	return is_known;
}

bool rcm_id_claim_removal(const struct rcm_channel *channel, struct rcm_claim *ret, bool *ret_left)
{
	struct rcm_id *id = NULL, *other;

	*ret_left = false;
	pthread_mutex_lock(&ids_lock);
	DL_FOREACH (not_removed, other) {
		if (other->base.channel != &channel->base)
			continue;
		if (!id && other->device)
			id = other;
		else
			*ret_left = true;
		if (id && *ret_left)
			break;
	}
	if (id) {
		DL_DELETE(not_removed, id);
		pthread_mutex_lock(&id->lock);
		id->is_removed = true;
		id->events.claimed++;
		pthread_mutex_unlock(&id->lock);
		*ret = (struct rcm_claim){ .id = id };
	}
	pthread_mutex_unlock(&ids_lock);
	return id != NULL;
}

void rcm_id_ack(const struct rcm_claim *claim)
{
	pthread_mutex_lock(&claim->id->lock);
	if (claim->member)
		claim->member->events.acked++;
	claim->id->events.acked++;
	pthread_cond_broadcast(&claim->id->acknowledged);
	pthread_mutex_unlock(&claim->id->lock);
}

void rcm_id_await_acks(struct rcm_id *id, const struct rcm_events *events)
{
	pthread_mutex_lock(&id->lock);
	while (events->acked != events->claimed)
		pthread_cond_wait(&id->acknowledged, &id->lock);
	pthread_mutex_unlock(&id->lock);
}

static void free_id(struct rcm_id *id)
{
	if (id->sync && id->base.channel)
		rdma_destroy_event_channel(id->base.channel);
	rcm_members_free(id);
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

	if (!id)
		return NULL;
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

int rcm_id_ask(const struct rcm_id *id, struct ctl_msg_cm *req, struct ctl_msg_cm_reply *ret)
{
	/* An id of the parent of a fork() belongs to the parent's connection. */
	if (!id || id->forks != rcm_forks())
		return EINVAL;
	req->id = id->handle;
	return rcm_server_ask(rcm_channel(id->base.channel)->server, req, ret);
}

int rcm_id_call(struct rcm_id *id, struct ctl_msg_cm *req)
{
	int err = rcm_id_ask(id, req, NULL);

	return rcm_result(err ? err : rcm_id_finish(id));
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
		return EINVAL;
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
	err = add_id(id);
	if (!err)
		err = create_on_server(id);
	if (err) {
		remove_id(id);
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
		return rcm_result(EINVAL);
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
		return rcm_result(EINVAL);
	err = end_on_server(id);
	if (err)
		return rcm_result(err);
	if (id->forks == rcm_forks())
		remove_id(id);
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
	if (!base || (id->sync && !channel) || id->forks != rcm_forks())
		return rcm_result(EINVAL);
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
	err = add_id(id);
	if (!err && listener->sync)
		err = migrate(id, NULL);
	if (!err)
		err = rcm_address_fill(id, &event->addr);
	if (!err)
		return id;
	rdma_destroy_id(&id->base);
	return NULL;
}

void rcm_id_drop_event(struct rcm_id *id)
{
	struct rdma_cm_event *event = id->base.event;

	id->base.event = NULL;
	if (event)
		rdma_ack_cm_event(event);
}

int rcm_id_finish(struct rcm_id *id)
{
	int status;

	if (!id->sync)
		return 0;
	rcm_id_drop_event(id);
	if (rdma_get_cm_event(id->base.channel, &id->base.event))
		return rcm_errno();
	status = id->base.event->status;
	/* The event is not what the call waits for, though its status is 0. */
	if (id->base.event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return ENODEV;
	if (status && id->base.event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	return status < 0 ? -status : status;
}
