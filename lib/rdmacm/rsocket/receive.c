// SPDX-License-Identifier: MIT
/* rrecv, rrecvfrom, rrecvmsg, rread, rreadv. */
#include <poll.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/calls.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/rsocket.h"

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

static int receive(struct rsocket *rs, struct rs_iov *iov, size_t len, struct msghdr *msg,
		   int flags, size_t *ret)
{
	struct rs_receiver *receiver = &rs->receiver;
	bool may_wait = rs_may_wait(rs, flags);
	size_t left = len;
	uint32_t n;
	int err = 0;

	if (rs->datagram)
		return rs_datagram_receive(rs, iov, len, msg, flags, ret);
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
	/* As with TCP, the address is not written. */
	msg->msg_namelen = 0;
	*ret = len - left;
	return left < len ? 0 : err;
}

static ssize_t receive_iov(int socket, const struct iovec *v, size_t n, int flags)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)v, .msg_iovlen = n };

	return rs_call(socket, &msg, flags, receive);
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	const struct iovec v = { .iov_base = buf, .iov_len = len };

	return receive_iov(socket, &v, 1, flags);
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr,
		  socklen_t *addrlen)
{
	struct iovec v = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1 };
	ssize_t n;

	if (src_addr && addrlen) {
		msg.msg_name = src_addr;
		msg.msg_namelen = *addrlen;
	}
	n = rs_call(socket, &msg, flags, receive);
	if (n >= 0 && msg.msg_name)
		*addrlen = msg.msg_namelen;
	return n;
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	ssize_t n;

	msg->msg_flags = 0;
	n = rs_call(socket, msg, flags, receive);
	if (n >= 0)
		msg->msg_controllen = 0;
	return n;
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
