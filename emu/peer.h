/* SPDX-License-Identifier: MIT */
/* What is remembered of others: of a port, whether its packets keep the IP identification rule; of each of its sockets, how
 * many request bytes are in flight to it (its buffer is small, and UDP drops in silence). */
#ifndef RXE_EMU_PEER_H
#define RXE_EMU_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

#define RXE_PEERS 1024
#define RXE_PORTS 256
/* So many packets in a row verified by the rule make a port strict. One is not enough: a port that counts its
 * identifications hits 0 by chance once in 65,536 packets, and would then be shut out. */
#define RXE_PORT_PROVEN 8

struct rxe_peer {
	struct gid gid;
	uint32_t slot;	    /* top bits of the destination QPN: one socket buffer each */
	uint32_t in_flight; /* bytes of requests sent and not acknowledged */
	bool known;
};

struct rxe_port {
	struct gid gid;
	uint8_t ruled; /* packets in a row that verified by the rule; RXE_PORT_PROVEN: hold it to that */
};

/* Hashed, and bounded: a newcomer may push another out, which costs nothing but memory of it. */
struct rxe_peers {
	struct rxe_peer peer[RXE_PEERS];
	struct rxe_port port[RXE_PORTS];
};

/* The entry for gid and slot, made if need be. It stays where it is, but may be given to another peer: its count begins anew
 * then. */
struct rxe_peer *rxe_peer_get(struct rxe_peers *peers, const struct gid *gid, uint32_t slot);
struct rxe_port *rxe_port_get(struct rxe_peers *peers, const struct gid *gid);

#endif
