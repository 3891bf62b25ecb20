// SPDX-License-Identifier: MIT
/* Binding to addresses and devices, resolving of addresses and routes. */
#include "lib/rdmacm/id.h"

#include <arpa/inet.h>
#include <infiniband/ib.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/explain.h"
#include "lib/rdmacm/server.h"

#define EXACTLY 2 /* selectors of a path record */

size_t rcm_address_len(const struct sockaddr *addr)
{
	if (addr && addr->sa_family == AF_INET)
		return sizeof(struct sockaddr_in);
	return addr && addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

int rcm_address_pack(union ctl_cm_sockaddr *ret, const struct sockaddr *addr)
{
	size_t len = rcm_address_len(addr);

	/* As Linux: no port of an Ethernet device has a native InfiniBand address. */
	if (addr && addr->sa_family == AF_IB)
		return ENODEV;
	if (!len)
		return EINVAL;
	memcpy(ret, addr, len);
	return 0;
}

static void unpack(struct sockaddr_storage *ret, const union ctl_cm_sockaddr *addr)
{
	size_t len = rcm_address_len(&addr->any);

	if (len)
		memcpy(ret, addr, len);
}

static int fill_path(struct rdma_route *route, const struct ctl_cm_addr *addr)
{
	struct ibv_sa_path_rec *path = route->path_rec;

	if (!path)
		path = calloc(1, sizeof(*path));
	if (!path)
		return ENOMEM;
	*path = (struct ibv_sa_path_rec){
		.flow_label = htonl(addr->flow_label),
		.hop_limit = addr->hop_limit,
		.traffic_class = addr->traffic_class,
		.reversible = 1,
		.numb_path = 1,
		.pkey = htons(addr->pkey),
		.sl = addr->sl,
		.mtu_selector = EXACTLY,
		.mtu = addr->mtu,
		.rate_selector = EXACTLY,
		.rate = addr->rate,
		.packet_life_time_selector = EXACTLY,
		.packet_life_time = addr->packet_life_time,
	};
	memcpy(&path->sgid, &addr->sgid, sizeof(path->sgid));
	memcpy(&path->dgid, &addr->dgid, sizeof(path->dgid));
	route->path_rec = path;
	route->num_paths = 1;
	return 0;
}

static int bind_to_device(struct rcm_id *id, const struct ctl_cm_addr *addr)
{
	int err =
		rcm_device_get(rcm_channel(id->base.channel)->server, addr->node_guid, &id->device);

	if (err)
		return err;
	id->base.verbs = id->device->verbs;
	id->base.pd = id->device->pd;
	id->base.port_num = (uint8_t)addr->port_num;
	id->base.route.addr.addr.ibaddr.pkey = htons(addr->pkey);
	return 0;
}

int rcm_address_fill(struct rcm_id *id, const struct ctl_cm_addr *addr)
{
	struct rdma_addr *ret = &id->base.route.addr;
	int err = 0;

	unpack(&ret->src_storage, &addr->local);
	unpack(&ret->dst_storage, &addr->remote);
	memcpy(&ret->addr.ibaddr.sgid, &addr->sgid, sizeof(addr->sgid));
	memcpy(&ret->addr.ibaddr.dgid, &addr->dgid, sizeof(addr->dgid));
	if (!id->device && addr->node_guid)
		err = bind_to_device(id, addr);
	if (!err && addr->num_paths)
		err = fill_path(&id->base.route, addr);
	return err;
}

static uint32_t at_least_0(int value)
{
	return value > 0 ? (uint32_t)value : 0;
}

/* A request whose reply has the id's addresses. */
static int ask_address(struct rcm_id *id, struct ctl_msg_cm *req)
{
	struct ctl_msg_cm_reply reply;
	int err = rcm_id_ask(id, req, &reply);

	return err ? err : rcm_address_fill(id, &reply.addr);
}

static void explain_source(const struct rdma_cm_id *base, const struct sockaddr *addr, int err)
{
	if (err && base && base->channel)
		rcm_explain_source(rcm_channel(base->channel)->server, addr, err);
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct ctl_msg_cm req = { .op = CTL_CM_BIND };
	int err = rcm_address_pack(&req.src, addr);

	if (!err) {
		err = ask_address(rcm_id(base), &req);
		explain_source(base, addr, err);
	}
	return rcm_result(err);
}

int rdma_listen(struct rdma_cm_id *base, int backlog)
{
	struct ctl_msg_cm req = { .op = CTL_CM_LISTEN, .backlog = at_least_0(backlog) };

	return rcm_result(ask_address(rcm_id(base), &req));
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *src, struct sockaddr *dst,
		      int timeout_ms)
{
	struct ctl_msg_cm req = { .op = CTL_CM_RESOLVE_ADDR, .timeout_ms = at_least_0(timeout_ms) };
	struct sockaddr_storage former;
	int err = rcm_address_pack(&req.dst, dst);

	if (!err && src)
		err = rcm_address_pack(&req.src, src);
	if (err || !base)
		return rcm_result(err ? err : EINVAL);

	/* Before the request: another thread may take the event before this call returns. */
	former = base->route.addr.dst_storage;
	memcpy(&base->route.addr.dst_storage, dst, rcm_address_len(dst));
	err = rcm_id_ask(rcm_id(base), &req, NULL);
	if (!err)
		return rcm_result(rcm_id_finish(rcm_id(base)));
	base->route.addr.dst_storage = former;
	if (src)
		explain_source(base, src, err);
	return rcm_result(err);
}

int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
	struct ctl_msg_cm req = { .op = CTL_CM_RESOLVE_ROUTE,
				  .timeout_ms = at_least_0(timeout_ms) };

	return rcm_id_call(rcm_id(base), &req);
}

int rdma_set_option(struct rdma_cm_id *base, int level, int name, void *value, size_t len)
{
	struct ctl_msg_cm req = {
		.op = CTL_CM_SET_OPTION,
		.level = (uint32_t)level,
		.name = (uint32_t)name,
		.option_len = (uint32_t)len,
	};
	struct rcm_id *id = rcm_id(base);

	if (!base || (len && !value) || len > sizeof(req.option))
		return rcm_result(EINVAL);
	id->asks_attr = true;
	id->attr.mask = 0;
	if (len)
		memcpy(req.option, value, len);
	return rcm_result(rcm_id_ask(id, &req, NULL));
}

static __be16 port_of(const struct sockaddr_storage *storage)
{
	union ctl_cm_sockaddr addr;

	memcpy(&addr, storage, sizeof(addr));
	if (addr.any.sa_family == AF_INET)
		return addr.in.sin_port;
	return addr.any.sa_family == AF_INET6 ? addr.in6.sin6_port : 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *base)
{
	return base ? port_of(&base->route.addr.src_storage) : 0;
}

__be16 rdma_get_dst_port(struct rdma_cm_id *base)
{
	return base ? port_of(&base->route.addr.dst_storage) : 0;
}
