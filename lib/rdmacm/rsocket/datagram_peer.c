// SPDX-License-Identifier: MIT
/* Peers of datagram rsockets. */
#include "lib/rdmacm/rsocket/datagram.h"

#include <stdlib.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/rsocket.h"

#define MOST_PEERS	   4096
#define RESOLVE_TIMEOUT_MS 2000
#define HOP_LIMIT	   64

static void lose_path(struct rs_peer *peer)
{
	if (peer->ah)
		ibv_destroy_ah(peer->ah);
	peer->ah = NULL;
	peer->path = NULL;
	peer->qpn = 0;
}

void rs_peers_lose_path(struct rsocket *rs, const struct rs_path *path)
{
	struct rs_peer *peer, *next;

	HASH_ITER (hh, rs->datagram->peers, peer, next) {
		if (peer->path == path)
			lose_path(peer);
	}
}

static void remove_peer(struct rs_datagram *datagram, struct rs_peer *peer)
{
	lose_path(peer);
	HASH_DEL(datagram->peers, peer);
	free(peer);
}

void rs_peers_free(struct rsocket *rs)
{
	struct rs_datagram *datagram = rs->datagram;
	struct rs_peer *peer, *next;

	HASH_ITER (hh, datagram->peers, peer, next)
		remove_peer(datagram, peer);
	datagram->connected = NULL;
}

static struct rs_peer *find(const struct rs_datagram *datagram, const struct rs_address *address)
{
	struct rs_peer *peer;

	HASH_FIND(hh, datagram->peers, address, sizeof(*address), peer);
	return peer;
}

/* In place of the oldest, when there are too many. */
static struct rs_peer *add(struct rs_datagram *datagram, const struct rs_address *address)
{
	struct rs_peer *peer, *oldest = datagram->peers;

	if (HASH_COUNT(datagram->peers) >= MOST_PEERS) {
		if (oldest == datagram->connected)
			oldest = oldest->hh.next;
		remove_peer(datagram, oldest);
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->address = *address;
	HASH_ADD(hh, datagram->peers, address, sizeof(peer->address), peer);
	if (peer->hh.tbl)
		return peer;
	free(peer);
	return NULL;
}

/* The device and the address of ours that lead to the peer. */
static int resolve(struct rdma_cm_id *id, const struct rs_address *local,
		   const struct rs_address *address)
{
	struct sockaddr_storage src, dst;
	struct rs_address from = { 0 };

	rs_address_emit(&dst, address, address->family);
	if (!rs_address_is_any(local)) {
		from = *local;
		from.port = 0;
		rs_address_emit(&src, &from, from.family);
	}
	if (rdma_resolve_addr(id, from.family ? (struct sockaddr *)&src : NULL,
			      (struct sockaddr *)&dst, RESOLVE_TIMEOUT_MS))
		return rcm_errno();
	return 0;
}

static int find_gid(struct rdma_cm_id *id, uint8_t *ret)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	int i;

	if (ibv_query_port(id->verbs, id->port_num, &port))
		return rcm_errno();
	for (i = 0; i < port.gid_tbl_len && i <= UINT8_MAX; i++) {
		if (ibv_query_gid(id->verbs, id->port_num, i, &gid) ||
		    memcmp(&gid, &id->route.addr.addr.ibaddr.sgid, sizeof(gid)))
			continue;
		*ret = (uint8_t)i;
		return 0;
	}
	return ENODEV;
}

static int create_ah(struct rsocket *rs, struct rs_peer *peer, struct rdma_cm_id *id)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = id->port_num,
		.grh = { .dgid = id->route.addr.addr.ibaddr.dgid,
			 .hop_limit = HOP_LIMIT,
			 .traffic_class = (uint8_t)rs->options.tos },
	};
	int err = find_gid(id, &attr.grh.sgid_index);

	if (err)
		return err;
	peer->ah = ibv_create_ah(peer->path->id->pd, &attr);
	return peer->ah ? 0 : rcm_errno();
}

int rs_datagram_update_local(struct rsocket *rs)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);

	if (getsockname(rs->datagram->udp, (struct sockaddr *)&name, &len))
		return rcm_errno();
	return rs_address_parse(&rs->datagram->local, (struct sockaddr *)&name, len);
}

int rs_datagram_bind(struct rsocket *rs, const struct sockaddr *addr, socklen_t len)
{
	if (bind(rs->datagram->udp, addr, len))
		return rcm_errno();
	return rs_datagram_update_local(rs);
}

/* Binds to a free port of an address. */
static int bind_to(struct rsocket *rs, const struct rs_address *address)
{
	struct sockaddr_storage name;
	socklen_t len = rs_address_emit(&name, address, rs->domain);

	return rs_datagram_bind(rs, (struct sockaddr *)&name, len);
}

/* The address that messages come from: the UDP socket's, or that of the device. */
static int find_from(struct rsocket *rs, const struct rs_address *local, struct rdma_cm_id *id,
		     bool is_lasting, struct rs_address *ret)
{
	struct rs_datagram *datagram = rs->datagram;
	const struct rs_address any = { .family = AF_INET };
	struct sockaddr *own = rdma_get_local_addr(id);
	int err = 0;

	*ret = *local;
	if (rs_address_is_any(local))
		err = rs_address_parse(ret, own, sizeof(struct sockaddr_storage));
	ret->port = 0;
	if (!err && !datagram->local.port)
		err = bind_to(rs, is_lasting ? ret : &any);
	ret->port = datagram->local.port;
	return err;
}

static int open_path(struct rsocket *rs, struct rs_peer *peer, const struct rs_address *local,
		     bool is_lasting)
{
	struct rs_address from;
	struct rdma_cm_id *id;
	bool is_kept = false;
	int err;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP))
		return rcm_errno();
	err = resolve(id, local, &peer->address);
	if (!err)
		err = find_from(rs, local, id, is_lasting, &from);
	if (!err)
		err = rs_path_get(rs, id, &from, &peer->path);
	if (!err) {
		is_kept = peer->path->id == id; /* also by a path that this peer cannot use */
		err = create_ah(rs, peer, id);
	}
	if (err)
		lose_path(peer);
	if (!is_kept)
		rdma_destroy_id(id);
	return err;
}

int rs_peer_get(struct rsocket *rs, const struct rs_address *address,
		const struct rs_address *local, bool is_lasting, struct rs_peer **ret)
{
	struct rs_datagram *datagram = rs->datagram;
	struct rs_peer *peer = find(datagram, address);
	int err;

	*ret = peer;
	if (peer && peer->path)
		return 0;
	if (!peer)
		peer = add(datagram, address);
	if (!peer)
		return ENOMEM;
	err = open_path(rs, peer, local ? local : &datagram->local, is_lasting);
	*ret = peer;
	if (err && peer != datagram->connected)
		remove_peer(datagram, peer);
	return err;
}
