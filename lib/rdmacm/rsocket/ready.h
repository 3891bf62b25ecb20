/* SPDX-License-Identifier: MIT */
/* What an rsocket is ready for. Pure: the lock is held by the caller. */
#ifndef RXE_RSOCKET_READY_H
#define RXE_RSOCKET_READY_H

#include <poll.h>
#include <stdbool.h>

struct rsocket;

/* Events of our own, beside those of poll(2). */
#define RS_POLL_CONTROL POLLRDBAND /* a control message may be posted */
#define RS_POLL_SENT	POLLWRBAND /* no message is in flight */

/* Whether a data message may be posted. */
bool rs_has_credit(const struct rsocket *rs);
/* Whether rsend() returns at once, be it with an error. */
bool rs_is_writable(const struct rsocket *rs);
/* Whether rrecv() returns at once. */
bool rs_is_readable(const struct rsocket *rs);
bool rs_is_connecting(const struct rsocket *rs);
/* Those of the wanted events that are there. POLLNVAL is always wanted: the rsocket is closed. */
short rs_revents(const struct rsocket *rs, short wanted);

#endif
