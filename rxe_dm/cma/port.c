// SPDX-License-Identifier: MIT
/* Ports. They belong to the instance, not to a device: ids of all programs and devices share the
 * ports of a port space. Two ids share one port only if their addresses differ, or if both said
 * so (CTL_CM_OPTION_ID_REUSEADDR). All listeners of a port share one service ID, hence one
 * listener of rxe_dm/cm; the endpoints in a connection request choose among them. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rxe_dm/cma/port.h"

#define FIRST_EPHEMERAL 32768u
#define NUM_EPHEMERAL	28232u /* up to 60999, Linux's default range */

static struct cma_port *find_port(const struct cma_ids *ids, uint32_t key)
{
	struct cma_port *port;

	HASH_FIND(hh, ids->ports, &key, sizeof(key), port);
	return port;
}

bool cma_ids_lack_listener(const struct cma_ids *ids, const uint8_t mad[CM_MAD_BYTES])
{
	const struct cma_port *port;
	struct cm_msg msg;
	uint64_t service_id;

	if (!cm_msg_parse(&msg, mad) || (msg.attr != CM_REQ && msg.attr != CM_SIDR_REQ))
		return false;
	service_id = msg.attr == CM_REQ ? msg.u.req.service_id : msg.u.sidr_req.service_id;
	port = service_id <= UINT32_MAX ? find_port(ids, (uint32_t)service_id) : NULL;
	return !port || !port->listener;
}

static int check_sharing(const struct cma_id *id, const struct cma_id *other, bool listening)
{
	if (!listening && id->reuse_address && other->reuse_address)
		return 0;
	if (id->af_only && other->af_only && id->local.family != other->local.family)
		return 0;
	if (endpoint_is_any(&id->local) || endpoint_is_any(&other->local) ||
	    gid_equal(&id->local.address, &other->local.address))
		return -EADDRINUSE;
	return 0;
}

/* listening: the id is about to listen, and only listeners count. */
static int check_port(const struct cma_port *port, const struct cma_id *id, bool listening)
{
	const struct cma_id *other;
	int rc;

	DL_FOREACH2(port->owners, other, port_next)
	{
		if (other == id || (listening && other->state != ID_LISTEN))
			continue;
		rc = check_sharing(id, other, listening);
		if (rc)
			return rc;
	}
	return 0;
}

static struct cma_port *new_port(struct cma_ids *ids, uint32_t key)
{
	struct cma_port *port = (struct cma_port *)calloc(1, sizeof(*port));

	if (port) {
		port->key = key;
		port->ids = ids;
		HASH_ADD(hh, ids->ports, key, sizeof(port->key), port);
	}
	return port;
}

static uint16_t choose_ephemeral(const struct cma_id *id)
{
	const uint32_t first = id->ids->ops->random(id->ids->host);

	for (uint32_t i = 0; i < NUM_EPHEMERAL; i++) {
		const uint32_t number = FIRST_EPHEMERAL + (first + i) % NUM_EPHEMERAL;

		if (!find_port(id->ids, id->port_space << 16 | number))
			return (uint16_t)number;
	}
	return 0;
}

int cma_port_take(struct cma_id *id, uint16_t number)
{
	struct cma_port *port;
	int rc;

	assert(!id->port);
	if (!number)
		number = choose_ephemeral(id);
	if (!number)
		return -EADDRNOTAVAIL;
	port = find_port(id->ids, id->port_space << 16 | number);
	rc = port ? check_port(port, id, false) : 0;
	if (rc)
		return rc;
	if (!port)
		port = new_port(id->ids, id->port_space << 16 | number);
	if (!port)
		return -ENOMEM;
	DL_APPEND2(port->owners, id, port_prev, port_next);
	id->port = port;
	id->local.port = number;
	return 0;
}

static void stop_listening(struct cma_port *port)
{
	assert(port->listeners > 0);
	if (--port->listeners == 0 && port->listener) {
		cm_id_destroy(port->listener, 0);
		port->listener = NULL;
	}
}

void cma_port_release(struct cma_id *id)
{
	struct cma_port *port = id->port;

	if (!port)
		return;
	if (id->state == ID_LISTEN)
		stop_listening(port);
	DL_DELETE2(port->owners, id, port_prev, port_next);
	id->port = NULL;
	if (port->owners)
		return;
	HASH_DEL(port->ids->ports, port);
	free(port);
}

static int open_listener(struct cma_port *port)
{
	int rc;

	port->listener = cm_id_create(port->ids->cm, port);
	if (!port->listener)
		return -ENOMEM;
	rc = cm_listen(port->listener, port->key, NULL, CM_ANY_DEVICE);
	if (rc == 0)
		return 0;
	cm_id_destroy(port->listener, 0);
	port->listener = NULL;
	return rc;
}

int cma_port_listen(struct cma_id *id)
{
	struct cma_port *port = id->port;
	int rc = check_port(port, id, true);

	if (rc == 0 && !port->listener)
		rc = open_listener(port);
	if (rc == 0)
		port->listeners++;
	return rc;
}

/* Wildcard listeners for IPv6 take IPv4 too, unless they are for one family only. */
static bool accepts(const struct cma_id *id, uint32_t device, const struct endpoint *local)
{
	if (id->has_device && id->device != device)
		return false;
	if (endpoint_is_any(&id->local))
		return id->local.family == local->family || !id->af_only;
	return id->local.family == local->family && gid_equal(&id->local.address, &local->address);
}

/* At most one listener fits: check_port() keeps others from sharing the port. */
struct cma_id *cma_port_match(const struct cma_port *port, uint32_t device,
			      const struct endpoint *local)
{
	struct cma_id *id;

	DL_FOREACH2(port->owners, id, port_next)
	if (id->state == ID_LISTEN && accepts(id, device, local))
		return id;
	return NULL;
}

bool cma_port_is_stopped(const struct cma_port *port)
{
	const struct cma_ids *ids = port->ids;
	struct cma_id *id;

	DL_FOREACH2(port->owners, id, port_next)
	if (id->state == ID_LISTEN && !ids->ops->is_stopped(ids->host, id))
		return false;
	return port->listeners > 0;
}
