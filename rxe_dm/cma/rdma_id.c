// SPDX-License-Identifier: MIT
/* The table of ids: creation, end, lookup, options, and events. */
#include "rxe_dm/cma/rdma_id.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rxe_dm/cma/private.h"

static void cm_sends(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	const struct rdma_ids *ids = (const struct rdma_ids *)host;

	ids->ops->send(ids->host, path, mad);
}

static uint32_t cm_draws(void *host)
{
	const struct rdma_ids *ids = (const struct rdma_ids *)host;

	return ids->ops->random(ids->host);
}

static const struct cm_ops cm_ops = {
	.send = cm_sends,
	.event = rdma_cm_event,
	.random = cm_draws,
};

struct rdma_ids *rdma_ids_new(const struct rdma_ids_cfg *cfg)
{
	struct rdma_ids *ids = (struct rdma_ids *)calloc(1, sizeof(*ids));
	/* Each connection has an id of ours; ports have listeners too. */
	struct cm_cfg cm_cfg = { .ops = &cm_ops, .host = ids, .max_ids = 2 * cfg->max_ids };

	if (!ids)
		return NULL;
	ids->ops = cfg->ops;
	ids->host = cfg->host;
	ids->max_ids = cfg->max_ids;
	ids->last_handle = ids->ops->random(ids->host) & 0xffffff;
	ids->cm = cm_new(&cm_cfg);
	if (!ids->cm) {
		free(ids);
		return NULL;
	}
	return ids;
}

void rdma_ids_add_device(struct rdma_ids *ids, const struct rdma_device *device)
{
	assert(ids->num_devices < RDMA_MAX_DEVICES);
	ids->device[ids->num_devices++] = *device;
}

static void forget_memberships(struct rdma_id *id)
{
	struct rdma_membership *membership, *next;

	DL_FOREACH_SAFE (id->memberships, membership, next) {
		DL_DELETE(id->memberships, membership);
		free(membership);
	}
}

void rdma_id_set_channel(struct rdma_id *id, void *channel, uint32_t *count)
{
	struct rdma_id_user *user = &id->user;

	if (user->channel_ids)
		--*user->channel_ids;
	if (count)
		++*count;
	user->channel = channel;
	user->channel_ids = count;
}

static void release(struct rdma_id *id)
{
	rdma_id_set_channel(id, NULL, NULL);
	rdma_port_release(id);
	forget_memberships(id);
	HASH_DEL(id->ids->by_handle, id);
	free(id);
}

void rdma_id_destroy(struct rdma_id *id, uint64_t now_ns)
{
	if (id->cm)
		cm_id_destroy(id->cm, now_ns);
	id->cm = NULL;
	release(id);
}

void rdma_ids_free(struct rdma_ids *ids)
{
	struct rdma_id *id, *next;

	cm_free(ids->cm);
	for (struct rdma_port *port = ids->ports; port; port = (struct rdma_port *)port->hh.next)
		port->listener = NULL;
	HASH_ITER (hh, ids->by_handle, id, next) {
		id->cm = NULL;
		release(id);
	}
	assert(!ids->ports);
	free(ids);
}

void rdma_ids_input(struct rdma_ids *ids, const struct cm_path *path,
		    const uint8_t mad[CM_MAD_BYTES], uint64_t now_ns)
{
	ids->now_ns = now_ns;
	cm_input(ids->cm, path, mad, now_ns);
}

uint64_t rdma_ids_deadline(const struct rdma_ids *ids)
{
	return cm_deadline(ids->cm);
}

void rdma_ids_expire(struct rdma_ids *ids, uint64_t now_ns)
{
	ids->now_ns = now_ns;
	cm_expire(ids->cm, now_ns);
}

static uint32_t next_handle(struct rdma_ids *ids)
{
	do {
		ids->last_handle++;
	} while (!ids->last_handle || rdma_id_find(ids, ids->last_handle));
	return ids->last_handle;
}

struct rdma_id *rdma_id_new(struct rdma_ids *ids, uint32_t port_space, uint32_t qp_type)
{
	struct rdma_id *id;

	if (HASH_COUNT(ids->by_handle) >= ids->max_ids)
		return NULL;
	id = (struct rdma_id *)calloc(1, sizeof(*id));
	if (!id)
		return NULL;
	id->ids = ids;
	id->handle = next_handle(ids);
	id->port_space = port_space;
	id->qp_type = qp_type;
	id->psn = ids->ops->random(ids->host) & 0xffffff;
	id->hop_limit = RDMA_HOP_LIMIT;
	HASH_ADD(hh, ids->by_handle, handle, sizeof(id->handle), id);
	return id;
}

/* The type of queue pair that a port space has; 0: an unknown port space, or a type that the
 * connection manager does not connect. */
