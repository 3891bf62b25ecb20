// SPDX-License-Identifier: MIT
/* Calls that send and receive, for streams and datagrams. */
#include "lib/rdmacm/rsocket/transfer.h"

#include <limits.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"

/* Sum of the lengths. False: it exceeds what a call can return. */
static bool add_lens(const struct rs_iov *iov, size_t *ret)
{
	size_t len = 0, i;

	for (i = 0; i < iov->n; i++) {
		if (iov->v[i].iov_len > SSIZE_MAX - len)
			return false;
		len += iov->v[i].iov_len;
	}
	*ret = len;
	return true;
}

/* The number of bytes, or -1 and errno. */
static ssize_t transfer(int socket, struct msghdr *msg, int flags, rs_transfer *stream,
			rs_transfer *datagram)
{
	struct rs_iov iov = { .v = msg->msg_iov, .n = msg->msg_iovlen };
	struct rsocket *rs;
	size_t len, n = 0;
	int err;
	NO_CANCEL;

	if (flags & MSG_OOB)
		return rcm_return(EOPNOTSUPP);
	if (!add_lens(&iov, &len))
		return rcm_return(EINVAL);
	rs = rs_get_locked(socket);
	if (!rs)
		return -1;
	err = (rs->datagram ? datagram : stream)(rs, &iov, len, msg, flags, &n);
	rs_put_locked(rs);
	return err ? rcm_return(err) : (ssize_t)n;
}

static ssize_t transmit(int socket, struct msghdr *msg, int flags)
{
	return transfer(socket, msg, flags, rs_stream_send, rs_datagram_send);
}

static ssize_t receive(int socket, struct msghdr *msg, int flags)
{
	return transfer(socket, msg, flags, rs_stream_receive, rs_datagram_receive);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return rsendto(socket, buf, len, flags, NULL, 0);
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec v = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct msghdr msg = { .msg_name = (void *)(uintptr_t)dest_addr,
			      .msg_namelen = addrlen,
			      .msg_iov = &v,
			      .msg_iovlen = 1 };

	return transmit(socket, &msg, flags);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	struct msghdr copy = *msg;

	if (msg->msg_control && msg->msg_controllen)
		return rcm_return(EOPNOTSUPP);
	return transmit(socket, &copy, flags);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsend(socket, buf, count, 0);
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			      .msg_iovlen = (size_t)iovcnt };

	return iovcnt < 0 ? rcm_return(EINVAL) : transmit(socket, &msg, 0);
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	return rrecvfrom(socket, buf, len, flags, NULL, NULL);
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
	n = receive(socket, &msg, flags);
	if (n >= 0 && msg.msg_name && addrlen)
		*addrlen = msg.msg_namelen;
	return n;
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	ssize_t n;

	msg->msg_flags = 0;
	n = receive(socket, msg, flags);
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
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			      .msg_iovlen = (size_t)iovcnt };

	return iovcnt < 0 ? rcm_return(EINVAL) : receive(socket, &msg, 0);
}
