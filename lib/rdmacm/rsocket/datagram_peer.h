/* SPDX-License-Identifier: MIT */
/* Peers of datagram rsockets: the addresses that messages go to and come from. The lock of the
 * rsocket is held by the caller of each function. */
#ifndef RXE_RSOCKET_DATAGRAM_PEER_H
#define RXE_RSOCKET_DATAGRAM_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/rdmacm/rsocket/message.h"

#define HASH_NONFATAL_OOM 1
/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash) HASH_OAT(key, len, hash)
#include <uthash.h>

struct ibv_ah;
struct rs_path;
struct rsocket;

struct rs_peer {
	UT_hash_handle hh; /* by address */
	struct rs_address address;
	struct rs_path *path; /* NULL: lost */
	struct ibv_ah *ah;
	uint32_t qpn; /* 0: not known yet */
};

/* The peer of an address, with a path to it. Looks for a path first where there is none: asks the
 * connection manager, which takes long where a neighbor does not answer. local: the address of ours
 * to send from; NULL: that of the rsocket, or, where it has none, whichever leads there.
 * is_lasting: an rsocket that is not bound gets the address that leads there, not only a port. 0 or
 * a positive errno. */
int rs_peer_get(struct rsocket *rs, const struct rs_address *address,
		const struct rs_address *local, bool is_lasting, struct rs_peer **ret);
/* Forgets the path in all peers that have it. */
void rs_peers_lose_path(struct rsocket *rs, const struct rs_path *path);
void rs_peers_free(struct rsocket *rs);

#endif
