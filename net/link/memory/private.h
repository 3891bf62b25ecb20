/* SPDX-License-Identifier: MIT */
/* The parts of a memory link: private to net/link/memory/. */
#ifndef RXE_LINK_MEMORY_PRIVATE_H
#define RXE_LINK_MEMORY_PRIVATE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/memory/memory.h"
#include "net/link/memory/ring.h"
#include "net/wire/packet.h"

/* Files of a memory link:
 *
 *   the hub: struct memory_hub_page, which the server writes
 *   for each slot: struct memory_slot_page, then the ring to slot 0, to slot 1, ...
 *
 * A file has one writer. Each process of a slot gets a new file from the server, maps it to write,
 * and then seals it: from then on no process can map or write it except by the mappings that are
 * there, which are the process's and the server's. The server goes on with a slot whose process has
 * exited. All others map the file to read. Where the kernel cannot seal, files stay open to all.
 * Files are sparse: a ring takes memory once it is used. */
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
	/* The epoch of each slot's file; 0: the slot never had one. A process that takes a slot has
	 * a new epoch. */
	_Alignas(64) _Atomic uint32_t epoch[MEMORY_SLOTS];
	/* By receiver, then sender: the sender has mapped the receiver's file, and may have
	 * sent. */
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

/* What the threads of a process wait for. */
#define MEMORY_DOORBELL 1u
#define MEMORY_BELL	2u
#define MEMORY_ARMED	(MEMORY_DOORBELL | MEMORY_BELL)

struct memory_slot_page {
	/* MEMORY_ARMED, and above it a count. Each sender rings once for each value. Pairs with the
	 * tails of rings: the process arms, then looks at tails; a sender advances tail, then looks
	 * here. */
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

#define MEMORY_BATCH	 128u /* arrivals of one call */
#define MEMORY_HEADERS	 64u  /* bytes of each that are copied */
#define MEMORY_COPIES	 (256u * 1024)
#define MEMORY_HOP_LIMIT 64

static_assert(MEMORY_HEADERS >= WIRE_MAX_HEADERS, "the copy has all headers");

/* The process of another slot, and the rings between it and this one. */
struct memory_peer {
	uint32_t epoch;
	const struct memory_slot_page *file; /* the peer's, to read */
	uint8_t *in_map;		     /* the ring from the peer, twice */
	struct ring_producer out;
	struct ring_consumer in;
	/* Another process has the slot, or none: in ends here. */
	bool has_left;
	_Atomic uint64_t last_tail;

	uint32_t rung; /* value of its armed for which this process rang */

	/* The ring is full since then, with its head there; 0: it is not. */
	uint64_t full_since_ns, full_head;

	/* In the record that was taken last: packets left to return, and the next one. */
	uint32_t segs_left;
	struct ring_record record;
	const uint8_t *next;
	uint32_t bytes_left;
	bool has_taken; /* records to release */
};

struct memory_link {
	struct link base; /* first: a struct link * is one of these */
	struct memory_cfg cfg;
	uint32_t slots, epoch;
	const struct memory_hub_page *hub;
	struct memory_slot_page *own; /* this slot's file, to write */
	bool is_own_mapped;	      /* by this link */
	bool complete;

	/* By slot; NULL: nothing was sent or received yet. */
	struct memory_peer *peer[MEMORY_SLOTS];
	/* The ring to the slot, twice; stays when the peer changes. */
	uint8_t *out_map[MEMORY_SLOTS];
	/* Epoch of the last peer of the slot of which everything was read. */
	uint32_t finished[MEMORY_SLOTS];
	/* When its file was asked for in vain. */
	uint64_t refused_ns[MEMORY_SLOTS];
	/* The hub could not be asked now. */
	bool is_hub_busy;
	/* Slots whose rings to this one are read: those that are live and may have sent something,
	 * and those that left something. As of that generation. */
	uint32_t generation, num_scanned, first_scanned;
	uint8_t scanned[MEMORY_SLOTS];
	/* Those of peers with records to release. */
	uint32_t num_taken;
	uint8_t taken[MEMORY_SLOTS];

