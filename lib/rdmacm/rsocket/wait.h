/* SPDX-License-Identifier: MIT */
/* Waiting until an rsocket is ready. */
#ifndef RXE_RSOCKET_WAIT_H
#define RXE_RSOCKET_WAIT_H

#include <poll.h>
#include <stdint.h>

struct rs_waiter;
struct rsocket;

#define RS_WATCHED 2 /* descriptors of an rsocket at most */

/* CLOCK_MONOTONIC. */
int64_t rs_now_ns(void);
/* The time when a timeout from now passes. Negative: never. */
int64_t rs_deadline(int64_t timeout_ns);
/* As poll(2) until a deadline. */
int rs_poll_until(struct pollfd *fds, uint64_t n, int64_t deadline_ns);

/* Makes this thread a waiter, who has said what it wants, arms the completion queue, and puts the
 * descriptors to poll into fds. Returns their number. 0: the rsocket is ready, do not wait.
 * rs_unwatch() follows in any case. Both with the lock held. */
int rs_watch(struct rsocket *rs, struct rs_waiter *waiter, int fd, struct pollfd fds[RS_WATCHED]);
void rs_unwatch(struct rsocket *rs, struct rs_waiter *waiter, const struct pollfd *fds, int n);

/* Waits until one of the events is there. The lock is held at the call and after it, and released
 * while the thread waits: the state may be another one, RS_CLOSED even. 0 or a positive errno:
 * EINTR; EAGAIN, the deadline has passed. */
int rs_wait(struct rsocket *rs, short events, int64_t deadline_ns);

#endif
