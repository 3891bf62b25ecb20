// SPDX-License-Identifier: MIT
/* Datagram rsockets: their life, names and progress. */
#include "lib/rdmacm/rsocket/datagram.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <utlist.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "net/link/descriptor.h"

#define TURNS_WITHOUT_UDP 64

int rs_datagram_open(struct rsocket *rs)
{
	struct rs_datagram *datagram = calloc(1, sizeof(*datagram));

	if (!datagram)
		return ENOMEM;
	rs->datagram = datagram;
	rs->state = RS_DATAGRAM;
	datagram->udp = -1;
	datagram->epfd = descriptor_keep(epoll_create1(EPOLL_CLOEXEC));
	if (datagram->epfd < 0)
		return rcm_errno();
	return rs_udp_open(rs);
}

void rs_datagram_free(struct rsocket *rs)
{
	struct rs_datagram *datagram = rs->datagram;

	if (!datagram)
		return;
	rs_peers_free(rs);
	while (datagram->paths)
		rs_path_free(rs, datagram->paths);
	while (datagram->unread)
		rs_datagram_release(rs, datagram->unread);
	rs_udp_close(rs);
	descriptor_close(datagram->epfd);
	free(datagram);
	rs->datagram = NULL;
}

static int connect_udp(struct rsocket *rs, const struct sockaddr *addr, socklen_t len)
{
	if (connect(rs->datagram->udp, addr, len))
		return rcm_errno();
	return rs_datagram_update_local(rs);
}

static int disconnect(struct rsocket *rs)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	rs->datagram->connected = NULL;
	return connect_udp(rs, &none, sizeof(none));
}

/* Without a port of its own the rsocket takes the address that leads to the peer; else the kernel
 * has chosen it. */
int rs_datagram_connect(struct rsocket *rs, const struct sockaddr *addr, socklen_t len)
{
	struct rs_datagram *datagram = rs->datagram;
	struct rs_address address;
	struct rs_peer *peer;
	bool is_bound;
	int err;

	if (addr && len >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC)
		return disconnect(rs);
	err = rs_address_parse(&address, addr, len);
	if (err)
		return err;
	if (rs->domain == AF_INET && address.family != AF_INET)
		return EAFNOSUPPORT;
	is_bound = datagram->local.port != 0;
	if (is_bound)
		err = connect_udp(rs, addr, len);
	if (!err)
		err = rs_peer_get(rs, &address, NULL, true, &peer);
	if (!err && !is_bound)
		err = connect_udp(rs, addr, len);
	if (!err)
		datagram->connected = peer;
	else if (is_bound)
		disconnect(rs);
	return err;
}

int rs_datagram_name(struct rsocket *rs, bool is_peer, struct sockaddr *addr, socklen_t *len)
{
	int rc;

	if (!addr || !len)
		return EFAULT;
	rc = is_peer ? getpeername(rs->datagram->udp, addr, len)
		     : getsockname(rs->datagram->udp, addr, len);
	return rc ? rcm_errno() : 0;
}

static void free_lost(struct rsocket *rs)
{
	struct rs_path *path, *next;

	DL_FOREACH_SAFE (rs->datagram->paths, path, next) {
		if (!path->is_lost)
			continue;
		rs_peers_lose_path(rs, path);
		rs_path_free(rs, path);
	}
}

static void progress_paths(struct rsocket *rs)
{
	struct rs_path *path;
	bool is_lost = false;

	DL_FOREACH (rs->datagram->paths, path) {
		rs_path_progress(rs, path);
		is_lost |= path->is_lost;
	}
	if (is_lost)
		free_lost(rs);
}

void rs_datagram_progress(struct rsocket *rs)
{
	if (!(++rs->datagram->turns % TURNS_WITHOUT_UDP))
		rs_udp_receive(rs);
	progress_paths(rs);
}

void rs_datagram_progress_events(struct rsocket *rs)
{
	struct rs_path *path;

	DL_FOREACH (rs->datagram->paths, path)
		rs_cq_take_event(&path->cq);
	rs_udp_receive(rs);
	if (rs->waiters)
		rs_datagram_arm(rs);
	progress_paths(rs);
}

void rs_datagram_arm(struct rsocket *rs)
{
	struct rs_path *path;

	DL_FOREACH (rs->datagram->paths, path)
		rs_path_arm(path);
}