static uint32_t qp_type_of(uint32_t port_space, uint32_t qp_type)
{
	switch ((enum rcm_port_space)port_space) {
	case RCM_PS_TCP: return IBV_QPT_RC;
	case RCM_PS_UDP:
	case RCM_PS_IPOIB: return IBV_QPT_UD;
	case RCM_PS_IB: return qp_type;
	}
	return 0;
}

int rdma_id_create(struct rdma_ids *ids, uint32_t port_space, uint32_t qp_type,
		   const struct rdma_id_user *user, struct rdma_id **ret)
{
	struct rdma_id *id;

	qp_type = qp_type_of(port_space, qp_type);
	if (!qp_type)
		return -EINVAL;
	id = rdma_id_new(ids, port_space, qp_type);
	if (!id)
		return -ENOMEM;
	id->user = *user;
	id->user.channel_ids = NULL;
	rdma_id_set_channel(id, user->channel, user->channel_ids);
	*ret = id;
	return 0;
}

struct rdma_id *rdma_id_find(const struct rdma_ids *ids, uint32_t handle)
{
	struct rdma_id *id;

	HASH_FIND(hh, ids->by_handle, &handle, sizeof(handle), id);
	return id;
}

struct rdma_id *rdma_id_next(const struct rdma_ids *ids, const struct rdma_id *id)
{
	return id ? (struct rdma_id *)id->hh.next : ids->by_handle;
}

uint32_t rdma_id_handle(const struct rdma_id *id)
{
	return id->handle;
}

struct rdma_id_user *rdma_id_user(struct rdma_id *id)
{
	return &id->user;
}

void rdma_id_set_device(struct rdma_id *id, uint32_t device)
{
	assert(device < id->ids->num_devices);
	id->has_device = true;
	id->device = device;
	id->path_mtu = id->ids->device[device].mtu;
}

void rdma_id_emit(struct rdma_id *id, struct ctl_cm_event *event)
{
	if (!id->user.token)
		return;
	event->id = id->handle;
	event->token = id->user.token;
	if (event->event != RCM_EVENT_CONNECT_REQUEST) {
		rdma_id_query(id, &event->addr);
		rdma_id_all_attr(id, &event->attr);
	}
	id->ids->ops->event(id->ids->host, id, event);
}

void rdma_id_emit_status(struct rdma_id *id, enum rcm_event type, int status)
{
	struct ctl_cm_event event = { .event = type, .status = status };

	rdma_id_emit(id, &event);
}

void rdma_ids_device_event(struct rdma_ids *ids, uint32_t device, uint32_t type)
{
	struct rdma_id *id, *next;

	HASH_ITER (hh, ids->by_handle, id, next) {
		if (id->has_device && id->device == device)
			rdma_id_emit_status(id, (enum rcm_event)type, 0);
	}
}

#define MAX_ACK_TIMEOUT 31

static int set_reuse_address(struct rdma_id *id, bool reuse)
{
	if (id->state != ID_IDLE && (!reuse || id->state == ID_LISTEN))
		return -EINVAL;
	id->reuse_address = reuse;
	return 0;
}

static int set_af_only(struct rdma_id *id, bool only)
{
	if (id->state != ID_IDLE && id->state != ID_BOUND)
		return -EINVAL;
	id->af_only = only;
	id->af_only_set = true;
	return 0;
}

static int set_ack_timeout(struct rdma_id *id, uint8_t timeout)
{
	if (timeout > MAX_ACK_TIMEOUT ||
	    (id->qp_type != IBV_QPT_RC && id->qp_type != IBV_QPT_XRC_SEND))
		return -EINVAL;
	id->ack_timeout = timeout;
	id->has_ack_timeout = true;
	return 0;
}

int rdma_id_set_option(struct rdma_id *id, uint32_t level, uint32_t name, const void *value,
		       size_t len)
{
	const bool is_flag = name == RCM_OPTION_ID_REUSEADDR || name == RCM_OPTION_ID_AFONLY;
	uint8_t byte = 0;
	int flag = 0;

	if (level != RCM_OPTION_ID || name > RCM_OPTION_ID_ACK_TIMEOUT)
		return -ENOSYS;
	if (len != (is_flag ? sizeof(flag) : sizeof(byte)))
		return -EINVAL;
	memcpy(is_flag ? (void *)&flag : (void *)&byte, value, len);
	switch ((enum rcm_option)name) {
	case RCM_OPTION_ID_TOS: id->traffic_class = byte; break;
	case RCM_OPTION_ID_REUSEADDR: return set_reuse_address(id, flag != 0);
	case RCM_OPTION_ID_AFONLY: return set_af_only(id, flag != 0);
	case RCM_OPTION_ID_ACK_TIMEOUT: return set_ack_timeout(id, byte);
	}
	return 0;
}
