// SPDX-License-Identifier: MIT
/* Waiting for several descriptors. */
#include "lib/rdmacm/rsocket/interest.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/progress.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/wait.h"

void rs_interest_check(struct rs_interest *interest, bool is_thorough)
{
	struct rsocket *rs = interest->rs;

	pthread_mutex_lock(&rs->lock);
	rs_progress(rs);
	if (is_thorough && !rs_waiter_revents(rs, &interest->waiter))
		rs_progress_events(rs);
	interest->revents = rs_waiter_revents(rs, &interest->waiter);
	if (interest->revents)
		interest->waiter.seen = rs->edges;
	pthread_mutex_unlock(&rs->lock);
}

/* What poll(2) waits for. */
struct polled {
	struct pollfd *fds;
	uint64_t n;
};

/* False: an rsocket is ready, do not wait. */
static bool watch(struct rs_interest *interest, struct polled *polled, int fd)
{
	interest->first = polled->n;
	if (!interest->rs) {
		polled->fds[polled->n++] =
			(struct pollfd){ .fd = interest->fd, .events = interest->waiter.events };
		return true;
	}
	pthread_mutex_lock(&interest->rs->lock);
	interest->n = rs_watch(interest->rs, &interest->waiter, fd, &polled->fds[interest->first]);
	pthread_mutex_unlock(&interest->rs->lock);
	polled->n += (uint64_t)interest->n;
	return interest->n != 0;
}

static void unwatch(struct rs_interest *interest, const struct polled *polled, bool is_polled)
{
	if (!interest->rs)
		return;
	pthread_mutex_lock(&interest->rs->lock);
	rs_unwatch(interest->rs, &interest->waiter, &polled->fds[interest->first],
		   is_polled ? interest->n : 0);
	pthread_mutex_unlock(&interest->rs->lock);
}

static int wait_once(struct rs_interest *interests, uint64_t n, struct polled *polled,
		     int64_t deadline_ns)
{
	int fd = rs_waiter_fd(), rc = 1, err = 0;
	bool is_ready = false;
	uint64_t i, watched;

	if (fd < 0)
		return -1;
	for (watched = 0; watched < n && !is_ready; watched++)
		is_ready = !watch(&interests[watched], polled, fd);
	if (!is_ready) {
		polled->fds[polled->n] = (struct pollfd){ .fd = fd, .events = POLLIN };
		rc = rs_poll_until(polled->fds, polled->n + 1, deadline_ns);
		err = errno;
	}
	for (i = 0; i < watched; i++)
		unwatch(&interests[i], polled, !is_ready && rc > 0);
	errno = err;
	return rc;
}

int rs_interests_wait(struct rs_interest *interests, uint64_t n, int64_t deadline_ns)
{
	struct polled polled = { .fds = calloc(RS_WATCHED * n + 1, sizeof(*polled.fds)) };
	int rc, err;

	if (!polled.fds)
		return rcm_result(ENOMEM);
	rc = wait_once(interests, n, &polled, deadline_ns);
	err = errno;
	free(polled.fds);
	errno = err;
	return rc;
}
