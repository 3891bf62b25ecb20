// SPDX-License-Identifier: MIT
/* rsend, rsendto, rsendmsg, rwrite, rwritev. */
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/calls.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/iomap.h"
#include "lib/rdmacm/rsocket/piece.h"
#include "lib/rdmacm/rsocket/progress.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/rsocket.h"

/* The next message. Returns its length, 0: the connection has ended. */
static uint32_t send_message(struct rsocket *rs, struct rs_iov *iov, size_t left)
{
	struct rs_piece piece;
	int err;

	rs_piece_fill(&piece, rs, iov, left, rs->sender.target.length);
	err = rs_queue_data(rs, piece.bytes, piece.len, piece.is_inline);
	if (err)
		rs_queue_lost(rs, err);
	return err ? 0 : piece.len;
}

/* For a stream the address of msg does not matter, as with TCP. */
static int transmit(struct rsocket *rs, struct rs_iov *iov, size_t len, struct msghdr *msg,
		    int flags, size_t *ret)
{
	bool may_wait = rs_may_wait(rs, flags);
	size_t left = len;
	int err = 0;

	if (rs->datagram)
		return rs_datagram_send(rs, iov, len, msg, flags, ret);
	if (rs->state == RS_NEW || rs->state == RS_LISTENING)
		return ENOTCONN;
	/* Not with each call: it costs more than a short message. */
	if (rs->sender.data_slots < rs->options.sends / 2)
		rs_progress(rs);
	err = rs_iomap_announce(rs, may_wait);
	while (left && !err) {
		err = rs_piece_await(rs, may_wait);
		if (!err)
			left -= send_message(rs, iov, left);
	}
	*ret = len - left;
	return left < len ? 0 : err;
}

static ssize_t send_iov(int socket, const struct iovec *v, size_t n, int flags)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)v, .msg_iovlen = n };

	return rs_call(socket, &msg, flags, transmit);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	const struct iovec v = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return send_iov(socket, &v, 1, flags);
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec v = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct msghdr msg = { .msg_name = (void *)(uintptr_t)dest_addr,
			      .msg_namelen = addrlen,
			      .msg_iov = &v,
			      .msg_iovlen = 1 };

	return rs_call(socket, &msg, flags, transmit);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	struct msghdr copy = *msg;

	if (msg->msg_control && msg->msg_controllen)
		return rcm_result(EOPNOTSUPP);
	return rs_call(socket, &copy, flags, transmit);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsend(socket, buf, count, 0);
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	if (iovcnt < 0)
		return rcm_result(EINVAL);
	return send_iov(socket, iov, (size_t)iovcnt, 0);
}
