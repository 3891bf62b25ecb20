// SPDX-License-Identifier: MIT
/* Calls that wait for descriptors: poll, select, epoll. A set of epoll is one of the kernel's until
 * an rsocket is added to it; librdmacm then waits for both. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "lib/rdmacm/rsocket_preload/preload.h"

static _Atomic bool has_rsockets[PRELOAD_FDS]; /* by descriptor of a set */

/* The last set that an rsocket was added to, for one that becomes a socket of TCP. */
struct membership {
	int epfd; /* and 1; 0: none */
	struct epoll_event event;
};

static struct membership memberships[PRELOAD_FDS];
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
	return fd >= 0 && fd < PRELOAD_FDS && atomic_load(&has_rsockets[fd]);
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
	if (fd < PRELOAD_FDS)
		set_membership(fd, 0, NULL);
}

void preload_epoll_as_tcp(int fd)
{
	struct membership was = set_membership(fd, 0, NULL);

	if (was.epfd)
		REAL(epoll_ctl)(was.epfd - 1, EPOLL_CTL_ADD, fd, &was.event);
}

/* Rounded up. NULL: -1. */
static int to_ms(const struct timespec *timeout)
{
	return timeout ? (int)(timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000) : -1;
}

/* Sets the signal mask of this thread; NULL leaves it. Returns the mask before. Calls with a mask
 * are not atomic where rsockets are among the descriptors. */
static sigset_t set_mask(const sigset_t *mask)
{
	sigset_t before;

	pthread_sigmask(SIG_SETMASK, mask, &before);
	return before;
}

#pragma GCC visibility push(default)

/* Declared by newer releases of rdma-core. */
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);

/* fds is not const: some headers say that poll(2) only writes there, and gcc warns of a reader. */
static bool has_rsocket(struct pollfd *fds, nfds_t n)
{
	nfds_t i;

	for (i = 0; i < n; i++) {
		if (preload_find(fds[i].fd) >= 0)
			return true;
	}
	return false;
}

/* With the numbers of rsockets in place of their duplicates. */
static int poll_rsockets(struct pollfd *fds, nfds_t n, int timeout)
{
	struct pollfd *copy = malloc(n * sizeof(*copy));
	int rc, rsocket;
	nfds_t i;

	if (!copy) {
		errno = ENOMEM;
		return -1;
	}
	memcpy(copy, fds, n * sizeof(*copy));
	for (i = 0; i < n; i++) {
		rsocket = preload_find(fds[i].fd);
		if (rsocket >= 0)
			copy[i].fd = rsocket;
	}
	rc = rpoll(copy, n, timeout);
	for (i = 0; i < n; i++)
		fds[i].revents = copy[i].revents;
	free(copy);
	return rc;
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return has_rsocket(fds, n) ? poll_rsockets(fds, n, timeout) : REAL(poll)(fds, n, timeout);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	sigset_t before;
	int rc;

	if (!has_rsocket(fds, n))
		return REAL(ppoll)(fds, n, timeout, mask);
	before = set_mask(mask);
	rc = poll_rsockets(fds, n, to_ms(timeout));
	set_mask(&before);
	return rc;
}

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room);

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	if (room / sizeof(*fds) < n)
		abort();
	return poll(fds, n, timeout);
}

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room)
{
	if (room / sizeof(*fds) < n)
		abort();
	return ppoll(fds, n, timeout, mask);
}

static bool is_rsocket_in(const fd_set *set, int n)
{
	int fd;

	for (fd = 0; set && fd < n; fd++) {
		if (FD_ISSET(fd, set) && preload_find(fd) >= 0)
			return true;
	}
	return false;
}

static void add(struct pollfd *fds, const fd_set *set, int n, short events)
{
	int fd;

	for (fd = 0; set && fd < n; fd++) {
		if (FD_ISSET(fd, set))
			fds[fd] = (struct pollfd){ fd, (short)(fds[fd].events | events), 0 };
	}
}

static int keep(fd_set *set, const struct pollfd *fds, int n, int ready)
{
	int fd, kept = 0;

	for (fd = 0; set && fd < n; fd++) {
		if (!FD_ISSET(fd, set))
			continue;
		if (fds[fd].revents & ready)
			kept++;
		else
			FD_CLR(fd, set);
	}
	return kept;
}

static int select_rsockets(int n, fd_set *in, fd_set *out, fd_set *except, int timeout)
{
	struct pollfd fds[FD_SETSIZE];
	int fd, rc;

	for (fd = 0; fd < n; fd++)
		fds[fd] = (struct pollfd){ .fd = -1 };
	add(fds, in, n, POLLIN);
	add(fds, out, n, POLLOUT);
	add(fds, except, n, POLLPRI);
	rc = poll_rsockets(fds, (nfds_t)n, timeout);
	for (fd = 0; rc > 0 && fd < n; fd++) {
		if (!(fds[fd].revents & POLLNVAL))
			continue;
		errno = EBADF;
		rc = -1;
	}
	if (rc < 0)
		return rc;
	return keep(in, fds, n, POLLIN | POLLHUP | POLLERR) + keep(out, fds, n, POLLOUT | POLLERR) +
	       keep(except, fds, n, POLLPRI);
}

static bool is_select_ours(int n, const fd_set *in, const fd_set *out, const fd_set *except)
{
	return n <= FD_SETSIZE &&
	       (is_rsocket_in(in, n) || is_rsocket_in(out, n) || is_rsocket_in(except, n));
}

int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	int ms = -1;

	if (!is_select_ours(n, in, out, except))
		return REAL(select)(n, in, out, except, timeout);
	if (timeout)
		ms = (int)(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000);
	return select_rsockets(n, in, out, except, ms);
}

int pselect(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
	    const sigset_t *mask)
{
	sigset_t before;
	int rc;

	if (!is_select_ours(n, in, out, except))
		return REAL(pselect)(n, in, out, except, timeout, mask);
	before = set_mask(mask);
	rc = select_rsockets(n, in, out, except, to_ms(timeout));
	set_mask(&before);
	return rc;
}

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	int rsocket = preload_find(fd), rc;

	if (rsocket < 0 || epfd < 0 || epfd >= PRELOAD_FDS)
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

int epoll_pwait(int epfd, struct epoll_event *events, int most, int timeout, const sigset_t *mask)
{
	sigset_t before;
	int n;

	if (!mask)
		return epoll_wait(epfd, events, most, timeout);
	if (!preload_is_epoll(epfd))
		return REAL(epoll_pwait)(epfd, events, most, timeout, mask);
	before = set_mask(mask);
	n = epoll_wait(epfd, events, most, timeout);
	set_mask(&before);
	return n;
}

int epoll_pwait2(int epfd, struct epoll_event *events, int most, const struct timespec *timeout,
		 const sigset_t *mask);

int epoll_pwait2(int epfd, struct epoll_event *events, int most, const struct timespec *timeout,
		 const sigset_t *mask)
{
	return epoll_pwait(epfd, events, most, to_ms(timeout), mask);
}
