/* SPDX-License-Identifier: MIT */
/* The file of the rings: private to net/link/memory/.
 *
 *   struct memory_area: what the server writes, and a part for each slot
 *   the ring from slot 0 to slot 0, from 0 to 1, ... each a page and RING_BYTES
 *
 * Who writes: the server the hub's part, the slot's process everything under the slot's number:
 * its part of the area, the rings that begin at it, and in their first page its positions in the
 * rings that end at it. Each process maps all else to read only. The file is sparse: a ring takes
 * memory once it is used. */
#ifndef RXE_LINK_MEMORY_LAYOUT_H
#define RXE_LINK_MEMORY_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/memory/memory.h"
#include "net/link/memory/ring.h"
#include "net/wire/gid.h"

#define MEMORY_MAGIC	0x30676e6972657872ull /* "rxering0" */
#define MEMORY_PAGE	4096u
#define MEMORY_GROUPS	256u
#define MEMORY_RING_LEN (MEMORY_PAGE + RING_BYTES)

/* Abstract name of a socket, without the leading zero. */
struct memory_doorbell {
	uint8_t len; /* 0: none */
	char name[15];
};

struct memory_area_hub {
	uint64_t magic;
	uint32_t slots;
	uint32_t reserved;
	uint64_t cookie; /* doorbells take no datagram but this number */
	/* Counts changes of live. */
	_Alignas(64) _Atomic uint32_t generation;
	_Atomic uint64_t live[MEMORY_SLOTS / 64];
	_Alignas(64) struct memory_doorbell doorbell[MEMORY_SLOTS];
};

struct memory_area_slot {
	/* Odd: the process waits for its doorbell. Each sender rings once for each value. Pairs
	 * with the tails of rings: the process arms, then looks at tails; a sender advances tail,
	 * then looks here. */
	_Alignas(MEMORY_PAGE) _Atomic uint32_t armed;
	/* By slot: something was sent to it. */
	_Alignas(64) _Atomic uint64_t used[MEMORY_SLOTS / 64];
	_Alignas(64) _Atomic uint32_t num_groups;
	struct gid group[MEMORY_GROUPS];
};

struct memory_area {
	_Alignas(MEMORY_PAGE) struct memory_area_hub hub;
	struct memory_area_slot slot[MEMORY_SLOTS];
};
static_assert(sizeof(struct memory_area_slot) == 2 * MEMORY_PAGE, "shared memory layout");
static_assert(offsetof(struct memory_area, slot) == 2 * MEMORY_PAGE, "shared memory layout");

/* The first page of a ring. */
struct memory_ring_page {
	_Alignas(64) _Atomic uint64_t tail; /* of this ring */
	/* What this ring's sender has read of the ring in the other direction. */
	_Alignas(64) _Atomic uint64_t head;
};
static_assert(sizeof(struct memory_ring_page) <= MEMORY_PAGE, "shared memory layout");

static inline size_t memory_ring_offset(uint32_t slots, uint32_t from, uint32_t to)
{
	return sizeof(struct memory_area) + ((size_t)from * slots + to) * MEMORY_RING_LEN;
}

static inline size_t memory_file_len(uint32_t slots)
{
	return memory_ring_offset(slots, slots, 0);
}

#endif
