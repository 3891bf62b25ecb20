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

/* The rings between this slot and another. */
struct memory_peer {
	uint8_t *out_map, *in_map; /* page and data, then the data again */
	struct ring_producer out;
	struct ring_consumer in;
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

struct memory_joined {
	struct gid gid;
	uint32_t joins;
};

struct memory_link {
	struct link base; /* first: a struct link * is one of these */
	struct gid gid;
	uint32_t slot, slots;
	int fd, doorbell_fd; /* the caller's */
	const struct memory_area *area;
	struct memory_area_slot *own;
	uint16_t max_segs;
	bool icrc, complete, resumes;
	void (*log)(void *arg, const char *line);
	void *log_arg;
	bool warned;

	/* By slot; NULL: nothing was sent or received yet. */
	struct memory_peer *peer[MEMORY_SLOTS];
	/* Slots whose rings to this one are read: those that are live, and those that left
	 * something. As of that generation. */
	uint32_t generation, num_scanned, first_scanned;
	uint8_t scanned[MEMORY_SLOTS];

	/* Threads that wait for the doorbell. */
	_Atomic uint32_t waiters;
	/* One of them found the doorbell readable. */
	_Atomic bool is_readable;

	struct memory_joined joined[MEMORY_GROUPS];

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
int memory_join(struct link *base, const struct gid *group);
int memory_leave(struct link *base, const struct gid *group);

/* The rings between this slot and another; maps them. NULL: no memory. */
struct memory_peer *memory_peer_get(struct memory_link *link, uint32_t slot);
void memory_peer_free(struct memory_peer *peer);

bool memory_is_live(const struct memory_area *area, uint32_t slot);
/* Whether something was ever sent from one slot to another. */
bool memory_is_used(const struct memory_area *area, uint32_t from, uint32_t to);
/* Whether a slot's process has joined the group. */
bool memory_is_member(const struct memory_link *link, uint32_t slot, const struct gid *group);

/* Follows the hub's list of slots. */
void memory_rescan(struct memory_link *link);
/* Gives space back, as far as the arrivals of former calls are concerned. */
void memory_release(struct memory_link *link);

/* The sender's side of the doorbell: wakes the slot's process if it waits. */
void memory_wake(struct memory_link *link, struct memory_peer *peer, uint32_t slot);
/* The receiver's: before rings are read. */
void memory_woken(struct memory_link *link);

#endif
