// SPDX-License-Identifier: MIT
/* epoll over rsockets (repoll_create, repoll_ctl, repoll_wait). A set is an epoll descriptor of the
 * kernel, which keeps the descriptors that are no rsockets, and a list of rsockets here. Any epoll
 * descriptor becomes a set with the first rsocket that is added. The kernel knows nothing of the
 * rsockets: only repoll_wait() reports them.
 *
 * A wait looks at each rsocket of the set, so its cost grows with their number. */
#include "lib/rdmacm/rsocket/wait.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "net/link/descriptor.h"

/* poll(2) has the same numbers. */
#define EVENTS (EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM | EPOLLPRI | EPOLLRDHUP)

struct member {
	struct member *prev, *next;
	struct rs_interest interest; /* its rsocket with a reference */
	bool is_oneshot, is_disabled;
	epoll_data_t data;
};

struct set {
	struct set *prev, *next;
	_Atomic uint32_t refs;
	int fd;
	int wake; /* an eventfd in the kernel's set: the list changes while a thread waits */

	pthread_mutex_t lock; /* what follows. Taken before that of an rsocket */
	struct member *members;
	uint64_t num_members;
	bool is_kernel_last; /* in turns, so that neither starves */
};

static pthread_mutex_t sets_lock = PTHREAD_MUTEX_INITIALIZER;
static struct set *sets;

/* The rsockets of a parent belong to the parent. */
static void forget(void)
{
	pthread_mutex_init(&sets_lock, NULL);
	sets = NULL;
}

static __attribute__((constructor)) void prepare(void)
{
	pthread_atfork(NULL, NULL, forget);
}

static void remove_member(struct set *set, struct member *member)
{
	DL_DELETE(set->members, member);
	set->num_members--;
	rs_put(member->interest.rs);
	free(member);
}

static void put(struct set *set)
{
	if (atomic_fetch_sub(&set->refs, 1) != 1)
		return;
	while (set->members)
		remove_member(set, set->members);
	descriptor_close(set->wake);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

/* With a reference for the caller. NULL: not a set. */
static struct set *find(int fd)
{
	struct set *set;

	pthread_mutex_lock(&sets_lock);
	DL_SEARCH_SCALAR(sets, set, fd, fd);
	if (set)
		atomic_fetch_add(&set->refs, 1);
	pthread_mutex_unlock(&sets_lock);
	return set;
}

/* Makes an epoll descriptor of the kernel a set, with one reference for the table and one for the
 * caller. NULL, and errno. */
static struct set *adopt(int fd)
{
	struct set *set = calloc(1, sizeof(*set));
	struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = set } };
	int err;

	if (!set)
		return NULL;
	set->fd = fd;
	set->refs = 2;
	pthread_mutex_init(&set->lock, NULL);
	set->wake = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (set->wake < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, set->wake, &event)) {
		err = errno;
		set->refs = 1;
		put(set);
		errno = err;
		return NULL;
	}
	pthread_mutex_lock(&sets_lock);
	DL_APPEND(sets, set);
	pthread_mutex_unlock(&sets_lock);
	return set;
}

int repoll_create(int flags)
{
	struct set *set;
	int fd = epoll_create1(flags & EPOLL_CLOEXEC);

	if (fd < 0)
		return -1;
	set = adopt(fd);
	if (set) {
		put(set);
		return fd;
	}
	close(fd);
	return -1;
}

int rs_epoll_close(int fd)
{
	struct set *set = find(fd);

	if (!set)
		return EBADF;
	pthread_mutex_lock(&sets_lock);
	DL_DELETE(sets, set);
	pthread_mutex_unlock(&sets_lock);
	close(fd);
	put(set); /* the table's */
	put(set);
	return 0;
}

/* Of what is ready now, the next wait reports everything, also by edges. */
static void set_events(struct member *member, const struct epoll_event *event)
{
	struct rs_interest *interest = &member->interest;
	struct rs_edges now;

	pthread_mutex_lock(&interest->rs->lock);
	now = interest->rs->edges;
	pthread_mutex_unlock(&interest->rs->lock);
	interest->waiter = (struct rs_waiter){
		.events = (short)((event->events & EVENTS) | POLLERR | POLLHUP),
		.is_edge = event->events & EPOLLET,
		.seen = { .in = now.in - 1, .out = now.out - 1 },
	};
	member->is_oneshot = event->events & EPOLLONESHOT;
	member->is_disabled = false;
	member->data = event->data;
}

static int add_member(struct set *set, int fd, struct rsocket *rs, const struct epoll_event *event)
{
	struct member *member = calloc(1, sizeof(*member));

	if (!member)
		return ENOMEM;
	member->interest.fd = fd;
	member->interest.rs = rs;
	rs_hold(rs);
	DL_APPEND(set->members, member);
	set->num_members++;
	set_events(member, event);
	return 0;
}

/* An rsocket that was closed is no member any more, though its number is another one's now. */
static int change(struct set *set, int op, int fd, struct rsocket *rs,
		  const struct epoll_event *event)
{
	struct member *member;

	DL_SEARCH_SCALAR(set->members, member, interest.fd, fd);
	if (member && member->interest.rs != rs) {
		remove_member(set, member);
		member = NULL;
	}
	switch (op) {
	case EPOLL_CTL_ADD: return member ? EEXIST : add_member(set, fd, rs, event);
	case EPOLL_CTL_MOD:
		if (member)
			set_events(member, event);
		return member ? 0 : ENOENT;
	case EPOLL_CTL_DEL:
		if (member)
			remove_member(set, member);
		return member ? 0 : ENOENT;
	default: return EINVAL;
	}
}

