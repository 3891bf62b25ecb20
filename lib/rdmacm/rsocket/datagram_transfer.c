// SPDX-License-Identifier: MIT
/* Messages of datagram rsockets, out and in. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/message.h"
#include "lib/rdmacm/rsocket/transfer.h"
#include "lib/rdmacm/rsocket/wait.h"

/* The peer that a message is for. The address is looked up each time: a wait releases the lock. */
static int find_peer(struct rsocket *rs, const struct msghdr *msg, struct rs_peer **ret)
{
	struct rs_datagram *datagram = rs->datagram;
	struct rs_address address;
	int err = 0;

	if (rs->state != RS_DATAGRAM)
		return EBADF;
	if (!msg->msg_name && !datagram->connected)
		return EDESTADDRREQ;
	if (msg->msg_name)
		err = rs_address_parse(&address, msg->msg_name, msg->msg_namelen);
	else
		address = datagram->connected->address;
	if (err)
		return err;
	if (rs->domain == AF_INET && address.family != AF_INET)
		return EAFNOSUPPORT;
	return rs_peer_get(rs, &address, NULL, false, ret);
}

static bool goes_by_udp(const struct rs_peer *peer, size_t len)
{
	return !peer->qpn || len > peer->path->most - RS_UD_HEADER_MAX;
}

/* The answer with the peer's queue pair number may have come by UDP. */
static void prepare(struct rsocket *rs, const struct rs_peer *peer)
{
	if (!peer->qpn)
		rs_progress_events(rs);
	else if (peer->path->num_free <= peer->path->sends / 2)
		rs_progress(rs);
}

static int send_to(struct rsocket *rs, struct rs_iov *iov, size_t len, const struct msghdr *msg,
		   int flags)
{
	bool may_wait = rs_may_wait(rs, flags);
	struct rs_peer *peer;
	int err = find_peer(rs, msg, &peer);

	if (!err)
		prepare(rs, peer);
	while (!err) {
		err = find_peer(rs, msg, &peer);
		if (err)
			break;
		if (goes_by_udp(peer, len))
			return rs_udp_send(rs, peer, iov, len, may_wait);
		if (peer->path->num_free)
			return rs_path_send(rs, peer->path, peer, iov, (uint32_t)len);
		err = rs_await(rs, POLLOUT, may_wait, rs->options.send_timeout_ns);
	}
	return err;
}

int rs_datagram_send(struct rsocket *rs, struct rs_iov *iov, size_t len, struct msghdr *msg,
		     int flags, size_t *ret)
{
	int err = rs_take_error(rs);

	if (rs->end.sending)
		return EPIPE;
	if (!err)
		err = send_to(rs, iov, len, msg, flags);
	if (!err)
		*ret = len;
	return err;
}

static void put_name(const struct rsocket *rs, struct msghdr *msg, const struct rs_address *from)
{
	struct sockaddr_storage name;
	socklen_t len;

	if (!msg->msg_name)
		return;
	len = rs_address_emit(&name, from, rs->domain);
	memcpy(msg->msg_name, &name, msg->msg_namelen < len ? msg->msg_namelen : len);
	msg->msg_namelen = len;
}

int rs_datagram_receive(struct rsocket *rs, struct rs_iov *iov, size_t len, struct msghdr *msg,
			int flags, size_t *ret)
{
	bool may_wait = rs_may_wait(rs, flags);
	struct rs_unread *unread;
	int err = rs_await(rs, POLLIN, may_wait, rs->options.recv_timeout_ns);

	if (err)
		return err;
	if (rs->state != RS_DATAGRAM)
		return EBADF;
	unread = rs->datagram->unread;
	if (!unread) {
		msg->msg_namelen = 0;
		return rs_take_error(rs);
	}
	*ret = unread->len;
	if (unread->len > len) {
		msg->msg_flags |= MSG_TRUNC;
		*ret = flags & MSG_TRUNC ? unread->len : len;
	}
	rs_iov_scatter(iov, unread->bytes, unread->len < len ? unread->len : len);
	put_name(rs, msg, &unread->from);
	if (!(flags & MSG_PEEK))
		rs_datagram_release(rs, unread);
	return 0;
}
