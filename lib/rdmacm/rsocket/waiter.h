/* SPDX-License-Identifier: MIT */
/* Waiters: threads that block until an rsocket is ready. */
#ifndef RXE_RSOCKET_WAITER_H
#define RXE_RSOCKET_WAITER_H

#include <poll.h>
#include <stdbool.h>

struct rsocket;

struct rs_waiter {
	struct rs_waiter *prev, *next; /* of its rsocket; under the rsocket's lock */
	short events;
	int fd; /* the thread's eventfd */
	bool is_awake;
};

/* The eventfd of this thread, with nothing in it. -1, and errno. */
int rs_waiter_fd(void);
void rs_waiter_add(struct rsocket *rs, struct rs_waiter *waiter, short events, int fd);
void rs_waiter_remove(struct rsocket *rs, struct rs_waiter *waiter);
/* Wakes those waiters for whom the rsocket is ready. Every change ends with it. */
void rs_wake(struct rsocket *rs);

#endif
