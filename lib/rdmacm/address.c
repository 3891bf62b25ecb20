// SPDX-License-Identifier: MIT
/* Addresses of ids: the server's, the program's, and the device that has them. */
#include "lib/rdmacm/address.h"

#include <arpa/inet.h>
#include <infiniband/ib.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/server.h"
#include "lib/refusal/refusal.h"

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
		return refuse(WHY_CM_AF_IB);
	if (!addr)
		return refuse(WHY_NULL, "addr");
	if (!len)
		return refuse(WHY_CM_FAMILY, addr->sa_family);
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
		return refuse(WHY_NO_MEMORY, "the path");
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
