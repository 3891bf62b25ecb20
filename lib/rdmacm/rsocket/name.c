// SPDX-License-Identifier: MIT
/* rgetpeername, rgetsockname, rfcntl. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/public.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/table.h"

/* An address as the kernel gives it: cut to the program's length, which becomes the full one. */
static int give(const struct sockaddr *from, int domain, struct sockaddr *addr, socklen_t *addrlen)
{
	struct sockaddr_storage full = { .ss_family = (sa_family_t)domain };
	socklen_t len =
		domain == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (!addr || !addrlen)
		return EFAULT;
	if (from->sa_family)
		memcpy(&full, from, len);
	memcpy(addr, &full, *addrlen < len ? *addrlen : len);
	*addrlen = len;
	return 0;
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rsocket *rs = rs_get_locked(socket);
	int err = ENOTCONN;

	if (!rs)
		return -1;
	if (rs->datagram)
		err = rs_datagram_name(rs, true, addr, addrlen);
	else if (rs->state == RS_CONNECTED)
		err = give(rdma_get_peer_addr(rs->id), rs->domain, addr, addrlen);
	rs_put_locked(rs);
	return rcm_result(err);
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rsocket *rs = rs_get_locked(socket);
	int err;

	if (!rs)
		return -1;
	err = rs->datagram ? rs_datagram_name(rs, false, addr, addrlen)
			   : give(rdma_get_local_addr(rs->id), rs->domain, addr, addrlen);
	rs_put_locked(rs);
	return rcm_result(err);
}

static int control_locked(struct rsocket *rs, int cmd, int arg)
{
	switch (cmd) {
	case F_GETFL: return O_RDWR | rs->status_flags;
	case F_GETFD: return rs->fd_flags;
	case F_SETFL: rs->status_flags = arg & O_NONBLOCK; return 0;
	case F_SETFD: rs->fd_flags = arg & FD_CLOEXEC; return 0;
	default: return rcm_result(EOPNOTSUPP);
	}
}

int rfcntl(int socket, int cmd, ...)
{
	struct rsocket *rs = rs_get_locked(socket);
	int arg = 0, rc;
	va_list args;

	if (!rs)
		return -1;
	if (cmd == F_SETFL || cmd == F_SETFD) {
		va_start(args, cmd);
		arg = va_arg(args, int);
		va_end(args);
	}
	rc = control_locked(rs, cmd, arg);
	rs_put_locked(rs);
	return rc;
}
