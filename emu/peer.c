/* SPDX-License-Identifier: MIT */
/* Peers: a small memory of the ports that packets come from and go to. */
#include "emu/peer.h"

#include <string.h>

static uint32_t hash(const struct gid *gid, uint32_t slot)
{
	uint64_t half[2];
	uint64_t h;

	memcpy(half, gid->raw, sizeof(half));
	h = (half[0] ^ (half[1] + slot)) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32);
}

struct rxe_peer *rxe_peer_get(struct rxe_peers *peers, const struct gid *gid, uint32_t slot)
{
	struct rxe_peer *peer = &peers->peer[hash(gid, slot) % RXE_PEERS];

	if (!peer->known || peer->slot != slot || !gid_equal(&peer->gid, gid))
		*peer = (struct rxe_peer){ .gid = *gid, .slot = slot, .known = true };
	return peer;
}
