/* SPDX-License-Identifier: MIT */
/* Tables of peers and their ports. A port is looked up for every packet whose IP identification
 * the link could not see, a peer once for each connection. */
#include "emu/peer.h"

#include <assert.h>
#include <string.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/qp.h"

#define PROBES 8

static uint32_t hash(const struct gid *gid, uint32_t slot)
{
	uint64_t half[2];
	uint64_t h;

	memcpy(half, gid->raw, sizeof(half));
	h = (half[0] ^ (half[1] + slot)) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32);
}

static bool is_worse(const struct rxe_peer *a, const struct rxe_peer *b)
{
	return b->known && (!a->known || a->in_flight < b->in_flight);
}

struct rxe_peer *rxe_peer_get(struct rxe_peers *peers, const struct gid *gid, uint32_t slot)
{
	uint32_t first = hash(gid, slot);
	struct rxe_peer *victim = &peers->peer[first % RXE_PEERS];

	for (uint32_t i = 0; i < PROBES; i++) {
		struct rxe_peer *peer = &peers->peer[(first + i) % RXE_PEERS];

		if (peer->known && peer->slot == slot && gid_equal(&peer->gid, gid))
			return peer;
		if (is_worse(peer, victim))
			victim = peer;
	}
	*victim = (struct rxe_peer){ .gid = *gid, .slot = slot, .known = true };
	return victim;
}

struct rxe_peer *rxe_peer_of(struct rxe_engine *engine, const struct rxe_qp *qp)
{
	const struct rxe_engine_cfg *cfg = &engine->cfg;
	const uint32_t slot = qp->attr.dest_qp_num >> RXE_SLOT_SHIFT;
	struct rxe_peer *peer = rxe_peer_get(&engine->peers, &qp->flow.dst, slot);

	assert(cfg->local_window == 0 || cfg->local_window >= RXE_WINDOW_BYTES);
	peer->is_local = cfg->ops->credits &&
			 cfg->ops->credits(cfg->host, &qp->flow.dst, slot) != UINT32_MAX;
	peer->window = cfg->local_window && peer->is_local ? cfg->local_window : RXE_WINDOW_BYTES;
	return peer;
}

struct rxe_port *rxe_port_get(struct rxe_peers *peers, const struct gid *gid)
{
	struct rxe_port *port = &peers->port[hash(gid, 0) % RXE_PORTS];

	if (!gid_equal(&port->gid, gid))
		*port = (struct rxe_port){ .gid = *gid };
	return port;
}
