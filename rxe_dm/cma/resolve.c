// SPDX-License-Identifier: MIT
/* Addresses of an id: bind, resolve address, resolve route, listen, join a group. A device is
 * chosen as Linux does: by the source address, else by the source address that the host's routes
 * choose. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rxe_dm/cma/emit.h"
#include "rxe_dm/cma/port.h"
#include "rxe_dm/cma/query.h"

#define FLOW_LABEL_MASK 0xfffffu

static bool find_device(const struct cma_ids *ids, const struct gid *gid, uint32_t *ret)
{
	for (uint32_t i = 0; i < ids->num_devices; i++) {
		if (gid_equal(&ids->device[i].gid, gid)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool is_v4(const struct endpoint *endpoint)
{
	return endpoint->family == AF_INET || gid_is_v4(&endpoint->address);
}

/* The first device with addresses of a kind, and with routes of its own if those are needed. */
static bool find_kind(const struct cma_ids *ids, bool v4, bool needs_routes, uint32_t *ret)
{
	for (uint32_t i = 0; i < ids->num_devices; i++) {
		const struct cma_device *device = &ids->device[i];

		if (gid_is_v4(&device->gid) == v4 && (device->own_routes || !needs_routes)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* Binds to a device, unless the address is the wildcard. */
static int bind_device(struct cma_id *id, const struct endpoint *local)
{
	const struct cma_ids *ids = id->ids;
	uint32_t device;

	if (endpoint_is_any(local))
		return 0;
	if (!find_device(ids, &local->address, &device))
		return ids->ops->has_address(ids->host, &local->address) ? -ENODEV : -EADDRNOTAVAIL;
	cma_id_set_device(id, device);
	return 0;
}

/* As in Linux, a loopback address means any address of this host. Not so where a device has one:
 * each instance of this host has its own then. */
static void widen_loopback(const struct cma_ids *ids, struct endpoint *endpoint)
{
	if (!gid_is_loopback(&endpoint->address))
		return;
	for (uint32_t i = 0; i < ids->num_devices; i++) {
		if (gid_is_loopback(&ids->device[i].gid))
			return;
	}
	endpoint->address = endpoint_any(endpoint->family).address;
}

static int bind_endpoint(struct cma_id *id, const struct endpoint *local)
{
	int rc = bind_device(id, local);

	if (rc)
		return rc;
	id->local = *local;
	if (!id->af_only_set)
		id->af_only = local->family == AF_INET;
	rc = cma_port_take(id, local->port);
	if (rc) {
		id->local = (struct endpoint){ 0 };
		id->has_device = false;
		return rc;
	}
	id->remote = endpoint_any(local->family);
	id->state = ID_BOUND;
	return 0;
}

int cma_id_bind(struct cma_id *id, const union ctl_cm_sockaddr *addr)
{
	struct endpoint local;
	int rc = endpoint_parse(&local, addr);

	if (rc)
		return rc;
	widen_loopback(id->ids, &local);
	return id->state == ID_IDLE ? bind_endpoint(id, &local) : -EINVAL;
}

static int choose_by_route(const struct cma_ids *ids, const struct endpoint *dst, uint32_t *ret)
{
	struct gid src;
	int rc = ids->ops->route(ids->host, &dst->address, dst->scope_id, &src);

	if (rc == 0 && find_device(ids, &src, ret))
		return 0;
	if (find_kind(ids, is_v4(dst), rc != 0, ret))
		return 0;
	return rc ? rc : -ENODEV;
}

/* The device is bound: only the destination can be wrong. Packets for a group leave by the device's
 * interface, without a route. */
static int check_route(const struct cma_id *id, const struct endpoint *dst)
{
	const struct cma_ids *ids = id->ids;
	const struct cma_device *device = &ids->device[id->device];
	struct gid src;

	if (gid_is_v4(&device->gid) != is_v4(dst))
		return -ENODEV;
	if (device->own_routes || gid_is_multicast(&dst->address))
		return 0;
	return ids->ops->route(ids->host, &dst->address, dst->scope_id, &src);
}

/* Packets from a loopback address do not leave the host. Groups also have members there. */
static bool reaches(const struct cma_ids *ids, const struct cma_device *device,
		    const struct gid *dst)
{
	return !gid_is_loopback(&device->gid) || device->own_routes || gid_is_loopback(dst) ||
	       gid_is_multicast(dst) || ids->ops->has_address(ids->host, dst);
}

static int choose_device(struct cma_id *id, struct endpoint *dst, uint32_t *ret)
{
	const struct cma_ids *ids = id->ids;
	uint32_t there;
	int rc;

	if (id->has_device)
		*ret = id->device;
	/* The wildcard address as destination means this host: any device of the family. */
	if (endpoint_is_any(dst)) {
		if (!id->has_device && !find_kind(ids, id->local.family == AF_INET, false, ret))
			return -ENODEV;
		dst->address = ids->device[*ret].gid;
		return 0;
	}
	if (find_device(ids, &dst->address, &there)) {
		if (!id->has_device)
			*ret = there;
		return 0;
	}
	rc = id->has_device ? check_route(id, dst) : choose_by_route(ids, dst, ret);
	if (rc)
		return rc;
	return reaches(ids, &ids->device[*ret], &dst->address) ? 0 : -ENODEV;
}

/* Devices of this instance reach each other. */
static int ask_neighbor(struct cma_id *id, uint32_t device, const struct endpoint *dst)
{
	const struct cma_ids *ids = id->ids;
	uint32_t there;

	return find_device(ids, &dst->address, &there)
		       ? 0
		       : ids->ops->neighbor(ids->host, id, device, &dst->address);
}

static void resolve(struct cma_id *id, struct endpoint *dst)
{
	uint32_t device = 0;
	int rc = choose_device(id, dst, &device);

	id->remote = *dst;
	if (rc) {
		cma_id_emit_status(id, CTL_CM_EVENT_ADDR_ERROR, rc);
		return;
	}
	id->query_binds = !id->has_device;
	cma_id_set_device(id, device);
	id->local.address = id->ids->device[device].gid;
	id->state = ID_ADDR_QUERY;
	rc = ask_neighbor(id, device, dst);
	if (rc != -EINPROGRESS)
		cma_id_neighbor(id, rc);
}

void cma_id_neighbor(struct cma_id *id, int status)
{
	if (id->state != ID_ADDR_QUERY)
		return;
	if (status == 0) {
		id->state = ID_ADDR_RESOLVED;
		cma_id_emit_status(id, CTL_CM_EVENT_ADDR_RESOLVED, 0);
		return;
	}
	id->state = ID_BOUND;
	if (id->query_binds) {
		id->has_device = false;
		id->local.address = endpoint_any(id->local.family).address;
	}
	cma_id_emit_status(id, CTL_CM_EVENT_ADDR_ERROR, status);
}

int cma_id_resolve_addr(struct cma_id *id, const union ctl_cm_sockaddr *src,
			const union ctl_cm_sockaddr *dst)
{
	struct endpoint local, remote;
	int rc = endpoint_parse(&remote, dst);

	if (rc)
		return rc;
	widen_loopback(id->ids, &remote);
	if (id->state == ID_IDLE) {
		local = endpoint_any(remote.family);
		if (src->any.sa_family != AF_UNSPEC)
			rc = endpoint_parse(&local, src);
		widen_loopback(id->ids, &local);
		if (rc == 0)
			rc = bind_endpoint(id, &local);
	}
	if (rc)
		return rc;
	if (id->state != ID_BOUND || id->local.family != remote.family)
		return -EINVAL;
	resolve(id, &remote);
	return 0;
}

int cma_id_resolve_route(struct cma_id *id)
{
	if (id->state != ID_ADDR_RESOLVED)
		return -EINVAL;
	id->num_paths = 1;
	id->dgid = id->remote.address;
	id->flow_label = id->ids->ops->random(id->ids->host) & FLOW_LABEL_MASK;
	id->state = ID_ROUTE_RESOLVED;
	cma_id_emit_status(id, CTL_CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

int cma_id_listen(struct cma_id *id, uint32_t backlog)
{
	const struct endpoint any = endpoint_any(AF_INET);
	int rc = id->state == ID_IDLE ? bind_endpoint(id, &any) : 0;

	if (rc)
		return rc;
	if (id->state != ID_BOUND)
		return -EINVAL;
	rc = cma_port_listen(id);
	if (rc)
		return rc;
	id->backlog = backlog > 0 && backlog < CMA_MAX_BACKLOG ? backlog : CMA_MAX_BACKLOG;
	id->state = ID_LISTEN;
	return 0;
}

static void report_join(struct cma_id *id, const struct cma_membership *membership,
			const struct gid *group)
{
	struct ctl_cm_event event = {
		.event = CTL_CM_EVENT_MULTICAST_JOIN,
		.mc_token = membership->token,
		.conn = { .qpn = CMA_MCAST_QPN, .qkey = id->qkey ? id->qkey : CTL_CM_UDP_QKEY },
	};

	cma_id_fill_ah(id, &event.ah);
	event.ah.dgid = *group;
	event.ah.flow_label = 0;
	cma_id_emit(id, &event);
}

static int check_join(const struct cma_id *id, const struct endpoint *group)
{
	if (id->state != ID_BOUND && id->state != ID_ADDR_RESOLVED)
		return -EINVAL;
	if (!id->has_device || !cma_id_is_datagram(id) || !gid_is_multicast(&group->address))
		return -EINVAL;
	return gid_is_v4(&group->address) == gid_is_v4(&id->ids->device[id->device].gid) ? 0
											 : -EINVAL;
}

int cma_id_join(struct cma_id *id, const union ctl_cm_sockaddr *group, uint64_t token,
		uint32_t *ret_membership)
{
	struct cma_membership *membership;
	struct endpoint endpoint;
	int rc = endpoint_parse(&endpoint, group);

	if (rc == 0)
		rc = check_join(id, &endpoint);
	if (rc)
		return rc;
	membership = (struct cma_membership *)calloc(1, sizeof(*membership));
	if (!membership)
		return -ENOMEM;
	membership->handle = ++id->last_membership;
	membership->token = token;
	DL_APPEND(id->memberships, membership);
	report_join(id, membership, &endpoint.address);
	*ret_membership = membership->handle;
	return 0;
}

int cma_id_leave(struct cma_id *id, uint32_t handle, uint64_t *ret_token)
{
	struct cma_membership *membership;

	DL_FOREACH (id->memberships, membership) {
		if (membership->handle == handle)
			break;
	}
	if (!membership)
		return -EINVAL;
	*ret_token = membership->token;
	DL_DELETE(id->memberships, membership);
	free(membership);
	return 0;
}
