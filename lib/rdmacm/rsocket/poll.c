// SPDX-License-Identifier: MIT
/* rpoll and rselect, over rsockets and any other descriptors. */
#include <poll.h>
#include <stdlib.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/wait.h"

static void close_all(struct rs_interest *interests, nfds_t n)
{
	nfds_t i;

	for (i = 0; i < n; i++) {
		if (interests[i].rs)
			rs_put(interests[i].rs);
	}
	free(interests);
}

static short wanted(const struct pollfd *fd)
{
	return (short)((fd->events & ~(RS_POLL_CONTROL | RS_POLL_SENT)) | POLLERR | POLLHUP);
}

/* NULL: no memory. */
static struct rs_interest *open_all(const struct pollfd *fds, nfds_t n)
{
	struct rs_interest *interests = calloc(n + 1, sizeof(*interests));
	nfds_t i;

	for (i = 0; interests && i < n; i++) {
		interests[i].fd = fds[i].fd;
		interests[i].rs = rs_find(fds[i].fd);
		interests[i].waiter.events = interests[i].rs ? wanted(&fds[i]) : fds[i].events;
	}
	return interests;
}

/* One call of poll(2) for all that are no rsockets: it passes negative numbers by. */
static int check_others(struct pollfd *fds, const struct rs_interest *interests, nfds_t n)
{
	struct pollfd *others = calloc(n + 1, sizeof(*others));
	bool is_any = false;
	nfds_t i;
	int rc;

	if (!others)
		return -1;
	for (i = 0; i < n; i++) {
		others[i] = fds[i];
		if (interests[i].rs)
			others[i].fd = -1;
		else
			is_any = true;
	}
	rc = is_any ? poll(others, n, 0) : 0;
	for (i = 0; rc >= 0 && i < n; i++)
		fds[i].revents = others[i].revents;
	free(others);
	return rc;
}

/* The number of descriptors that are ready, or -1 and errno. */
static int check(struct pollfd *fds, struct rs_interest *interests, nfds_t n)
{
	int ready = check_others(fds, interests, n);
	nfds_t i;

	for (i = 0; ready >= 0 && i < n; i++) {
		if (!interests[i].rs)
			continue;
		rs_interest_check(&interests[i], true);
		fds[i].revents = interests[i].revents;
		ready += fds[i].revents != 0;
	}
	return ready;
}

/* The error of the last rsocket that could not connect, else errno as it is. rdma-core's rpoll()
 * leaves this error in errno, and rstream prints errno when POLLERR is reported. */
static int errno_to_leave(const struct rs_interest *interests, nfds_t n)
{
	int err = errno;
	nfds_t i;

	for (i = 0; i < n; i++) {
		if (interests[i].revents && interests[i].err)
			err = interests[i].err;
	}
	return err;
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	int64_t deadline_ns = rs_deadline((int64_t)timeout * RS_MILLISECOND_NS);
	struct rs_interest *interests = open_all(fds, nfds);
	int n, rc = 1, err;
	NO_CANCEL;

	if (!interests)
		return rcm_return(ENOMEM);
	do {
		n = check(fds, interests, nfds);
		if (n || !timeout || rc == 0)
			break;
		rc = rs_interests_wait(interests, nfds, deadline_ns);
	} while (rc >= 0);
	err = n > 0 ? errno_to_leave(interests, nfds) : errno;
	close_all(interests, nfds);
	errno = err;
	return rc < 0 ? rc : n;
}

static bool is_in(const fd_set *set, int fd)
{
	return set && FD_ISSET(fd, set);
}

static nfds_t from_sets(struct pollfd *fds, int nfds, const fd_set *readfds, const fd_set *writefds,
			const fd_set *exceptfds)
{
	nfds_t n = 0;
	int fd;

	for (fd = 0; fd < nfds; fd++) {
		if (!is_in(readfds, fd) && !is_in(writefds, fd) && !is_in(exceptfds, fd))
			continue;
		fds[n++] = (struct pollfd){
			.fd = fd,
			.events = (short)((is_in(readfds, fd) ? POLLIN : 0) |
					  (is_in(writefds, fd) ? POLLOUT : 0) |
					  (is_in(exceptfds, fd) ? POLLPRI : 0)),
		};
	}
	return n;
}

/* Leaves in a set what is ready. Returns how many. */
static int keep_ready(fd_set *set, const struct pollfd *fds, nfds_t n, int ready)
{
	int kept = 0;
	nfds_t i;

	for (i = 0; set && i < n; i++) {
		if (!FD_ISSET(fds[i].fd, set))
			continue;
		if (fds[i].revents & ready)
			kept++;
		else
			FD_CLR(fds[i].fd, set);
	}
	return kept;
}

static int select_fds(struct pollfd *fds, nfds_t n, fd_set *readfds, fd_set *writefds,
		      fd_set *exceptfds, int timeout)
{
	int rc = rpoll(fds, n, timeout);
	nfds_t i;

	if (rc < 0)
		return rc;
	for (i = 0; i < n; i++) {
		if (fds[i].revents & POLLNVAL)
			return rcm_return(EBADF);
	}
	return keep_ready(readfds, fds, n, POLLIN | POLLHUP | POLLERR) +
	       keep_ready(writefds, fds, n, POLLOUT | POLLERR) +
	       keep_ready(exceptfds, fds, n, POLLPRI);
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout)
{
	struct pollfd *fds;
	nfds_t n;
	int rc;

	if (nfds < 0 || nfds > FD_SETSIZE)
		return rcm_return(EINVAL);
	fds = calloc((size_t)nfds + 1, sizeof(*fds));
	if (!fds)
		return rcm_return(ENOMEM);
	n = from_sets(fds, nfds, readfds, writefds, exceptfds);
	rc = select_fds(fds, n, readfds, writefds, exceptfds,
			timeout ? (int)(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000)
				: -1);
	free(fds);
	return rc;
}
