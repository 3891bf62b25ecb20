/* SPDX-License-Identifier: MIT */
/* Files of a memory link: private to net/link/memory/.
 *
 *   the hub: struct memory_hub_page, which the server writes
 *   for each slot: struct memory_slot_page, then the ring to slot 0, to slot 1, ...
 *
 * A file has one writer. Each process of a slot gets a new file from the server, maps it to write,
 * and then seals it: from then on nobody can map or write it except by the mappings that are there,
 * which are the process's and the server's. The server goes on with a slot whose process has
 * exited. All others map the file to read. Where the kernel cannot seal, files stay open to all.
 * Files are sparse: a ring takes memory once it is used. */
#ifndef RXE_LINK_MEMORY_LAYOUT_H
#define RXE_LINK_MEMORY_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/memory/memory.h"
#include "net/link/memory/ring.h"
#include "net/wire/gid.h"

#define MEMORY_MAGIC  0x31676e6972657872ull /* "rxering1" */
#define MEMORY_GROUPS 256u

/* Abstract name of a socket, without the leading zero. */
struct memory_doorbell {
	uint8_t len; /* 0: none */
	char name[15];
};

struct memory_hub_page {
	uint64_t magic;
	uint32_t slots;
	uint32_t is_sealed; /* 1: each process seals its file */
	uint64_t cookie;    /* doorbells take no datagram but this number */
	/* Counts changes of what follows. */
	_Alignas(64) _Atomic uint32_t generation;
	_Atomic uint64_t live[MEMORY_SLOTS / 64];
	/* Of each slot's file; 0: it never had one. A process that takes a slot has a new epoch. */
	_Alignas(64) _Atomic uint32_t epoch[MEMORY_SLOTS];
	/* By receiver, then sender: the sender has mapped the receiver's file, and may have sent. */
	_Alignas(64) _Atomic uint64_t met[MEMORY_SLOTS][MEMORY_SLOTS / 64];
	_Alignas(64) struct memory_doorbell doorbell[MEMORY_SLOTS];
};

/* What a process says to the one of another slot. A position counts while the epoch before it is
 * that of the reader: what was said to the slot's former process is not for the present one. */
struct memory_pair {
	_Alignas(64) _Atomic uint32_t tail_epoch;
	_Atomic uint64_t tail; /* of the ring to that slot */
	_Alignas(64) _Atomic uint32_t head_epoch;
	_Atomic uint64_t head; /* what was read of the ring from that slot */
};

struct memory_slot_page {
	/* Odd: the process waits for its doorbell. Each sender rings once for each value. Pairs
	 * with the tails of rings: the process arms, then looks at tails; a sender advances tail,
	 * then looks here. */
	_Alignas(4096) _Atomic uint32_t armed;
	_Alignas(64) _Atomic uint32_t num_groups;
	struct gid group[MEMORY_GROUPS];
	struct memory_pair pair[MEMORY_SLOTS];
};
static_assert(sizeof(struct memory_pair) == 128, "shared memory layout");
static_assert(offsetof(struct memory_slot_page, pair) == 4096 + 128, "shared memory layout");
static_assert(sizeof(struct memory_slot_page) % 4096 == 0, "a ring begins at a page");

static inline size_t memory_ring_offset(uint32_t to)
{
	return sizeof(struct memory_slot_page) + (size_t)to * RING_BYTES;
}

static inline size_t memory_file_len(uint32_t slots)
{
	return memory_ring_offset(slots);
}

/* The ring to a slot, in a mapping of the whole file. */
static inline uint8_t *memory_ring(struct memory_slot_page *file, uint32_t to)
{
	return (uint8_t *)file + memory_ring_offset(to);
}

#endif
