/* SPDX-License-Identifier: MIT */
/* What the processes of one device publish to each other about their sockets in the slots of the
 * shared memory: datagrams on the way, and how full a socket is. Both are hints. Never waits.
 * Called by the engine and by lib/progress. */
#ifndef RXE_PROGRESS_LOCAL_PEER_H
#define RXE_PROGRESS_LOCAL_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"
#include "net/wire/train.h"

struct gid;
struct presence;
struct progress;

#define ARRIVALS_LOOK_NS   10000u
#define ARRIVALS_FLIGHT_NS 20000u

/* Announced datagrams: whether a packet may wait in this process's socket, without a system call. A
 * process counts each datagram to another process of the device in that slot's count, which all
 * processes write: one line to read for each poll, however many processes there are. The receiver
 * compares the count with what it took.
 *
 * A process announces a datagram before it sends it. The receiver reads its empty socket a few
 * times meanwhile, and gets the datagram 0.8 us sooner than if it began when the send returned. It
 * reads again at once: a poll in between takes as long as two reads. A datagram that has not
 * arrived within ARRIVALS_FLIGHT_NS is lost.
 *
 * Senders that announce nothing (other hosts, other instances, the server, multicast) are found by
 * time: the socket is read at least every ARRIVALS_LOOK_NS, and at every call for a while after it
 * held a datagram that no process had announced. Used by the UDP link only.
 *
 * Under the engine lock, except is_readable. */
struct arrivals {
	/* Datagrams received; at an empty socket, all that were announced. */
	uint32_t taken;
	/* What was announced before the current call of the link, and before the last one that
	 * arrivals_looks() was asked about. */
	uint32_t announced, looked_for;
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
/* How often to ask the link at most, until it gives something. Often if a datagram was announced
 * since the last call. */
uint32_t arrivals_looks(struct progress *progress);
/* The next arrivals_are_expected() returns true. */
void arrivals_look(struct progress *progress);
void arrivals_received(struct progress *progress, const struct wire_arrival *arrivals, int n,
		       bool may_have_more, uint64_t now_ns);
/* A thread waited on the link. Needs no lock. */
void arrivals_waited(struct progress *progress, bool readable);

/* Credits: how full the sockets of the other processes are. Each process sums what it offered to
 * each other process, and what it took from its own socket. UC and UD have no acknowledgements;
 * credits keep them from overflowing a local peer's socket (emu/pace.h). Units are those of
 * rxe_pace_cost(). A packet that the kernel dropped is corrected when its receiver finds the socket
 * empty; a packet counted at the wrong moment gives a few credits too many or too few until then.
 *
 * Cached sums of the other processes. Under the engine lock. */
struct credits {
	struct {
		/* By others. */
		uint64_t offered;
		uint64_t at_ns;
	} to[RXE_MAX_SLOTS];
	/* Something was received since our own sum was last corrected. */
	bool took;
	uint64_t corrected_at_ns;
};

/* Where the process in that slot runs; NULL: it is no process of this device. */
const struct presence *local_peer_presence(const struct progress *progress, const struct gid *dst,
					   uint32_t slot);

/* struct rxe_host_ops: bytes that may be sent to the process in that slot, UINT32_MAX if it is no
 * local peer; and what was sent. */
uint32_t credits_left(void *host, const struct gid *dst, uint32_t slot);
void credits_spent(void *host, const struct gid *dst, uint32_t slot, uint32_t cost);

/* n arrivals were received. The socket was found empty: all that was offered has been taken or is
 * lost. Under the engine lock. */
void credits_returned(struct progress *progress, const struct wire_arrival *arrivals, int n);
void credits_socket_empty(struct progress *progress, uint64_t now_ns);

#endif
