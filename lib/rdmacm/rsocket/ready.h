/* SPDX-License-Identifier: MIT */
/* What an rsocket is ready for. Pure: the lock is held by the caller. */
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
/* The same for who has seen these edges: 0, unless there was another one of a wanted event. */
short rs_edge_revents(const struct rsocket *rs, short wanted, const struct rs_edges *seen);
/* Counts edges: how the events changed since the last call. */
void rs_count_edges(struct rsocket *rs);

#endif
