// SPDX-License-Identifier: MIT
/* rpoll and rselect, over rsockets and any other descriptors. */
#include <poll.h>
#include <stdlib.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/progress.h"
#include "lib/rdmacm/rsocket/public.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/table.h"
#include "lib/rdmacm/rsocket/wait.h"
#include "lib/rdmacm/rsocket/waiter.h"

#define MILLISECOND_NS 1000000

/* One of the program's descriptors. */
struct member {
	struct rsocket *rs; /* NULL: not an rsocket */
	struct rs_waiter waiter;
	nfds_t first; /* index of its descriptors in set.polled */
	int n;
};

struct set {
	struct pollfd *fds; /* the program's */
	nfds_t len;
	struct member *members;
	struct pollfd *polled; /* what poll(2) waits for */
	nfds_t polled_len;
};

static void close_set(struct set *set)
{
	nfds_t i;

	for (i = 0; set->members && i < set->len; i++) {
		if (set->members[i].rs)
			rs_put(set->members[i].rs);
	}
	free(set->members);
	free(set->polled);
}

/* False: no memory. close_set() follows in either case. */
static bool open_set(struct set *set)
{
	nfds_t i;

	set->members = calloc(set->len + 1, sizeof(*set->members));
	set->polled = calloc(RS_WATCHED * set->len + 1, sizeof(*set->polled));
	if (!set->members || !set->polled)
		return false;
	for (i = 0; i < set->len; i++)
		set->members[i].rs = rs_find(set->fds[i].fd);
	return true;
}

static short wanted(const struct pollfd *fd)
{
	return (short)((fd->events & ~(RS_POLL_CONTROL | RS_POLL_SENT)) | POLLERR | POLLHUP);
}

static short check_rsocket(struct rsocket *rs, short events)
{
	short revents;

	pthread_mutex_lock(&rs->lock);
	rs_progress(rs);
	if (!rs_revents(rs, events))
		rs_progress_events(rs);
	revents = rs_revents(rs, events);
	pthread_mutex_unlock(&rs->lock);
	return revents;
}

/* One call of poll(2) for all that are no rsockets. */
static int check_others(struct set *set)
{
	nfds_t i, n = 0;
	int rc;

	for (i = 0; i < set->len; i++) {
		if (!set->members[i].rs)
			set->polled[n++] = set->fds[i];
	}
	if (!n)
		return 0;
	rc = poll(set->polled, n, 0);
	for (i = n = 0; rc >= 0 && i < set->len; i++) {
		if (!set->members[i].rs)
			set->fds[i].revents = set->polled[n++].revents;
	}
	return rc;
}

/* The number of descriptors that are ready, or -1 and errno. */
static int check(struct set *set)
{
	int n = check_others(set);
	nfds_t i;

	for (i = 0; n >= 0 && i < set->len; i++) {
		if (!set->members[i].rs)
			continue;
		set->fds[i].revents = check_rsocket(set->members[i].rs, wanted(&set->fds[i]));
		n += set->fds[i].revents != 0;
	}
	return n;
}

/* False: an rsocket is ready, do not wait. */
static bool watch(struct set *set, nfds_t i, int fd)
{
	struct member *member = &set->members[i];

	member->first = set->polled_len;
	if (!member->rs) {
		set->polled[set->polled_len++] = set->fds[i];
		return true;
	}
	pthread_mutex_lock(&member->rs->lock);
	member->n = rs_watch(member->rs, &member->waiter, wanted(&set->fds[i]), fd,
			     &set->polled[member->first]);
	pthread_mutex_unlock(&member->rs->lock);
	set->polled_len += (nfds_t)member->n;
	return member->n != 0;
}

static void unwatch(struct set *set, nfds_t i, bool is_polled)
{
	struct member *member = &set->members[i];

	if (!member->rs)
		return;
	pthread_mutex_lock(&member->rs->lock);
	rs_unwatch(member->rs, &member->waiter, &set->polled[member->first],
		   is_polled ? member->n : 0);
	pthread_mutex_unlock(&member->rs->lock);
}

/* One wait. As poll(2): what is ready now, check() finds. */
static int wait_for(struct set *set, int64_t deadline_ns)
{
	int fd = rs_waiter_fd(), rc = 1, err = 0;
	bool is_ready = false;
	nfds_t i, n;

	if (fd < 0)
		return -1;
	set->polled_len = 0;
	for (n = 0; n < set->len && !is_ready; n++)
		is_ready = !watch(set, n, fd);
	if (!is_ready) {
		set->polled[set->polled_len] = (struct pollfd){ .fd = fd, .events = POLLIN };
		rc = rs_poll_until(set->polled, set->polled_len + 1, deadline_ns);
		err = errno;
	}
	for (i = 0; i < n; i++)
		unwatch(set, i, !is_ready && rc > 0);
	errno = err;
	return rc;
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct set set = { .fds = fds, .len = nfds };
	int64_t deadline_ns = rs_deadline((int64_t)timeout * MILLISECOND_NS);
	int n, rc = 1;
	NO_CANCEL;

	if (!open_set(&set)) {
		close_set(&set);
		return rcm_result(ENOMEM);
	}
	do {
		n = check(&set);
		if (n || !timeout || rc == 0)
			break;
		rc = wait_for(&set, deadline_ns);
	} while (rc >= 0);
	close_set(&set);
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
			return rcm_result(EBADF);
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
		return rcm_result(EINVAL);
	fds = calloc((size_t)nfds + 1, sizeof(*fds));
	if (!fds)
		return rcm_result(ENOMEM);
	n = from_sets(fds, nfds, readfds, writefds, exceptfds);
	rc = select_fds(fds, n, readfds, writefds, exceptfds,
			timeout ? (int)(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000)
				: -1);
	free(fds);
	return rc;
}
