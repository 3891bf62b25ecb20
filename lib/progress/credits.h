/* SPDX-License-Identifier: MIT */
/* Credits towards local peers: how full the sockets of this instance's processes are. Each process
 * keeps two kinds of sums in its slot of the shared memory: what it offered to each other process,
 * and what it took from its own socket. UC and UD have no acknowledgements; credits keep them from
 * overflowing a local peer's socket (emu/pace.h). Units are those of rxe_pace_cost().
 *
 * The sums are hints. A packet that the kernel dropped is corrected when its receiver finds the
 * socket empty; a packet counted at the wrong moment gives a few credits too many or too few until
 * then. Never waits. Called by the engine and by lib/progress. */
#ifndef RXE_PROGRESS_CREDITS_H
#define RXE_PROGRESS_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"
#include "net/wire/train.h"

struct progress;

/* Cached sums of the other processes. Under the engine lock. */
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

/* struct rxe_host_ops: bytes that may be sent to the process in that slot, UINT32_MAX if it is no
 * local peer; and what was sent. */
uint32_t credits_left(void *host, const struct gid *dst, uint32_t slot);
void credits_spent(void *host, const struct gid *dst, uint32_t slot, uint32_t cost);

/* n arrivals were received. The socket was found empty: all that was offered has been taken or is
 * lost. Under the engine lock. */
void credits_returned(struct progress *progress, const struct wire_arrival *arrivals, int n);
void credits_socket_empty(struct progress *progress, uint64_t now_ns);

#endif
