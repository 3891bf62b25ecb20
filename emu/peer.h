/* SPDX-License-Identifier: MIT */
/* What is known of peers: of a port, whether its packets keep the IP identification rule; of each
 * of its sockets, how many request bytes are in flight (socket buffers are small, and UDP drops
 * silently). */
#ifndef RXE_EMU_PEER_H
#define RXE_EMU_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

struct rxe_engine;
struct rxe_qp;

#define RXE_PEERS 1024
#define RXE_PORTS 256
/* A port that sent this many packets by the rule is held to it. One is not enough: a port that
 * counts its identifications hits 0 once in 65,536 packets and would then be shut out. */
#define RXE_PORT_PROVEN 8

struct rxe_peer {
	struct gid gid;
	/* Top bits of the destination QPN: each slot has one socket buffer. */
	uint32_t slot;
	uint32_t in_flight; /* bytes of requests sent and not acknowledged */
	uint32_t window;    /* most of them, and one packet of each QP */
	bool known;
	bool is_local; /* the host reports the credits of its socket */
};

struct rxe_port {
	struct gid gid;
	uint8_t ruled; /* packets in a row that kept the rule, up to RXE_PORT_PROVEN */
};

/* Hashed and bounded: a new entry may evict another, which costs only the memory of it. */
struct rxe_peers {
	struct rxe_peer peer[RXE_PEERS];
	struct rxe_port port[RXE_PORTS];
};

/* The entry for gid and slot, created if missing. It never moves, but may be reassigned to another
 * peer: its count then restarts. */
struct rxe_peer *rxe_peer_get(struct rxe_peers *peers, const struct gid *gid, uint32_t slot);
/* The entry for a QP's peer, its window as the engine is set up. */
struct rxe_peer *rxe_peer_of(struct rxe_engine *engine, const struct rxe_qp *qp);
struct rxe_port *rxe_port_get(struct rxe_peers *peers, const struct gid *gid);

#endif
