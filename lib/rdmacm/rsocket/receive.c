// SPDX-License-Identifier: MIT
/* rrecv, rrecvfrom, rrecvmsg, rread, rreadv. */
#include <poll.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/calls.h"
#include "lib/rdmacm/rsocket/public.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/table.h"

static uint32_t least(size_t a, size_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* Copies the first len unread bytes, which leaves them unread. */
static void copy_unread(const struct rs_receiver *receiver, struct rs_iov *iov, uint32_t len)
{
	uint32_t first = least(len, receiver->size - receiver->offset);

	rs_iov_scatter(iov, receiver->buf + receiver->offset, first);
	rs_iov_scatter(iov, receiver->buf, len - first);
}

/* The first len unread bytes have been read. */
static void consume(struct rs_receiver *receiver, uint32_t len, uint32_t entries)
{
	uint32_t *message, n;

	receiver->offset = (receiver->offset + len) % receiver->size;
	receiver->unread -= len;
	receiver->free += len;
	while (len) {
		message = &receiver->lens[receiver->first];
		n = least(len, *message);
		*message -= n;
		len -= n;
		if (*message)
			continue;
		receiver->first = (receiver->first + 1) % entries;
		receiver->count--;
		receiver->consumed++;
	}
}

/* Waits for data. 0 and no data: the end of the stream. */
static int await_data(struct rsocket *rs, bool may_wait)
{
	int err = rs_await(rs, POLLIN, may_wait, rs->options.recv_timeout_ns);

	if (err || rs->receiver.unread)
		return err;
	if (rs->state != RS_CONNECTED)
		return rs_why_not_connected(rs);
	return rs_take_error(rs);
}

static int receive_locked(struct rsocket *rs, struct rs_iov *iov, size_t len, int flags,
			  size_t *ret)
{
	struct rs_receiver *receiver = &rs->receiver;
	bool may_wait = rs_may_wait(rs, flags);
	size_t left = len;
	uint32_t n;
	int err = 0;

	if (rs->state == RS_NEW || rs->state == RS_LISTENING)
		return ENOTCONN;
	while (left) {
		if (!receiver->unread)
			err = await_data(rs, may_wait);
		if (err || !receiver->unread)
			break;
		n = least(left, receiver->unread);
		copy_unread(receiver, iov, n);
		left -= n;
		if (flags & MSG_PEEK)
			break;
		consume(receiver, n, rs->options.recvs);
		rs_queue_credits(rs);
		if (!(flags & MSG_WAITALL))
			break;
	}
	*ret = len - left;
	return left < len ? 0 : err;
}

static ssize_t receive_iov(int socket, const struct iovec *v, size_t n, int flags)
{
	struct rs_iov iov = { .v = v, .n = n };
	struct rsocket *rs;
	size_t len, received = 0;
	int err;
	NO_CANCEL;

	if (flags & MSG_OOB)
		return rcm_result(EOPNOTSUPP);
	if (!rs_iov_len(&iov, &len))
		return rcm_result(EINVAL);
	rs = rs_get_locked(socket);
	if (!rs)
		return -1;
	err = receive_locked(rs, &iov, len, flags, &received);
	rs_put_locked(rs);
	return err ? rcm_result(err) : (ssize_t)received;
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	const struct iovec v = { .iov_base = buf, .iov_len = len };

	return receive_iov(socket, &v, 1, flags);
}

/* As with TCP, the address is not written. */
ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr,
		  socklen_t *addrlen)
{
	if (src_addr && addrlen)
		*addrlen = 0;
	return rrecv(socket, buf, len, flags);
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	ssize_t len = receive_iov(socket, msg->msg_iov, msg->msg_iovlen, flags);

	if (len < 0)
		return len;
	msg->msg_flags = 0;
	msg->msg_controllen = 0;
	if (msg->msg_name)
		msg->msg_namelen = 0;
	return len;
}

ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecv(socket, buf, count, 0);
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	if (iovcnt < 0)
		return rcm_result(EINVAL);
	return receive_iov(socket, iov, (size_t)iovcnt, 0);
}