	/* Threads that wait for the doorbell or the bell. */
	_Atomic uint32_t waiters;
	/* One of them found the doorbell readable. */
	_Atomic bool is_readable;

	uint8_t headers[MEMORY_BATCH][MEMORY_HEADERS];
	uint8_t *copies; /* MEMORY_COPIES, for complete arrivals; NULL: none */
	uint32_t copied;
};

/* Operations (net/link/link.h). */
int memory_send(struct link *base, const struct wire_train *trains, size_t n);
int memory_receive(struct link *base, struct wire_arrival *ret, size_t max);
void memory_handled(struct link *base);
bool memory_wait_begins(struct link *base);
void memory_wait_ended(struct link *base, bool readable);
bool memory_sleep_begins(struct link *base, uint32_t *ret_rings);
bool memory_sleep(struct link *base, uint32_t rings, uint64_t ns);
void memory_wake(struct link *base);
uint8_t *memory_space(struct link *base, const struct gid *dst, uint32_t slot);

/* The process of a slot; asks for its file and maps it. NULL: none, no memory, or is_hub_busy.
 * While anything is left to read of the slot's former process, that one. */
struct memory_peer *memory_peer_get(struct memory_link *link, uint32_t slot);
/* Whether it is the slot's present process. */
bool memory_peer_is_present(const struct memory_link *link, uint32_t slot,
			    const struct memory_peer *peer);
/* Whether there is something to read. */
bool memory_peer_waits(const struct memory_link *link, struct memory_peer *peer);
/* Whether a mapping can be copied: rings of a sealed file are mapped so. at, len: any shared
 * mapping. */
bool memory_can_map_again(void *at, size_t len);
/* Maps the ring to each slot, while the file is not sealed yet. Returns 0 or -ENOMEM. */
int memory_map_rings_out(struct memory_link *link);
/* Its file was asked for in vain a moment ago. */
bool memory_is_refused(const struct memory_link *link, uint32_t slot);
/* As ring_reserve(), in the ring to a peer. */
uint8_t *memory_peer_space(const struct memory_link *link, struct memory_peer *peer, uint32_t len);
/* Finishes with a process that has left the slot once all is read. Then link->peer[slot] is
 * NULL. */
void memory_peer_leave(struct memory_link *link, uint32_t slot);
/* The link is closed. */
void memory_peers_free(struct memory_link *link);

/* Makes a slot's doorbell readable. from_fd: also a doorbell. */
void memory_ring_doorbell(const struct memory_hub_page *hub, uint32_t slot, int from_fd);
/* Wakes the threads of a slot's process that wait for one of armed. */
void memory_wake_slot(const struct memory_hub_page *hub, struct memory_bell *bells, uint32_t slot,
		      uint32_t armed, int from_fd);
/* The value of armed after this one, for what the threads wait for now. */
static inline uint32_t memory_next_armed(uint32_t armed, uint32_t kinds)
{
	return (armed | MEMORY_ARMED) + 1 + kinds;
}

static inline bool memory_is_live(const struct memory_hub_page *hub, uint32_t slot)
{
	return atomic_load_explicit(&hub->live[slot / 64], memory_order_relaxed) >> slot % 64 & 1;
}
static inline uint32_t memory_epoch(const struct memory_hub_page *hub, uint32_t slot)
{
	return atomic_load_explicit(&hub->epoch[slot], memory_order_acquire);
}
static inline uint32_t memory_num_groups(const struct memory_slot_page *file)
{
	const uint32_t n = atomic_load_explicit(&file->num_groups, memory_order_acquire);

	return n < MEMORY_GROUPS ? n : MEMORY_GROUPS;
}
/* Whether a slot's process has joined the group. */
static inline bool memory_is_member(const struct memory_slot_page *file, const struct gid *group)
{
	const uint32_t n = memory_num_groups(file);

	return gid_find(file->group, n, group) < n;
}

#endif
