// SPDX-License-Identifier: MIT
/* Binding to addresses and devices, resolving of addresses and routes. */
#include "lib/rdmacm/address.h"

#include <arpa/inet.h>
#include <infiniband/ib.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/device.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/id.h"
#include "lib/rdmacm/qp.h"

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

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct ctl_msg_cm_reply reply;
	struct ctl_msg_cm req;
	int err;

	if (!base)
		return rcm_result(EINVAL);
	req = rcm_id_request(rcm_id(base), CTL_CM_BIND);
	err = rcm_address_pack(&req.src, addr);
	if (!err)
		err = rcm_id_ask(rcm_id(base), &req, &reply);
	if (!err)
		err = rcm_address_fill(rcm_id(base), &reply.addr);
	return rcm_result(err);
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *src, struct sockaddr *dst,
		      int timeout_ms)
{
	struct ctl_msg_cm req;
	int err;

	if (!base)
		return rcm_result(EINVAL);
	req = rcm_id_request(rcm_id(base), CTL_CM_RESOLVE_ADDR);
	req.timeout_ms = timeout_ms > 0 ? (uint32_t)timeout_ms : 0;
	err = rcm_address_pack(&req.dst, dst);
	if (!err && src)
		err = rcm_address_pack(&req.src, src);
	if (!err)
		err = rcm_id_ask(rcm_id(base), &req, NULL);
	if (err)
		return rcm_result(err);
	memcpy(&base->route.addr.dst_storage, dst, rcm_address_len(dst));
	return rcm_result(rcm_id_finish(rcm_id(base)));
}

int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
	struct ctl_msg_cm req;
	int err;

	if (!base)
		return rcm_result(EINVAL);
	req = rcm_id_request(rcm_id(base), CTL_CM_RESOLVE_ROUTE);
	req.timeout_ms = timeout_ms > 0 ? (uint32_t)timeout_ms : 0;
	err = rcm_id_ask(rcm_id(base), &req, NULL);
	if (!err)
		err = rcm_id_finish(rcm_id(base));
	return rcm_result(err);
}

int rdma_set_option(struct rdma_cm_id *base, int level, int name, void *value, size_t len)
{
	struct ctl_msg_cm req;

	if (!base || (len && !value) || len > sizeof(req.option))
		return rcm_result(EINVAL);
	rcm_qp_ask_attr(rcm_id(base));
	req = rcm_id_request(rcm_id(base), CTL_CM_SET_OPTION);
	req.level = (uint32_t)level;
	req.name = (uint32_t)name;
	req.option_len = (uint32_t)len;
	if (len)
		memcpy(req.option, value, len);
	return rcm_result(rcm_id_ask(rcm_id(base), &req, NULL));
}

static __be16 port_of(const struct sockaddr_storage *addr)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (addr->ss_family == AF_INET) {
		memcpy(&in, addr, sizeof(in));
		return in.sin_port;
	}
	if (addr->ss_family != AF_INET6)
		return 0;
	memcpy(&in6, addr, sizeof(in6));
	return in6.sin6_port;
}

__be16 rdma_get_src_port(struct rdma_cm_id *base)
{
	return base ? port_of(&base->route.addr.src_storage) : 0;
}

__be16 rdma_get_dst_port(struct rdma_cm_id *base)
{
	return base ? port_of(&base->route.addr.dst_storage) : 0;
}
