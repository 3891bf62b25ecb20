/* SPDX-License-Identifier: MIT */
/* How full the sockets of this instance's processes are, by sums in shared memory: each process tells what it offered to each
 * other and what it took. UC and UD have no acknowledgements; this keeps them from drowning a neighbour (emu/pace.h). */
#ifndef RXE_PROGRESS_CREDITS_H
#define RXE_PROGRESS_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"
#include "net/wire/train.h"

struct progress;

/* What is remembered of the others, so that a look at all of them is seldom. Under the engine lock. */
struct credits {
	uint64_t live_at_ns; /* when the list was made */
	uint32_t num_live;
	uint16_t live[RXE_MAX_SLOTS];
	struct {
		uint64_t offered; /* by others */
		uint64_t at_ns;
	} to[RXE_MAX_SLOTS];
	bool took; /* something was received since our sum was last put right */
	uint64_t right_at_ns;
};

/* For the engine: struct rxe_host_ops. */
uint32_t credits_left(void *host, const struct gid *dst, uint32_t slot);
void credits_spent(void *host, const struct gid *dst, uint32_t slot, uint32_t cost);

/* Received: n arrivals; or the socket was found empty, so that all that had been offered was taken or lost. Under the lock. */
void credits_returned(struct progress *progress, const struct wire_arrival *arrivals, int n);
void credits_socket_empty(struct progress *progress, uint64_t now_ns);

#endif
