// SPDX-License-Identifier: MIT
/* Calls on descriptors: fcntl, ioctl, close and the family of dup. */
#include <errno.h>
#include <fcntl.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/rdmacm/rsocket_preload/preload.h"

#define PEEKED 65536 /* bytes that FIONREAD can report at most */

#pragma GCC visibility push(default)

static int control(int fd, int rsocket, int cmd, long arg)
{
	int duplicate;

	switch (cmd) {
	case F_GETFL:
	case F_GETFD:
	case F_SETFL:
	case F_SETFD: return rfcntl(rsocket, cmd, (int)arg);
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		duplicate = REAL(fcntl)(rsocket, cmd, (int)arg);
		if (duplicate >= 0)
			preload_add_duplicate(duplicate, rsocket);
		return duplicate;
	default: return REAL(fcntl)(fd, cmd, arg);
	}
}

int fcntl(int fd, int cmd, ...)
{
	int rsocket = preload_find(fd);
	va_list args;
	long arg;

	va_start(args, cmd);
	arg = va_arg(args, long);
	va_end(args);
	return rsocket < 0 ? REAL(fcntl)(fd, cmd, arg) : control(fd, rsocket, cmd, arg);
}

int fcntl64(int fd, int cmd, ...) __attribute__((alias("fcntl")));

static int bytes_unread(int rsocket)
{
	void *bytes = malloc(PEEKED);
	ssize_t n = bytes ? rrecv(rsocket, bytes, PEEKED, MSG_PEEK | MSG_DONTWAIT) : 0;

	free(bytes);
	return n > 0 ? (int)n : 0;
}

static int control_device(int rsocket, unsigned long request, int *arg)
{
	int flags;

	switch (request) {
	case FIONBIO:
		flags = rfcntl(rsocket, F_GETFL) & ~O_NONBLOCK;
		return rfcntl(rsocket, F_SETFL, *arg ? flags | O_NONBLOCK : flags);
	case FIONREAD: *arg = bytes_unread(rsocket); return 0;
	case FIOCLEX: return rfcntl(rsocket, F_SETFD, FD_CLOEXEC);
	case FIONCLEX: return rfcntl(rsocket, F_SETFD, 0);
	default: errno = ENOTTY; return -1;
	}
}

#ifdef __GLIBC__
typedef unsigned long ioctl_request;
#else
typedef int ioctl_request;
#endif

int ioctl(int fd, ioctl_request request, ...)
{
	int rsocket = preload_find(fd);
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return rsocket < 0 ? REAL(ioctl)(fd, request, arg)
			   : control_device(rsocket, (unsigned long)request, arg);
}

/* The number of an rsocket stays in use while duplicates of it are. */
int close(int fd)
{
	int rsocket = preload_find(fd), last;

	if (rsocket < 0 && preload_is_epoll(fd))
		return preload_close_epoll(fd);
	if (rsocket < 0) {
		preload_set_role(fd, ROLE_NONE);
		return REAL(close)(fd);
	}
	last = preload_remove(fd);
	if (fd != rsocket)
		REAL(close)(fd);
	/* An rsocket of the parent is only a number here. */
	if (last >= 0 && rclose(last))
		REAL(close)(last);
	return 0;
}

int dup(int fd)
{
	return preload_find(fd) < 0 ? REAL(dup)(fd) : fcntl(fd, F_DUPFD, 0);
}

int dup3(int from, int to, int flags)
{
	int rsocket = preload_find(from), rc;

	if (preload_find(to) >= 0 && from != to)
		close(to);
	rc = REAL(dup3)(rsocket < 0 ? from : rsocket, to, flags);
	if (rc >= 0 && rsocket >= 0)
		preload_add_duplicate(to, rsocket);
	return rc;
}

int dup2(int from, int to)
{
	if (preload_find(from) < 0 && preload_find(to) < 0)
		return REAL(dup2)(from, to);
	return from == to ? to : dup3(from, to, 0);
}
