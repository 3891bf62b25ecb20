// SPDX-License-Identifier: MIT
/* Calls that wait for descriptors. */
#include <errno.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "lib/rdmacm/rsocket_preload/preload.h"

int preload_to_ms(const struct timespec *timeout)
{
	return timeout ? (int)(timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000) : -1;
}

#pragma GCC visibility push(default)

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

/* Not atomic with the mask, where rsockets are among them. */
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	sigset_t before;
	int rc;

	if (!has_rsocket(fds, n))
		return REAL(ppoll)(fds, n, timeout, mask);
	if (mask)
		pthread_sigmask(SIG_SETMASK, mask, &before);
	rc = poll_rsockets(fds, n, preload_to_ms(timeout));
	if (mask)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
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
		if (!FD_ISSET(fd, set))
			continue;
		fds[fd].fd = fd;
		fds[fd].events = (short)(fds[fd].events | events);
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
	if (mask)
		pthread_sigmask(SIG_SETMASK, mask, &before);
	rc = select_rsockets(n, in, out, except, preload_to_ms(timeout));
	if (mask)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}
