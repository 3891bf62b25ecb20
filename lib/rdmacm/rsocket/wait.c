// SPDX-License-Identifier: MIT
/* Progress, and waiting for one rsocket or for several descriptors. */
#include "lib/rdmacm/rsocket/wait.h"

#include <fcntl.h>
#include <stdlib.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/connection.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "net/link/clock.h"

#define WATCHED 2 /* descriptors of an rsocket at most */

void rs_progress(struct rsocket *rs)
{
	if (rs->state == RS_CONNECTED)
		rs_queue_progress(rs);
	else if (rs->state == RS_DATAGRAM)
		rs_datagram_progress(rs);
	rs_wake(rs);
}

void rs_progress_events(struct rsocket *rs)
{
	int saved = errno;

	if (rs->state == RS_DATAGRAM)
		rs_datagram_progress_events(rs);
	else if (rs->state != RS_NEW && rs->state != RS_CLOSED)
		rs_connection_events(rs);
	rs_progress(rs);
	errno = saved;
}

static int64_t now_ns(void)
{
	return (int64_t)clock_now_ns();
}

int64_t rs_deadline(int64_t timeout_ns)
{
	return timeout_ns < 0 ? -1 : now_ns() + timeout_ns;
}

/* As poll(2) until a deadline. */
static int poll_until(struct pollfd *fds, uint64_t n, int64_t deadline_ns)
{
	struct timespec left, *timeout = NULL;
	int64_t left_ns;

	if (deadline_ns >= 0) {
		left_ns = deadline_ns - now_ns();
		if (left_ns < 0)
			left_ns = 0;
		left = (struct timespec){ left_ns / RS_SECOND_NS, left_ns % RS_SECOND_NS };
		timeout = &left;
	}
	return ppoll(fds, n, timeout, NULL);
}

static void arm(struct rsocket *rs)
{
	if (rs->datagram)
		rs_datagram_arm(rs);
	else
		rs_queue_arm(rs);
}

static const struct pollfd none = { .fd = -1 };

/* Makes this thread a waiter, who has said what it wants, arms the completion queue, and sets the
 * descriptors to poll. False: the rsocket is ready, do not wait. unwatch() follows in any case.
 * Both with the lock held. */
static bool watch(struct rsocket *rs, struct rs_waiter *waiter, int fd, struct pollfd fds[WATCHED])
{
	fds[0] = fds[1] = none;
	waiter->fd = fd;
	waiter->is_awake = false;
	DL_PREPEND(rs->waiters, waiter);
	arm(rs);
	rs_progress(rs);
	if (rs_waiter_revents(rs, waiter))
		return false;
	if (rs->datagram)
		fds[0] = (struct pollfd){ .fd = rs->datagram->epfd, .events = POLLIN };
	if (rs->channel)
		fds[0] = (struct pollfd){ .fd = rs->channel->fd, .events = POLLIN };
	if (rs->verbs.cq.channel)
		fds[1] = (struct pollfd){ .fd = rs->verbs.cq.channel->fd, .events = POLLIN };
	return true;
}

static void unwatch(struct rsocket *rs, struct rs_waiter *waiter, const struct pollfd fds[WATCHED])
{
	DL_DELETE(rs->waiters, waiter);
	if (fds[1].revents)
		rs_cq_take_event(&rs->verbs.cq);
	if (rs->waiters)
		arm(rs);
	if (fds[0].revents)
		rs_progress_events(rs);
	else
		rs_progress(rs);
}

/* Polls for a little while without a system call, for peers that answer soon. */
static bool is_ready_soon(struct rsocket *rs, short events)
{
	int64_t deadline_ns;

	if (rs->state != RS_CONNECTED && rs->state != RS_DATAGRAM)
		return false;
	deadline_ns = rs_deadline(rs_polling_ns());
	do {
		rs_progress(rs);
		if (rs_revents(rs, events))
			return true;
	} while (now_ns() < deadline_ns);
	return false;
}

static int wait_for_one(struct rsocket *rs, short events, int64_t deadline_ns, int fd)
{
	struct pollfd fds[WATCHED + 1] = { [WATCHED] = { .fd = fd, .events = POLLIN } };
	struct rs_waiter waiter = { .events = events };
	int rc = 1, err = 0;

	if (watch(rs, &waiter, fd, fds)) {
		pthread_mutex_unlock(&rs->lock);
		rc = poll_until(fds, WATCHED + 1, deadline_ns);
		err = rc < 0 ? errno : 0;
		pthread_mutex_lock(&rs->lock);
	}
	unwatch(rs, &waiter, fds);
	if (rs_revents(rs, events))
		return 0;
	return rc ? err : EAGAIN;
}

