// SPDX-License-Identifier: MIT
/* The ids of an instance: their beginning and end, messages and the time, devices. */
#include <assert.h>
#include <stdlib.h>

#include "rxe_dm/cma/emit.h"
#include "rxe_dm/cma/event.h"
#include "rxe_dm/cma/port.h"

static void cm_sends(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	const struct cma_ids *ids = (const struct cma_ids *)host;

	ids->ops->send(ids->host, path, mad);
}

static uint32_t cm_draws(void *host)
{
	const struct cma_ids *ids = (const struct cma_ids *)host;

	return ids->ops->random(ids->host);
}

/* The user of an end is an id, that of a listener is a port. */
static bool is_stopped(void *host, void *user, bool is_listener)
{
	const struct cma_ids *ids = (const struct cma_ids *)host;

	if (!user || !ids->ops->is_stopped)
		return false;
	return is_listener ? cma_port_is_stopped((const struct cma_port *)user)
			   : ids->ops->is_stopped(ids->host, (struct cma_id *)user);
}

static bool has_stopped(void *host, const struct gid *address)
{
	const struct cma_ids *ids = (const struct cma_ids *)host;

	return ids->ops->has_stopped && ids->ops->has_stopped(ids->host, address);
}

static const struct cm_ops cm_ops = {
	.send = cm_sends,
	.event = cma_cm_event,
	.random = cm_draws,
	.is_stopped = is_stopped,
	.has_stopped = has_stopped,
};

struct cma_ids *cma_ids_new(const struct cma_ids_cfg *cfg)
{
	struct cma_ids *ids = (struct cma_ids *)calloc(1, sizeof(*ids));
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

void cma_ids_add_device(struct cma_ids *ids, const struct cma_device *device)
{
	assert(ids->num_devices < CMA_MAX_DEVICES);
	ids->device[ids->num_devices++] = *device;
}

static void forget_memberships(struct cma_id *id)
{
	struct cma_membership *membership, *next;

	DL_FOREACH_SAFE (id->memberships, membership, next) {
		DL_DELETE(id->memberships, membership);
		free(membership);
	}
}

static void release(struct cma_id *id)
{
	cma_id_set_channel(id, NULL, NULL);
	cma_port_release(id);
	forget_memberships(id);
	HASH_DEL(id->ids->by_handle, id);
	free(id);
}

void cma_id_destroy(struct cma_id *id, uint64_t now_ns)
{
	if (id->cm)
		cm_id_destroy(id->cm, now_ns);
	id->cm = NULL;
	release(id);
}

void cma_ids_free(struct cma_ids *ids)
{
	struct cma_id *id, *next;

	cm_free(ids->cm);
	for (struct cma_port *port = ids->ports; port; port = (struct cma_port *)port->hh.next)
		port->listener = NULL;
	HASH_ITER (hh, ids->by_handle, id, next) {
		id->cm = NULL;
		release(id);
	}
	assert(!ids->ports);
	free(ids);
}

void cma_ids_input(struct cma_ids *ids, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES],
		   uint64_t now_ns)
{
	ids->now_ns = now_ns;
	cm_input(ids->cm, path, mad, now_ns);
}

uint64_t cma_ids_deadline(const struct cma_ids *ids)
{
	return cm_deadline(ids->cm);
}

void cma_ids_expire(struct cma_ids *ids, uint64_t now_ns)
{
	ids->now_ns = now_ns;
	cm_expire(ids->cm, now_ns);
}

void cma_ids_device_event(struct cma_ids *ids, uint32_t device, uint32_t type)
{
	struct cma_id *id, *next;

	HASH_ITER (hh, ids->by_handle, id, next) {
		if (id->has_device && id->device == device)
			cma_id_emit_status(id, (enum ctl_cm_event_type)type, 0);
	}
}
