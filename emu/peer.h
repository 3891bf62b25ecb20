/* SPDX-License-Identifier: MIT */
/* What is remembered of a peer port: whether its packets keep the IP identification rule, and how many request bytes are
 * in flight to it (its socket buffer is small, and UDP drops in silence). */
#ifndef RXE_EMU_PEER_H
#define RXE_EMU_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

#define RXE_PEERS 256
/* The slot of an entry that stands for the port as a whole: whether it keeps the identification rule. */
#define RXE_PEER_PORT UINT32_MAX
/* So many packets in a row verified by the rule make a peer strict. One is not enough: a peer that counts its
 * identifications hits 0 by chance once in 65,536 packets, and would then be shut out. */
#define RXE_PEER_PROVEN 8

struct rxe_peer {
	struct gid gid;
	uint32_t slot;	    /* top bits of the destination QPN: one socket buffer each */
	uint32_t in_flight; /* bytes of requests sent and not acknowledged */
	bool known;
	uint8_t ruled; /* packets in a row that verified by the rule; RXE_PEER_PROVEN: hold it to that */
};

/* Direct-mapped by GID and slot: a collision forgets the older one, which costs nothing but memory of it. */
struct rxe_peers {
	struct rxe_peer peer[RXE_PEERS];
};

/* The entry for gid and slot, made if need be. */
struct rxe_peer *rxe_peer_get(struct rxe_peers *peers, const struct gid *gid, uint32_t slot);

#endif
