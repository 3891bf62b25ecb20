/* SPDX-License-Identifier: MIT */
/* The parts of a memory link: private to net/link/memory/. */
#ifndef RXE_LINK_MEMORY_PRIVATE_H
#define RXE_LINK_MEMORY_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/link/memory/layout.h"
#include "net/link/memory/memory.h"
#include "net/link/memory/ring.h"
#include "net/wire/packet.h"

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

	/* Of the record that was taken last: packets left to return, and the next one. */
	uint32_t segs_left;
	struct ring_record record;
	const uint8_t *next;
	uint32_t bytes_left;
	bool has_taken; /* records to release */
};

struct memory_link {
	struct link base; /* first: a struct link * is one of these */
	struct gid gid;
	uint32_t slot, slots, epoch;
	int file_fd; /* the caller's, as is base.wait_fd, the doorbell */
	const struct memory_hub_page *hub;
	struct memory_slot_page *own; /* this slot's file, to write */
	bool is_own_mapped;	      /* by this link */
	int (*meet)(void *arg, uint32_t from, uint32_t to, uint32_t *ret_epoch);
	void *meet_arg;
	bool complete;
	struct link_log log;

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
	/* Slots whose rings to this one are read: those that are live, and those that left
	 * something. As of that generation. */
	uint32_t generation, num_scanned, first_scanned;
	uint8_t scanned[MEMORY_SLOTS];

	/* Threads that wait for the doorbell. */
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
uint8_t *memory_space(struct link *base, const struct gid *dst, uint32_t slot);

/* The process of a slot; asks for its file and maps it. NULL: none, no memory, or is_hub_busy.
 * While anything is left to read of the slot's former process, that one. */
struct memory_peer *memory_peer_get(struct memory_link *link, uint32_t slot);
/* Whether it is the slot's present process. */
bool memory_peer_is_present(const struct memory_link *link, uint32_t slot,
			    const struct memory_peer *peer);
/* Whether there is something to read. */
bool memory_peer_waits(const struct memory_link *link, struct memory_peer *peer);
/* Whether a mapping can be copied: rings of a sealed file are mapped so. page: any shared mapping. */
bool memory_can_map_again(void *page);
/* Its file was asked for in vain a moment ago. */
bool memory_is_refused(const struct memory_link *link, uint32_t slot);
/* As ring_reserve(), in the ring to a peer. */
uint8_t *memory_peer_space(const struct memory_link *link, struct memory_peer *peer, uint32_t len);
/* Finishes with a process that has left the slot once all is read. Then link->peer[slot] is NULL. */
void memory_peer_leave(struct memory_link *link, uint32_t slot);
/* The link is closed. */
void memory_peers_free(struct memory_link *link);

/* from_fd: a doorbell, too. */
void memory_ring_doorbell(const struct memory_hub_page *hub, uint32_t slot, int from_fd);

static inline bool memory_is_live(const struct memory_hub_page *hub, uint32_t slot)
{
	return atomic_load_explicit(&hub->live[slot / 64], memory_order_relaxed) >> slot % 64 & 1;
}
static inline uint32_t memory_epoch(const struct memory_hub_page *hub, uint32_t slot)
{
	return atomic_load_explicit(&hub->epoch[slot], memory_order_acquire);
}
/* Whether the slot's process may have sent something that nobody has read. */
bool memory_has_news(const struct memory_link *link, uint32_t slot);
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

/* Follows the hub's list of slots. */
void memory_rescan(struct memory_link *link);
/* Gives space back, as far as the arrivals of former calls are concerned. */
void memory_release(struct memory_link *link);

/* The sender's side of the doorbell: wakes the slot's process if it waits. */
void memory_wake(struct memory_link *link, struct memory_peer *peer, uint32_t slot);
/* The receiver's: before rings are read. */
void memory_woken(struct memory_link *link);

#endif
