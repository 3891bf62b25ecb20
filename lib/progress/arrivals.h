/* SPDX-License-Identifier: MIT */
/* Whether a packet may wait in this process's socket, without a system call. A process announces
 * each datagram to another process of the device in its own slot of the shared memory. The receiver
 * sums what all slots announced to it and compares with what it took.
 *
 * A process announces a datagram before it sends it. The receiver reads its empty socket a few
 * times meanwhile, and gets the datagram 0.8 us sooner than if it began when the send returned. A
 * datagram that has not arrived within ARRIVALS_FLIGHT_NS is lost.
 *
 * Announcements are hints. Senders that announce nothing (other hosts, other instances, the server,
 * multicast) are found by time: the socket is read at least every ARRIVALS_LOOK_NS, and at every
 * call for a while after it held what nobody had announced. Of the UDP link only. Called by turn.c,
 * poll.c and thread.c. */
#ifndef RXE_PROGRESS_ARRIVALS_H
#define RXE_PROGRESS_ARRIVALS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/wire/train.h"

#define ARRIVALS_LOOK_NS   10000u
#define ARRIVALS_FLIGHT_NS 20000u

struct progress;

/* Under the engine lock, except is_readable. */
struct arrivals {
	/* Datagrams received; at an empty socket, all that were announced. */
	uint32_t taken;
	/* What was announced before the current call of the link. */
	uint32_t announced;
	/* The fewest that were missing at an empty socket since that time; 0: none. */
	uint32_t missing;
	uint64_t missing_since_ns;
	/* The link has packets of the last call left. */
	bool has_more;
	uint64_t look_ns;
	uint64_t strangers_until_ns;
	/* A thread found the link's wait descriptor readable. */
	_Atomic bool is_readable;
};

/* A train is about to leave for the process in that slot; or could not leave. */
void arrivals_announce(struct progress *progress, const struct gid *dst, uint32_t slot);
void arrivals_retract(struct progress *progress, const struct gid *dst, uint32_t slot);
/* Whether the link must be asked. If so, arrivals_received() follows with what it gave. */
bool arrivals_are_expected(struct progress *progress, uint64_t now_ns);
void arrivals_received(struct progress *progress, const struct wire_arrival *arrivals, int n,
		       bool may_have_more, uint64_t now_ns);
/* A thread waited on the link. Needs no lock. */
void arrivals_waited(struct progress *progress, bool readable);

#endif
