/* SPDX-License-Identifier: MIT */
/* What is remembered of a peer port: whether its packets keep the IP identification rule, and how many request bytes are
 * in flight to it (its socket buffer is small, and UDP drops in silence). */
#ifndef RXE_EMU_PEER_H
#define RXE_EMU_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

#define RXE_PEERS 256

struct rxe_peer {
	struct gid gid;
	uint32_t slot;	    /* top bits of the destination QPN: one socket buffer each */
	uint32_t in_flight; /* bytes of requests sent and not acknowledged */
	bool known;
	bool strict; /* a packet verified by the rule: hold it to that */
};

/* Direct-mapped by GID and slot: a collision forgets the older one, which costs nothing but memory of it. */
struct rxe_peers {
	struct rxe_peer peer[RXE_PEERS];
};

#endif
