/* SPDX-License-Identifier: MIT */
/* Sockets of links: options, buffers, and errors of a socket that is full. */
#ifndef RXE_LINK_SOCKET_H
#define RXE_LINK_SOCKET_H

#include <errno.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* 0 or -errno. */
static inline int socket_set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0 ? 0 : -errno;
}

/* Only a process with CAP_NET_ADMIN may exceed rmem_max. */
static inline void socket_set_rcvbuf(int fd, int bytes)
{
	if (socket_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, bytes) != 0)
		(void)socket_set(fd, SOL_SOCKET, SO_RCVBUF, bytes);
}

/* Whether a send failed because buffers are full. */
static inline bool socket_is_full(int error)
{
	return error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

/* Waits 2 ms for space in a full packet socket. */
static inline bool socket_wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 2) > 0;
}

/* Packets that the kernel dropped because the buffer of this socket (UDP or packet) was full.
 * Wraps; 0 for descriptor -1. */
static inline uint32_t socket_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) != 0)
		return 0;
	return info[SK_MEMINFO_DROPS];
}

#endif
