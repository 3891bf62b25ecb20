// SPDX-License-Identifier: MIT
/* The table of ids: creation, lookup, options. */
#include "rxe_dm/cma/id.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void cma_id_set_channel(struct cma_id *id, void *channel, uint32_t *count)
{
	struct cma_id_user *user = &id->user;

	if (user->channel_ids)
		--*user->channel_ids;
	if (count)
		++*count;
	user->channel = channel;
	user->channel_ids = count;
}

static uint32_t next_handle(struct cma_ids *ids)
{
	do {
		ids->last_handle++;
	} while (!ids->last_handle || cma_id_find(ids, ids->last_handle));
	return ids->last_handle;
}

struct cma_id *cma_id_new(struct cma_ids *ids, uint32_t port_space, uint32_t qp_type)
{
	struct cma_id *id;

	if (HASH_COUNT(ids->by_handle) >= ids->max_ids)
		return NULL;
	id = (struct cma_id *)calloc(1, sizeof(*id));
	if (!id)
		return NULL;
	id->ids = ids;
	id->handle = next_handle(ids);
	id->port_space = port_space;
	id->qp_type = qp_type;
	id->psn = ids->ops->random(ids->host) & 0xffffff;
	id->hop_limit = CMA_HOP_LIMIT;
	HASH_ADD(hh, ids->by_handle, handle, sizeof(id->handle), id);
	return id;
}

/* The type of queue pair that a port space has; 0: an unknown port space, or a type that the
 * connection manager does not connect. */
static uint32_t qp_type_of(uint32_t port_space, uint32_t qp_type)
{
	switch ((enum ctl_cm_port_space)port_space) {
	case CTL_CM_PS_TCP: return IBV_QPT_RC;
	case CTL_CM_PS_UDP:
	case CTL_CM_PS_IPOIB: return IBV_QPT_UD;
	case CTL_CM_PS_IB: return qp_type;
	}
	return 0;
}

int cma_id_create(struct cma_ids *ids, uint32_t port_space, uint32_t qp_type,
		  const struct cma_id_user *user, struct cma_id **ret)
{
	struct cma_id *id;

	qp_type = qp_type_of(port_space, qp_type);
	if (!qp_type)
		return -EINVAL;
	id = cma_id_new(ids, port_space, qp_type);
	if (!id)
		return -ENOMEM;
	id->user = *user;
	id->user.channel_ids = NULL;
	cma_id_set_channel(id, user->channel, user->channel_ids);
	*ret = id;
	return 0;
}

struct cma_id *cma_id_find(const struct cma_ids *ids, uint32_t handle)
{
	struct cma_id *id;

	HASH_FIND(hh, ids->by_handle, &handle, sizeof(handle), id);
	return id;
}

struct cma_id *cma_id_next(const struct cma_ids *ids, const struct cma_id *id)
{
	return id ? (struct cma_id *)id->hh.next : ids->by_handle;
}

uint32_t cma_id_handle(const struct cma_id *id)
{
	return id->handle;
}

struct cma_id_user *cma_id_user(struct cma_id *id)
{
	return &id->user;
}

void cma_id_set_device(struct cma_id *id, uint32_t device)
{
	assert(device < id->ids->num_devices);
	id->has_device = true;
	id->device = device;
	id->path_mtu = id->ids->device[device].mtu;
}

#define MAX_ACK_TIMEOUT 31

static int set_reuse_address(struct cma_id *id, bool reuse)
{
	if (id->state != ID_IDLE && (!reuse || id->state == ID_LISTEN))
		return -EINVAL;
	id->reuse_address = reuse;
	return 0;
}

static int set_af_only(struct cma_id *id, bool only)
{
	if (id->state != ID_IDLE && id->state != ID_BOUND)
		return -EINVAL;
	id->af_only = only;
	id->af_only_set = true;
	return 0;
}

static int set_ack_timeout(struct cma_id *id, uint8_t timeout)
{
	if (timeout > MAX_ACK_TIMEOUT ||
	    (id->qp_type != IBV_QPT_RC && id->qp_type != IBV_QPT_XRC_SEND))
		return -EINVAL;
	id->ack_timeout = timeout;
	id->has_ack_timeout = true;
	return 0;
}

int cma_id_set_option(struct cma_id *id, uint32_t level, uint32_t name, const void *value,
		      size_t len)
{
	const bool is_flag = name == CTL_CM_OPTION_ID_REUSEADDR || name == CTL_CM_OPTION_ID_AFONLY;
	uint8_t byte = 0;
	int flag = 0;

	if (level != CTL_CM_OPTION_ID || name > CTL_CM_OPTION_ID_ACK_TIMEOUT)
		return -ENOSYS;
	if (len != (is_flag ? sizeof(flag) : sizeof(byte)))
		return -EINVAL;
	memcpy(is_flag ? (void *)&flag : (void *)&byte, value, len);
	switch ((enum ctl_cm_option)name) {
	case CTL_CM_OPTION_ID_TOS: id->traffic_class = byte; break;
	case CTL_CM_OPTION_ID_REUSEADDR: return set_reuse_address(id, flag != 0);
	case CTL_CM_OPTION_ID_AFONLY: return set_af_only(id, flag != 0);
	case CTL_CM_OPTION_ID_ACK_TIMEOUT: return set_ack_timeout(id, byte);
	}
	return 0;
}