int rs_wait(struct rsocket *rs, short events, int64_t deadline_ns)
{
	int fd, err = 0;
	NO_CANCEL;

	if (is_ready_soon(rs, events))
		return 0;
	while (!err && !rs_revents(rs, events)) {
		fd = rs_waiter_fd();
		err = fd < 0 ? rcm_errno() : wait_for_one(rs, events, deadline_ns, fd);
	}
	return err;
}

int rs_await(struct rsocket *rs, short events, bool may_wait, int64_t timeout_ns)
{
	rs_progress(rs);
	if (rs_revents(rs, events))
		return 0;
	if (may_wait)
		return rs_wait(rs, events, rs_deadline(timeout_ns));
	rs_progress_events(rs);
	return rs_revents(rs, events) ? 0 : EAGAIN;
}

bool rs_may_wait(const struct rsocket *rs, int flags)
{
	return !(rs->status_flags & O_NONBLOCK) && !(flags & MSG_DONTWAIT);
}

void rs_interest_check(struct rs_interest *interest, bool is_thorough)
{
	struct rsocket *rs = interest->rs;

	pthread_mutex_lock(&rs->lock);
	rs_progress(rs);
	if (is_thorough && !rs_waiter_revents(rs, &interest->waiter))
		rs_progress_events(rs);
	interest->revents = rs_waiter_revents(rs, &interest->waiter);
	interest->err = rs->state == RS_FAILED ? rs->err : 0;
	if (interest->revents)
		interest->waiter.seen = rs->edges;
	pthread_mutex_unlock(&rs->lock);
}

/* How many entries of poll(2)'s array an interest has. */
static uint64_t num_entries(const struct rs_interest *interest)
{
	return interest->rs ? WATCHED : 1;
}

/* False: an rsocket is ready, do not wait. */
static bool watch_interest(struct rs_interest *interest, int fd, struct pollfd *fds)
{
	struct rsocket *rs = interest->rs;
	bool is_waiting;

	if (!rs) {
		*fds = (struct pollfd){ .fd = interest->fd, .events = interest->waiter.events };
		return true;
	}
	pthread_mutex_lock(&rs->lock);
	is_waiting = watch(rs, &interest->waiter, fd, fds);
	pthread_mutex_unlock(&rs->lock);
	return is_waiting;
}

static void unwatch_interest(struct rs_interest *interest, const struct pollfd *fds)
{
	if (!interest->rs)
		return;
	pthread_mutex_lock(&interest->rs->lock);
	unwatch(interest->rs, &interest->waiter, fds);
	pthread_mutex_unlock(&interest->rs->lock);
}

/* As rs_interests_wait(), but with a negative errno. */
static int wait_for_any(struct rs_interest *interests, uint64_t n, struct pollfd *fds,
			int64_t deadline_ns)
{
	int fd = rs_waiter_fd(), rc = 1;
	struct rs_interest *interest = interests, *end;
	bool is_waiting = true;
	uint64_t at = 0;

	if (fd < 0)
		return -rcm_errno();
	for (; interest < interests + n && is_waiting; interest++) {
		is_waiting = watch_interest(interest, fd, &fds[at]);
		at += num_entries(interest);
	}
	end = interest;
	if (is_waiting) {
		fds[at] = (struct pollfd){ .fd = fd, .events = POLLIN };
		rc = poll_until(fds, at + 1, deadline_ns);
		if (rc < 0)
			rc = -rcm_errno();
	}
	at = 0;
	for (interest = interests; interest < end; interest++) {
		unwatch_interest(interest, &fds[at]);
		at += num_entries(interest);
	}
	return rc;
}

int rs_interests_wait(struct rs_interest *interests, uint64_t n, int64_t deadline_ns)
{
	struct pollfd *fds = calloc(n * WATCHED + 1, sizeof(*fds));
	int rc;

	if (!fds)
		return -1;
	rc = wait_for_any(interests, n, fds, deadline_ns);
	free(fds);
	return rc < 0 ? rcm_return(-rc) : rc;
}
