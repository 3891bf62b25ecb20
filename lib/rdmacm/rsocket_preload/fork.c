// SPDX-License-Identifier: MIT
/* Programs that accept a connection and fork(2) for it (RDMAV_FORK_SAFE, on both sides). A
 * connection of RDMA does not survive fork(), so it begins as one of TCP and becomes an rsocket
 * with the first call that sends or receives, as rdma-core's library does it: the accepting side
 * listens by an rsocket at the same port and sends four bytes of zero by TCP, upon which the
 * connecting side connects its rsocket there. */
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/rdmacm/rsocket_preload/preload.h"

#define LOCK "/dev/shm/rxe_dm-rsocket-fork-%u" /* of a user */

static _Atomic uint8_t roles[PRELOAD_FDS]; /* enum preload_role, by descriptor */

bool preload_is_fork_safe(void)
{
	const char *text = getenv("RDMAV_FORK_SAFE");

	return text && atoi(text);
}

void preload_set_role(int fd, enum preload_role role)
{
	if (fd >= 0 && fd < PRELOAD_FDS)
		atomic_store(&roles[fd], role);
}

enum preload_role preload_role(int fd)
{
	return fd >= 0 && fd < PRELOAD_FDS ? (enum preload_role)atomic_load(&roles[fd]) : ROLE_NONE;
}

/* One process of this host at a time listens for its connection: which of them a request is for
 * depends on that. Returns a descriptor to close, -1: failed. */
static int lock(void)
{
	char path[sizeof(LOCK) + 10];
	int fd;

	snprintf(path, sizeof(path), LOCK, getuid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX)) {
		REAL(close)(fd);
		return -1;
	}
	return fd;
}

static int listen_at(struct sockaddr_storage *any, socklen_t len)
{
	int on = 1, fd = rsocket(any->ss_family, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!rbind(fd, (struct sockaddr *)any, len) && !rlisten(fd, 1))
		return fd;
	rclose(fd);
	return -1;
}

/* The address of any interface, with the port of a socket. 0: no port. */
static socklen_t any_address(int tcp, struct sockaddr_storage *ret)
{
	struct sockaddr_storage own = { 0 };
	socklen_t len = sizeof(own);

	if (REAL(getsockname)(tcp, (struct sockaddr *)&own, &len))
		return 0;
	*ret = (struct sockaddr_storage){ .ss_family = own.ss_family };
	/* The port is at the same place in both families. */
	((struct sockaddr_in *)ret)->sin_port = ((struct sockaddr_in *)&own)->sin_port;
	return len;
}

static int accept_over(int tcp)
{
	const uint32_t ready = 0;
	struct sockaddr_storage any;
	socklen_t len = any_address(tcp, &any);
	int locked = len ? lock() : -1, listener, fd = -1;

	if (locked < 0)
		return -1;
	listener = listen_at(&any, len);
	if (listener >= 0 && REAL(write)(tcp, &ready, sizeof(ready)) == sizeof(ready))
		fd = raccept(listener, NULL, NULL);
	if (listener >= 0)
		rclose(listener);
	REAL(close)(locked);
	return fd;
}

static int connect_over(int tcp)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);
	uint32_t ready = 1;
	int fd;

	if (REAL(recv)(tcp, &ready, sizeof(ready), MSG_PEEK | MSG_WAITALL) != sizeof(ready) ||
	    ready || REAL(getpeername)(tcp, (struct sockaddr *)&peer, &len))
		return -1;
	fd = rsocket(peer.ss_family, SOCK_STREAM, 0);
	if (fd >= 0 && rconnect(fd, (struct sockaddr *)&peer, len)) {
		rclose(fd);
		return -1;
	}
	return fd;
}

/* The number of the TCP socket becomes one of the rsocket. */
static void replace(int tcp, int rsocket, int status_flags)
{
	rfcntl(rsocket, F_SETFL, status_flags);
	if (REAL(dup2)(rsocket, tcp) == tcp)
		preload_add_duplicate(tcp, rsocket);
	else
		rclose(rsocket);
}

/* A connection that cannot become an rsocket stays TCP's. */
static void convert(int fd, enum preload_role role)
{
	int status_flags, rsocket;

	preload_set_role(fd, ROLE_NONE);
	status_flags = REAL(fcntl)(fd, F_GETFL);
	REAL(fcntl)(fd, F_SETFL, 0);
	preload_enter();
	rsocket = role == ROLE_ACCEPTED ? accept_over(fd) : connect_over(fd);
	preload_leave();
	REAL(fcntl)(fd, F_SETFL, status_flags);
	if (rsocket >= 0)
		replace(fd, rsocket, status_flags);
}

int preload_find_stream(int fd)
{
	enum preload_role role = preload_role(fd);

	if (role == ROLE_ACCEPTED || role == ROLE_CONNECTED)
		convert(fd, role);
	return preload_find(fd);
}
