/* SPDX-License-Identifier: MIT */
/* Progress of rsockets, made by whichever thread is in a call, and waiting until they are ready. */
#ifndef RXE_RSOCKET_WAIT_H
#define RXE_RSOCKET_WAIT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/rdmacm/rsocket/ready.h"

struct rsocket;

/* Handles completions and sends what credits are due. Wakes waiters. The lock is held. */
void rs_progress(struct rsocket *rs);
/* The same, and connection events first: one system call at least. errno stays. */
void rs_progress_events(struct rsocket *rs);

/* The time of CLOCK_MONOTONIC when a timeout from now passes. Negative: never. */
int64_t rs_deadline(int64_t timeout_ns);
/* Waits until one of the events is there. The lock is held at the call and after it, and released
 * while the thread waits: the state may be another one, RS_CLOSED even. 0 or a positive errno:
 * EINTR; EAGAIN, the deadline has passed. */
int rs_wait(struct rsocket *rs, short events, int64_t deadline_ns);
/* Makes progress until one of the events is there; waits for it if the call may. The lock is held.
 * 0 or a positive errno. */
int rs_await(struct rsocket *rs, short events, bool may_wait, int64_t timeout_ns);
/* Whether a call with these flags waits. */
bool rs_may_wait(const struct rsocket *rs, int flags);

/* What a call that waits for several descriptors wants to know of one of them. */
struct rs_interest {
	struct rsocket *rs; /* with a reference of the caller's. NULL: another descriptor, fd */
	int fd;
	short revents;
	/* Why it could not connect: a positive errno that SO_ERROR also reports; 0: it could. */
	int err;
	struct rs_waiter waiter; /* events, and edges that are reported */
};

/* Makes progress of an rsocket, and sets revents and err. is_thorough: also checks descriptors, by
 * system calls. Takes the lock. */
void rs_interest_check(struct rs_interest *interest, bool is_thorough);
/* Waits until one may be ready. As poll(2): -1, and errno; 0, the deadline has passed. */
int rs_interests_wait(struct rs_interest *interests, uint64_t n, int64_t deadline_ns);

/* Closes a set of epoll. 0 or a positive errno: EBADF, there is none with this descriptor. */
int rs_epoll_close(int fd);

#endif
