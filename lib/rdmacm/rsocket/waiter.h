/* SPDX-License-Identifier: MIT */
/* Waiters: threads that block until an rsocket is ready. */
#ifndef RXE_RSOCKET_WAITER_H
#define RXE_RSOCKET_WAITER_H

#include <poll.h>
#include <stdbool.h>

#include "lib/rdmacm/rsocket/ready.h"

struct rsocket;

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
/* What the waiter wants is set. */
void rs_waiter_add(struct rsocket *rs, struct rs_waiter *waiter, int fd);
void rs_waiter_remove(struct rsocket *rs, struct rs_waiter *waiter);
/* Those events that a waiter wants which are there. */
short rs_waiter_revents(const struct rsocket *rs, const struct rs_waiter *waiter);
/* Wakes those waiters for whom the rsocket is ready. Every change ends with it. */
void rs_wake(struct rsocket *rs);

#endif
