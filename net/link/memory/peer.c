// SPDX-License-Identifier: MIT
/* The processes of other slots: their files are asked for and mapped when first used. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "net/link/memory/private.h"

#define RING_TWICE (2 * (size_t)RING_BYTES)
/* A file that is not to be had is asked for again after this time. */
#define REFUSED_NS 1000000u

/* Head of a ring of which nothing was read. */
static const _Atomic uint64_t nothing;

static uint8_t *reserve_twice(void)
{
	void *map = mmap(NULL, RING_TWICE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* A second mapping of what is mapped: mremap(2) of a length of 0. UCX replaces the C library's
 * function by one that takes no fifth argument. */
static bool map_again(void *from, size_t len, void *to)
{
	return syscall(SYS_mremap, from, (size_t)0, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
	       (long)(uintptr_t)to;
}

bool memory_can_map_again(void *at, size_t len)
{
	uint8_t *to = reserve_twice();
	bool can;

	assert(len <= RING_TWICE);
	can = to && map_again(at, len, to);
	if (to)
		(void)munmap(to, RING_TWICE);
	return can;
}

/* A ring of a file, then the same again: no record is cut at the end. own: this link's file, which
 * is sealed: nothing maps it to write any more but map_again(). NULL: a file by its descriptor. */
static uint8_t *map_twice(struct memory_slot_page *own, int fd, uint32_t to, int rights)
{
	const off_t offset = (off_t)memory_ring_offset(to);
	uint8_t *map = reserve_twice();
	bool is_mapped = map;

	for (uint32_t i = 0; is_mapped && i < 2; i++) {
		uint8_t *at = map + i * RING_BYTES;

		is_mapped = own ? map_again(memory_ring(own, to), RING_BYTES, at)
				: mmap(at, RING_BYTES, rights, MAP_SHARED | MAP_FIXED, fd,
				       offset) == at;
	}
	if (is_mapped) {
		(void)madvise(map, RING_TWICE, MADV_DONTDUMP);
		return map;
	}
	if (map)
		(void)munmap(map, RING_TWICE);
	return NULL;
}

static uint8_t *map_unsealed(const struct memory_link *link, uint32_t to)
{
	return map_twice(NULL, link->cfg.file_fd, to, PROT_READ | PROT_WRITE);
}

/* The ring to a slot. */
static uint8_t *map_out(const struct memory_link *link, uint32_t to)
{
	if (link->hub->is_sealed)
		return map_twice(link->own, -1, to, 0);
	/* A program that closed the descriptor may have one of its own at the number. */
	return descriptor_is_kept(link->cfg.file_fd) ? map_unsealed(link, to) : NULL;
}

int memory_map_rings_out(struct memory_link *link)
{
	for (uint32_t to = 0; to < link->slots; to++) {
		link->out_map[to] = map_unsealed(link, to);
		if (!link->out_map[to])
			return -ENOMEM;
	}
	return 0;
}

static void free_peer(struct memory_peer *peer)
{
	if (peer->in_map)
		(void)munmap(peer->in_map, RING_TWICE);
	if (peer->file)
		(void)munmap((void *)(uintptr_t)peer->file, sizeof(*peer->file));
	free(peer);
}

static bool map_peer(struct memory_link *link, uint32_t slot, int fd, struct memory_peer *peer)
{
	void *file = mmap(NULL, sizeof(*peer->file), PROT_READ, MAP_SHARED, fd, 0);

	if (file == MAP_FAILED)
		return false;
	peer->file = file;
	peer->in_map = map_twice(NULL, fd, link->cfg.slot, PROT_READ);
	if (!link->out_map[slot])
		link->out_map[slot] = map_out(link, slot);
	return peer->in_map && link->out_map[slot];
}

/* What was said to the slot's former process is void. A process that is killed in between has said
 * nothing. */
static void address_to(_Atomic uint32_t *epoch, _Atomic uint64_t *position, uint32_t to)
{
	if (atomic_load(epoch) == to)
		return;
	atomic_store(epoch, 0);
	atomic_store(position, 0);
	/* Pairs with the loads in hear() and memory_peer_space(). */
	atomic_store(epoch, to);
}

static void open_rings(struct memory_link *link, uint32_t slot, struct memory_peer *peer)
{
	struct memory_pair *own = &link->own->pair[slot];

	address_to(&own->tail_epoch, &own->tail, peer->epoch);
	address_to(&own->head_epoch, &own->head, peer->epoch);
	peer->out = (struct ring_producer){ .data = link->out_map[slot],
					    .tail = &own->tail,
					    .head = &nothing };
	peer->in = (struct ring_consumer){ .data = peer->in_map,
					   .tail = &peer->last_tail,
					   .head = &own->head };
	ring_producer_open(&peer->out);
	ring_consumer_open(&peer->in);
	atomic_init(&peer->last_tail, peer->in.at);
}

static struct memory_peer *ask(struct memory_link *link, uint32_t slot)
{
	struct memory_peer *peer = NULL;
	uint32_t epoch;
	int fd;

	assert(!link->peer[slot]);
	link->is_hub_busy = false;
	if (memory_is_refused(link, slot))
		return NULL;
	fd = link->cfg.meet(link->cfg.meet_arg, link->cfg.slot, slot, &epoch);
	link->is_hub_busy = fd == -EBUSY;
	if (link->is_hub_busy)
		return NULL;
	if (fd >= 0)
		peer = calloc(1, sizeof(*peer));
	if (peer && !map_peer(link, slot, fd, peer)) {
		free_peer(peer);
		peer = NULL;
	}
	if (fd >= 0)
		(void)close(fd);
	link->refused_ns[slot] = peer ? 0 : clock_now_ns();
	if (!peer)
		return NULL;
	peer->epoch = epoch;
	open_rings(link, slot, peer);
	return link->peer[slot] = peer;
}

bool memory_is_refused(const struct memory_link *link, uint32_t slot)
{
	return link->refused_ns[slot] && clock_now_ns() - link->refused_ns[slot] < REFUSED_NS;
}

bool memory_peer_is_present(const struct memory_link *link, uint32_t slot,
			    const struct memory_peer *peer)
{
	return memory_is_live(link->hub, slot) && peer->epoch == memory_epoch(link->hub, slot);
}

struct memory_peer *memory_peer_get(struct memory_link *link, uint32_t slot)
{
	struct memory_peer *peer = link->peer[slot];

	assert(slot < link->slots);
	if (peer && memory_peer_is_present(link, slot, peer))
		return peer;
	if (peer)
		memory_peer_leave(link, slot);
	return link->peer[slot] ? link->peer[slot] : ask(link, slot);
}

uint8_t *memory_peer_space(const struct memory_link *link, struct memory_peer *peer, uint32_t len)
{
	const struct memory_pair *theirs = &peer->file->pair[link->cfg.slot];

	if (peer->out.head == &nothing &&
	    atomic_load_explicit(&theirs->head_epoch, memory_order_acquire) == link->epoch)
		peer->out.head = &theirs->head;
	return ring_reserve(&peer->out, len);
}

/* A peer that has begun no ring for this process has sent nothing. */
static void hear(const struct memory_link *link, struct memory_peer *peer)
{
	const struct memory_pair *theirs = &peer->file->pair[link->cfg.slot];

	if (peer->in.tail == &peer->last_tail && !peer->has_left &&
	    atomic_load_explicit(&theirs->tail_epoch, memory_order_acquire) == link->epoch)
		peer->in.tail = &theirs->tail;
}

bool memory_peer_waits(const struct memory_link *link, struct memory_peer *peer)
{
	hear(link, peer);
	return peer->segs_left > 0 || ring_waits(&peer->in);
}

/* What it has sent until now is received, and no more: nothing keeps the slot's next process
 * waiting. */
static void end_ring(const struct memory_link *link, struct memory_peer *peer)
{
	hear(link, peer);
	atomic_store(&peer->last_tail, atomic_load(peer->in.tail));
	peer->in.tail = &peer->last_tail;
	peer->has_left = true;
}

void memory_peer_leave(struct memory_link *link, uint32_t slot)
{
	struct memory_peer *peer = link->peer[slot];

	if (!peer->has_left)
		end_ring(link, peer);
	if (peer->has_taken || memory_peer_waits(link, peer))
		return;
	link->finished[slot] = peer->epoch;
	link->peer[slot] = NULL;
	free_peer(peer);
}

void memory_peers_free(struct memory_link *link)
{
	for (uint32_t i = 0; i < MEMORY_SLOTS; i++) {
		if (link->peer[i])
			free_peer(link->peer[i]);
		if (link->out_map[i])
			(void)munmap(link->out_map[i], RING_TWICE);
	}
}
