/* SPDX-License-Identifier: MIT */
/* What an rsocket is ready for, and its waiters: threads that block until it is. The lock is held
 * by the caller of each function. */
#ifndef RXE_RSOCKET_READY_H
#define RXE_RSOCKET_READY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct rsocket;

/* How often an rsocket became readable or got something more to read, and became writable. */
struct rs_edges {
	uint32_t in, out;
};

/* Events of our own, beside those of poll(2). */
#define RS_POLL_CONTROL POLLRDBAND /* a control message may be posted */
#define RS_POLL_SENT	POLLWRBAND /* no message is in flight */

/* Whether a data message may be posted. */
bool rs_has_credit(const struct rsocket *rs);
/* Those of the wanted events that are there. POLLNVAL is always wanted: the rsocket is closed. */
short rs_revents(const struct rsocket *rs, short wanted);

struct rs_waiter {
	struct rs_waiter *prev, *next; /* of its rsocket; under the rsocket's lock */
	short events;
	bool is_edge; /* wants edges that are not seen */
	struct rs_edges seen;
	int fd; /* the thread's eventfd */
	bool is_awake;
};

/* The eventfd of this thread, with nothing in it. -1, and errno. */
int rs_waiter_fd(void);
/* Those events that a waiter wants which are there. By edges: 0, unless one came that the waiter
 * has not seen. */
short rs_waiter_revents(const struct rsocket *rs, const struct rs_waiter *waiter);
/* Counts edges, and wakes the waiters for whom the rsocket is ready. Every change of an rsocket
 * ends with this call. */
void rs_wake(struct rsocket *rs);

#endif
