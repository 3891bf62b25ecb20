// SPDX-License-Identifier: MIT
/* The rings between two slots: mapped when first used. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "net/link/memory/private.h"

#define MAP_LEN (MEMORY_PAGE + 2 * (size_t)RING_BYTES)

/* The page and the data, then the data again: no record is cut at the end. */
static uint8_t *map_ring(const struct memory_link *link, uint32_t from, uint32_t to, int rights)
{
	const int flags = MAP_SHARED | MAP_FIXED;
	const off_t offset = (off_t)memory_ring_offset(link->slots, from, to);
	uint8_t *map =
		mmap(NULL, MAP_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	if (mmap(map, MEMORY_RING_LEN, rights, flags, link->fd, offset) == MAP_FAILED ||
	    mmap(map + MEMORY_RING_LEN, RING_BYTES, rights, flags, link->fd,
		 offset + MEMORY_PAGE) == MAP_FAILED) {
		(void)munmap(map, MAP_LEN);
		return NULL;
	}
	(void)madvise(map, MAP_LEN, MADV_DONTDUMP);
	return map;
}

static bool open_peer(struct memory_link *link, uint32_t slot, struct memory_peer *peer)
{
	struct memory_ring_page *out, *in;

	peer->out_map = map_ring(link, link->slot, slot, PROT_READ | PROT_WRITE);
	peer->in_map = map_ring(link, slot, link->slot, PROT_READ);
	if (!peer->out_map || !peer->in_map)
		return false;
	out = (struct memory_ring_page *)(void *)peer->out_map;
	in = (struct memory_ring_page *)(void *)peer->in_map;
	peer->out = (struct ring_producer){ .data = peer->out_map + MEMORY_PAGE,
					    .tail = &out->tail,
					    .head = &in->head };
	peer->in = (struct ring_consumer){ .data = peer->in_map + MEMORY_PAGE,
					   .tail = &in->tail,
					   .head = &out->head };
	ring_producer_open(&peer->out);
	ring_consumer_open(&peer->in);
	return true;
}

struct memory_peer *memory_peer_get(struct memory_link *link, uint32_t slot)
{
	struct memory_peer *peer;

	assert(slot < link->slots);
	if (link->peer[slot])
		return link->peer[slot];
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	if (!open_peer(link, slot, peer)) {
		memory_peer_free(peer);
		return NULL;
	}
	return link->peer[slot] = peer;
}

void memory_peer_free(struct memory_peer *peer)
{
	if (!peer)
		return;
	if (peer->out_map)
		(void)munmap(peer->out_map, MAP_LEN);
	if (peer->in_map)
		(void)munmap(peer->in_map, MAP_LEN);
	free(peer);
}
