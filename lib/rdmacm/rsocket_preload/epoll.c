// SPDX-License-Identifier: MIT
/* epoll. A set is one of the kernel's until an rsocket is added to it; librdmacm then waits for
 * both. */
#include <pthread.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/rdmacm/rsocket_preload/preload.h"

#define MOST_FDS 65536

static _Atomic bool has_rsockets[MOST_FDS]; /* by descriptor of a set */

/* The last set that an rsocket was added to, for one that becomes a socket of TCP. */
struct membership {
	int epfd; /* and 1; 0: none */
	struct epoll_event event;
};

static struct membership memberships[MOST_FDS];
static pthread_mutex_t memberships_lock = PTHREAD_MUTEX_INITIALIZER;

/* event NULL: the rsocket is in no set any more. Returns what it was in. */
static struct membership set_membership(int fd, int epfd, const struct epoll_event *event)
{
	struct membership before;

	pthread_mutex_lock(&memberships_lock);
	before = memberships[fd];
	memberships[fd] =
		event ? (struct membership){ epfd + 1, *event } : (struct membership){ 0 };
	pthread_mutex_unlock(&memberships_lock);
	return before;
}

bool preload_is_epoll(int fd)
{
	return fd >= 0 && fd < MOST_FDS && atomic_load(&has_rsockets[fd]);
}

int preload_close_epoll(int fd)
{
	int rc;

	atomic_store(&has_rsockets[fd], false);
	preload_enter();
	rc = rclose(fd);
	preload_leave();
	/* A set of the parent is only a number here. */
	return rc ? REAL(close)(fd) : 0;
}

void preload_new_in_epoll(int fd)
{
	if (fd < MOST_FDS)
		set_membership(fd, 0, NULL);
}

void preload_epoll_as_tcp(int fd)
{
	struct membership was = set_membership(fd, 0, NULL);

	if (was.epfd)
		REAL(epoll_ctl)(was.epfd - 1, EPOLL_CTL_ADD, fd, &was.event);
}

#pragma GCC visibility push(default)

/* Declared by newer releases of rdma-core. */
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	int rsocket = preload_find(fd), rc;

	if (rsocket < 0 || epfd < 0 || epfd >= MOST_FDS)
		return REAL(epoll_ctl)(epfd, op, fd, event);
	preload_enter();
	rc = repoll_ctl(epfd, op, rsocket, event);
	preload_leave();
	if (rc)
		return rc;
	atomic_store(&has_rsockets[epfd], true);
	set_membership(rsocket, epfd, op == EPOLL_CTL_DEL ? NULL : event);
	return rc;
}

/* Also for a set without rsockets, which may get one while the thread waits. */
int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
	int n;

	if (preload_is_inside())
		return REAL(epoll_wait)(epfd, events, most, timeout);
	preload_enter();
	n = repoll_wait(epfd, events, most, timeout);
	preload_leave();
	return n;
}

/* Not atomic with the mask, where rsockets are in the set. */
int epoll_pwait(int epfd, struct epoll_event *events, int most, int timeout, const sigset_t *mask)
{
	sigset_t before;
	int n;

	if (!mask)
		return epoll_wait(epfd, events, most, timeout);
	if (!preload_is_epoll(epfd))
		return REAL(epoll_pwait)(epfd, events, most, timeout, mask);
	pthread_sigmask(SIG_SETMASK, mask, &before);
	n = epoll_wait(epfd, events, most, timeout);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

int epoll_pwait2(int epfd, struct epoll_event *events, int most, const struct timespec *timeout,
		 const sigset_t *mask);

int epoll_pwait2(int epfd, struct epoll_event *events, int most, const struct timespec *timeout,
		 const sigset_t *mask)
{
	return epoll_pwait(epfd, events, most, preload_to_ms(timeout), mask);
}