static int change_rsocket(int epfd, int op, int fd, struct rsocket *rs, struct epoll_event *event)
{
	struct set *set = find(epfd);
	int err;

	if (!event && op != EPOLL_CTL_DEL)
		err = EFAULT;
	else if (!set && op != EPOLL_CTL_ADD)
		err = ENOENT;
	else
		err = set || (set = adopt(epfd)) ? 0 : rcm_errno();
	if (!err) {
		pthread_mutex_lock(&set->lock);
		err = change(set, op, fd, rs, event);
		/* Also for a thread that began to wait before this was a set. */
		if (!err)
			eventfd_write(set->wake, 1);
		pthread_mutex_unlock(&set->lock);
	}
	if (set)
		put(set);
	return err;
}

int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	struct rsocket *rs = rs_find(fd);
	int err;
	NO_CANCEL;

	if (!rs)
		return epoll_ctl(epfd, op, fd, event);
	err = change_rsocket(epfd, op, fd, rs, event);
	rs_put(rs);
	return rcm_return(err);
}

/* Takes the eventfd's event out of n events of the kernel's. Returns how many are left. */
static int drop_wake(const struct set *set, struct epoll_event *events, int n)
{
	eventfd_t count;
	int i, kept = 0;

	for (i = 0; i < n; i++) {
		if (events[i].data.ptr == set)
			eventfd_read(set->wake, &count);
		else
			events[kept++] = events[i];
	}
	return kept;
}

static int collect_kernel(const struct set *set, struct epoll_event *events, int most)
{
	int n = most ? epoll_wait(set->fd, events, most, 0) : 0;

	return n > 0 ? drop_wake(set, events, n) : n;
}

/* A member that was reported moves to the end of the list. */
static bool report(struct set *set, struct member *member, struct epoll_event *ret)
{
	struct rs_interest *interest = &member->interest;

	rs_interest_check(interest, false);
	if (interest->revents & POLLNVAL) {
		remove_member(set, member);
		return false;
	}
	if (!interest->revents)
		return false;
	*ret = (struct epoll_event){ .events = (uint16_t)interest->revents, .data = member->data };
	member->is_disabled = member->is_oneshot;
	DL_DELETE(set->members, member);
	DL_APPEND(set->members, member);
	return true;
}

static int collect_members(struct set *set, struct epoll_event *events, int most)
{
	struct member *member, *next, *last = set->members ? set->members->prev : NULL;
	int n = 0;

	for (member = set->members; member && n < most; member = next) {
		next = member == last ? NULL : member->next;
		if (!member->is_disabled)
			n += report(set, member, &events[n]);
	}
	return n;
}

/* Under the lock. What is ready: the number, or -1 and errno. */
static int collect(struct set *set, struct epoll_event *events, int most)
{
	int n = 0, kernel;

	set->is_kernel_last = !set->is_kernel_last;
	if (set->is_kernel_last)
		n = collect_members(set, events, most);
	kernel = collect_kernel(set, events + n, most - n);
	if (kernel < 0)
		return n ? n : -1;
	n += kernel;
	if (!set->is_kernel_last)
		n += collect_members(set, events + n, most - n);
	return n;
}

/* Under the lock, which the wait releases: waits for a copy of the interests, the kernel's set
 * first. */
static int wait_for_members(struct set *set, int64_t deadline_ns)
{
	struct rs_interest *interests = calloc(set->num_members + 1, sizeof(*interests));
	const struct member *member;
	uint64_t n = 0;
	int rc;

	if (!interests)
		return -1;
	interests[n++] = (struct rs_interest){ .fd = set->fd, .waiter = { .events = POLLIN } };
	DL_FOREACH (set->members, member) {
		if (member->is_disabled)
			continue;
		interests[n] = member->interest;
		rs_hold(interests[n++].rs);
	}
	pthread_mutex_unlock(&set->lock);
	rc = rs_interests_wait(interests, n, deadline_ns);
	while (--n)
		rs_put(interests[n].rs);
	free(interests);
	pthread_mutex_lock(&set->lock);
	return rc;
}

static int wait_set(struct set *set, struct epoll_event *events, int most, int64_t deadline_ns)
{
	int n, rc = 1;
	NO_CANCEL;

	pthread_mutex_lock(&set->lock);
	do {
		n = collect(set, events, most);
		if (n || rc == 0)
			break;
		rc = wait_for_members(set, deadline_ns);
	} while (rc >= 0);
	pthread_mutex_unlock(&set->lock);
	return rc < 0 ? rc : n;
}

/* A set of the kernel's, which may become one with rsockets meanwhile: then the event that told so
 * is among those that are there. False: nothing else is. */
static bool wait_kernel(int epfd, struct epoll_event *events, int most, int timeout, int *ret)
{
	struct set *set;

	*ret = epoll_wait(epfd, events, most, timeout);
	set = *ret > 0 ? find(epfd) : NULL;
	if (!set)
		return true;
	*ret = drop_wake(set, events, *ret);
	put(set);
	return *ret > 0;
}

int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	int64_t deadline_ns = rs_deadline((int64_t)timeout * RS_MILLISECOND_NS);
	struct set *set = find(epfd);
	int n;

	if (!set && wait_kernel(epfd, events, maxevents, timeout, &n))
		return n;
	if (!set)
		set = find(epfd);
	if (!set)
		return rcm_return(EBADF);
	if (maxevents > 0)
		n = wait_set(set, events, maxevents, deadline_ns);
	else
		n = rcm_return(EINVAL);
	put(set);
	return n;
}
