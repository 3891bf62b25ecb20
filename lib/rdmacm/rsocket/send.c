// SPDX-License-Identifier: MIT
/* rsend, rsendto, rsendmsg, rwrite, rwritev. */
#include <poll.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/calls.h"
#include "lib/rdmacm/rsocket/progress.h"
#include "lib/rdmacm/rsocket/public.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/table.h"

#define INLINE_MAX 512 /* bytes that go through the stack */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The next message, in one piece of the ring. Returns its length, 0: the connection has ended. */
static uint32_t send_message(struct rsocket *rs, struct rs_iov *iov, size_t left)
{
	struct rs_sender *sender = &rs->sender;
	uint32_t len =
		least(sender->target.length, left > UINT32_MAX ? UINT32_MAX : (uint32_t)left);
	uint8_t small[INLINE_MAX];
	bool is_inline = len <= rs->options.inline_bytes && len <= INLINE_MAX;
	uint8_t *bytes = small;
	int err;

	if (!is_inline) {
		if (!sender->used)
			sender->head = 0;
		len = least(len, least(sender->size - sender->used, sender->size - sender->head));
		bytes = sender->buf + sender->head;
		sender->head = (sender->head + len) % sender->size;
		sender->used += len;
	}
	rs_iov_gather(iov, bytes, len);
	err = rs_queue_data(rs, bytes, len, is_inline);
	if (err)
		rs_queue_lost(rs, err);
	return err ? 0 : len;
}

/* Makes an entry, bytes and a credit available. 0 or a positive errno. */
static int prepare_message(struct rsocket *rs, bool may_wait)
{
	int err = 0;

	if (rs->state != RS_CONNECTED || !rs_has_credit(rs))
		err = rs_await(rs, POLLOUT, may_wait, rs->options.send_timeout_ns);
	if (err)
		return err;
	if (rs->state != RS_CONNECTED)
		return rs_why_not_connected(rs);
	if (rs->end.sending)
		return EPIPE;
	if (!rs->end.peer)
		return 0;
	err = rs_take_error(rs);
	return err ? err : ECONNRESET;
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
	while (left && !err) {
		err = prepare_message(rs, may_wait);
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
