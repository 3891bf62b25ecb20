// SPDX-License-Identifier: MIT
/* Waiting until an rsocket is ready. */
#include "lib/rdmacm/rsocket/wait.h"

#include <stdbool.h>
#include <time.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/progress.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/waiter.h"

#define SECOND_NS 1000000000

int64_t rs_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

int64_t rs_deadline(int64_t timeout_ns)
{
	return timeout_ns < 0 ? -1 : rs_now_ns() + timeout_ns;
}

int rs_poll_until(struct pollfd *fds, uint64_t n, int64_t deadline_ns)
{
	struct timespec left, *timeout = NULL;
	int64_t left_ns;

	if (deadline_ns >= 0) {
		left_ns = deadline_ns - rs_now_ns();
		if (left_ns < 0)
			left_ns = 0;
		left = (struct timespec){ left_ns / SECOND_NS, left_ns % SECOND_NS };
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

int rs_watch(struct rsocket *rs, struct rs_waiter *waiter, int fd, struct pollfd fds[RS_WATCHED])
{
	int n = 0;

	rs_waiter_add(rs, waiter, fd);
	arm(rs);
	rs_progress(rs);
	if (rs_waiter_revents(rs, waiter))
		return 0;
	if (rs->datagram)
		fds[n++] = (struct pollfd){ .fd = rs->datagram->epfd, .events = POLLIN };
	if (rs->channel)
		fds[n++] = (struct pollfd){ .fd = rs->channel->fd, .events = POLLIN };
	if (rs->verbs.channel)
		fds[n++] = (struct pollfd){ .fd = rs->verbs.channel->fd, .events = POLLIN };
	return n;
}

void rs_unwatch(struct rsocket *rs, struct rs_waiter *waiter, const struct pollfd *fds, int n)
{
	bool is_event = n > 0 && fds[0].revents;

	rs_waiter_remove(rs, waiter);
	if (n > 1 && fds[1].revents)
		rs_queue_take_event(rs);
	if (rs->waiters)
		arm(rs);
	if (is_event)
		rs_progress_events(rs);
	else
		rs_progress(rs);
}

/* A little while without a system call, for peers that answer soon. */
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
	} while (rs_now_ns() < deadline_ns);
	return false;
}

static int wait_once(struct rsocket *rs, short events, int64_t deadline_ns, int fd)
{
	struct pollfd fds[RS_WATCHED + 1];
	struct rs_waiter waiter = { .events = events };
	int n = rs_watch(rs, &waiter, fd, fds), rc = 1, err = 0;

	if (n) {
		fds[n] = (struct pollfd){ .fd = fd, .events = POLLIN };
		pthread_mutex_unlock(&rs->lock);
		rc = rs_poll_until(fds, (uint64_t)n + 1, deadline_ns);
		err = rc < 0 ? errno : 0;
		pthread_mutex_lock(&rs->lock);
	}
	rs_unwatch(rs, &waiter, fds, rc > 0 ? n : 0);
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
		err = fd < 0 ? rcm_errno() : wait_once(rs, events, deadline_ns, fd);
	}
	return err;
}
