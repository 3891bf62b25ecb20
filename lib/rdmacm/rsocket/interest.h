/* SPDX-License-Identifier: MIT */
/* Interests: what a call that waits for several descriptors wants to know of each of them, be it an
 * rsocket or not. */
#ifndef RXE_RSOCKET_INTEREST_H
#define RXE_RSOCKET_INTEREST_H

#include <poll.h>
#include <stdint.h>

#include "lib/rdmacm/rsocket/waiter.h"

struct rsocket;

struct rs_interest {
	struct rsocket *rs; /* with a reference of the caller's. NULL: another descriptor, fd */
	int fd;
	short revents;
	struct rs_waiter waiter; /* events, and edges that are reported */
	uint64_t first;		 /* index of its descriptors among those that poll(2) waits for */
	int n;
};

/* Makes progress of an rsocket, and sets revents. is_thorough: looks at descriptors, too, by system
 * calls. */
void rs_interest_check(struct rs_interest *interest, bool is_thorough);
/* Waits until one may be ready. As poll(2): -1, and errno; 0, the deadline has passed. */
int rs_interests_wait(struct rs_interest *interests, uint64_t n, int64_t deadline_ns);

#endif
