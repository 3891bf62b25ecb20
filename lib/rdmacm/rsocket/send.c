// SPDX-License-Identifier: MIT
/* rsend, rsendto, rsendmsg, rwrite, rwritev. */

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/calls.h"
#include "lib/rdmacm/rsocket/iomap.h"
#include "lib/rdmacm/rsocket/piece.h"
#include "lib/rdmacm/rsocket/progress.h"
#include "lib/rdmacm/rsocket/public.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/table.h"

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

static int send_locked(struct rsocket *rs, struct rs_iov *iov, size_t len, int flags, size_t *ret)
{
	bool may_wait = rs_may_wait(rs, flags);
	size_t left = len;
	int err = 0;

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
	struct rs_iov iov = { .v = v, .n = n };
	struct rsocket *rs;
	size_t len, sent = 0;
	int err;
	NO_CANCEL;

	if (flags & MSG_OOB)
		return rcm_result(EOPNOTSUPP);
	if (!rs_iov_len(&iov, &len))
		return rcm_result(EINVAL);
	rs = rs_get_locked(socket);
	if (!rs)
		return -1;
	err = send_locked(rs, &iov, len, flags, &sent);
	rs_put_locked(rs);
	return err ? rcm_result(err) : (ssize_t)sent;
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	const struct iovec v = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return send_iov(socket, &v, 1, flags);
}

/* As with TCP, the address does not matter. */
ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen)
{
	(void)dest_addr;
	(void)addrlen;
	return rsend(socket, buf, len, flags);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (msg->msg_control && msg->msg_controllen)
		return rcm_result(EOPNOTSUPP);
	return send_iov(socket, msg->msg_iov, msg->msg_iovlen, flags);
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
