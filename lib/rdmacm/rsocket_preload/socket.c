// SPDX-License-Identifier: MIT
/* Calls that make, connect and end sockets. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/rdmacm/rsocket_preload/preload.h"

#pragma GCC visibility push(default)

static bool is_ours(int domain, int type, int protocol)
{
	return !preload_is_inside() && (domain == AF_INET || domain == AF_INET6) &&
	       (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_STREAM &&
	       (!protocol || protocol == IPPROTO_TCP);
}

static void set_size(int fd, const char *variable, int option)
{
	const char *text = getenv(variable);
	int value = text ? atoi(text) : 0;

	if (value > 0)
		rsetsockopt(fd, SOL_RDMA, option, &value, sizeof(value));
}

static int open_tcp(int domain, int type, int protocol)
{
	int fd = REAL(socket)(domain, type, protocol);

	preload_set_role(fd, ROLE_SOCKET);
	return fd;
}

/* Without a device the program gets a TCP socket. */
int socket(int domain, int type, int protocol)
{
	int fd;

	if (!is_ours(domain, type, protocol))
		return REAL(socket)(domain, type, protocol);
	if (preload_is_fork_safe())
		return open_tcp(domain, type, protocol);
	preload_enter();
	fd = rsocket(domain, type, protocol);
	preload_leave();
	if (fd < 0)
		return REAL(socket)(domain, type, protocol);
	set_size(fd, "RS_SQ_SIZE", RDMA_SQSIZE);
	set_size(fd, "RS_RQ_SIZE", RDMA_RQSIZE);
	set_size(fd, "RS_INLINE", RDMA_INLINE);
	preload_new_in_epoll(fd);
	preload_add(fd);
	return fd;
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	int rsocket = preload_find(fd);

	return rsocket < 0 ? REAL(bind)(fd, addr, len) : rbind(rsocket, addr, len);
}

int listen(int fd, int backlog)
{
	int rsocket = preload_find(fd);

	if (rsocket >= 0)
		return rlisten(rsocket, backlog);
	if (preload_role(fd) == ROLE_SOCKET)
		preload_set_role(fd, ROLE_LISTENER);
	return REAL(listen)(fd, backlog);
}

static int accepted_tcp(int listener, int fd)
{
	if (fd >= 0 && preload_role(listener) == ROLE_LISTENER)
		preload_set_role(fd, ROLE_ACCEPTED);
	return fd;
}

int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	int rsocket = preload_find(fd), accepted;

	if (rsocket < 0)
		return accepted_tcp(fd, REAL(accept4)(fd, addr, len, flags));
	accepted = raccept(rsocket, addr, len);
	if (accepted < 0)
		return accepted;
	if (flags & SOCK_NONBLOCK)
		rfcntl(accepted, F_SETFL, O_NONBLOCK);
	if (flags & SOCK_CLOEXEC)
		rfcntl(accepted, F_SETFD, FD_CLOEXEC);
	preload_new_in_epoll(accepted);
	preload_add(accepted);
	return accepted;
}

int accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	if (preload_find(fd) < 0)
		return accepted_tcp(fd, REAL(accept)(fd, addr, len));
	return accept4(fd, addr, len, 0);
}

/* Whether an address is none that RDMA reaches. */
static bool is_unreachable(int err)
{
	return err == EADDRNOTAVAIL || err == ENODEV || err == EHOSTUNREACH || err == ENETUNREACH ||
	       err == EAFNOSUPPORT || err == EINVAL;
}

/* The number becomes a TCP socket's. */
static int become_tcp(int fd, const struct sockaddr *addr)
{
	int tcp, status_flags = rfcntl(fd, F_GETFL);

	tcp = REAL(socket)(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (tcp < 0)
		return -1;
	REAL(fcntl)(tcp, F_SETFL, status_flags);
	close(fd);
	REAL(dup2)(tcp, fd);
	preload_epoll_as_tcp(fd);
	return REAL(close)(tcp);
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int rsocket = preload_find(fd), rc;

	if (rsocket < 0) {
		if (preload_role(fd) == ROLE_SOCKET)
			preload_set_role(fd, ROLE_CONNECTED);
		return REAL(connect)(fd, addr, len);
	}
	preload_enter();
	rc = rconnect(rsocket, addr, len);
	preload_leave();
	if (!rc || rsocket != fd || !is_unreachable(errno) || !addr)
		return rc;
	return become_tcp(fd, addr) ? -1 : REAL(connect)(fd, addr, len);
}

int shutdown(int fd, int how)
{
	int rsocket = preload_find(fd);

	return rsocket < 0 ? REAL(shutdown)(fd, how) : rshutdown(rsocket, how);
}

int getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	int rsocket = preload_find(fd);

	return rsocket < 0 ? REAL(getpeername)(fd, addr, len) : rgetpeername(rsocket, addr, len);
}

int getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	int rsocket = preload_find(fd);

	return rsocket < 0 ? REAL(getsockname)(fd, addr, len) : rgetsockname(rsocket, addr, len);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int rsocket = preload_find(fd);

	return rsocket < 0 ? REAL(setsockopt)(fd, level, name, value, len)
			   : rsetsockopt(rsocket, level, name, value, len);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	int rsocket = preload_find(fd);

	return rsocket < 0 ? REAL(getsockopt)(fd, level, name, value, len)
			   : rgetsockopt(rsocket, level, name, value, len);
}
