/* SPDX-License-Identifier: MIT */
/* The memory link: packets travel in shared memory between the processes of one device, without a
 * network. No system call is made while both sides poll. A full ring takes no more (link_send
 * returns -EAGAIN) instead of losing packets.
 *
 * For each pair of slots there is one ring in each direction (ring.h). The device server (the hub)
 * makes a doorbell socket for each slot, and for each process a file with the rings to all others.
 * The process maps its file to write and seals it, so that no other process can. The hub hands it
 * to those who want to send to the process, or receive from it, to read. Nothing that a process
 * reads there is trusted: private.h says who writes what.
 *
 * Arrivals lie in the ring of their sender, who may change them. Each has a private copy of its
 * headers (wire_arrival.headers).
 *
 * ICRCs are left out (link_needs_icrc) unless the link was opened with icrc, or a wrapper asks for
 * complete arrivals.
 *
 * A process that takes nothing from its full ring for MEMORY_STALL_NS, because it is stopped, loses
 * packets until it runs again: others must not wait for it. */
#ifndef RXE_LINK_MEMORY_H
#define RXE_LINK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link/link.h"
#include "net/link/log.h"
#include "net/link/memory/bell.h"

#define MEMORY_SLOTS	  256u
#define MEMORY_FIRST_PORT 49152u /* source ports, of each slot others; the ICRC covers them */
#define MEMORY_STALL_NS	  10000000u

struct memory_hub_page;
struct memory_slot_page;

struct memory_hub_slot {
	int fd, doorbell;	       /* -1: none */
	struct memory_slot_page *file; /* mapped to write: the server goes on with it */
	uint32_t epoch;
};

/* The server's side: files and doorbells of one device. */
struct memory_hub {
	int fd; /* of the page */
	struct memory_hub_page *page;
	/* By slot; the owner sets them before the first process attaches: memory that all processes
	 * of the device write. */
	struct memory_bell *bells;
	uint32_t slots;
	uint32_t last_epoch;
	struct memory_hub_slot slot[MEMORY_SLOTS];
};

/* cookie: a random number that other users do not know. 0, -EINVAL (no such number of slots) or
 * -errno. */
int memory_hub_open(struct memory_hub *ret, uint32_t slots, uint64_t cookie);
/* Does nothing if hub->page is NULL. */
void memory_hub_close(struct memory_hub *hub);
/* A process takes the slot: gives it a new file and a doorbell, which stay the hub's. 0 or -errno
 * (-EFBIG: the limit of file sizes). */
int memory_hub_attach(struct memory_hub *hub, uint32_t slot);
/* No process takes what is sent to the slot any more. */
void memory_hub_detach(struct memory_hub *hub, uint32_t slot);
/* Forgets the file of a slot that is detached, unless another process will still read what is in
 * it. True: it is forgotten. */
bool memory_hub_reap(struct memory_hub *hub, uint32_t slot);
/* The process of slot from asks for the file of slot to: a descriptor, which is the caller's, and
 * the file's epoch. hub: a struct memory_hub.
 * -ENOENT: the slot has none; -EAGAIN: its process has not sealed it yet. */
int memory_hub_meet(void *hub, uint32_t from, uint32_t to, uint32_t *ret_epoch);

struct memory_cfg {
	struct gid gid;
	uint32_t slot;
	/* The hub's page, the file of the slot, and the doorbell of the slot. The caller closes
	 * them. */
	int hub_fd, file_fd, doorbell_fd;
	/* By slot, as the hub's: memory that all processes of the device write. */
	struct memory_bell *bells;
	/* Asks the hub for the file of another slot: memory_hub_meet(), or what calls it. -EBUSY:
	 * it cannot now, the link shall try again. */
	int (*meet)(void *arg, uint32_t from, uint32_t to, uint32_t *ret_epoch);
	void *meet_arg;
	/* The server's: the hub's mapping of the file, to go on where a process ended. NULL: maps
	 * and seals the file. */
	struct memory_slot_page *file;
	bool trains;
	bool icrc;     /* fill ICRCs in, and check them */
	bool complete; /* as link_complete_arrivals() */
	struct link_log log;
};

/* Makes the wait descriptor readable, for a caller that link_wait_begins() reports work to, and
 * that waits all the same. */
void memory_wake_self(struct link *link);
/* Bytes of the ring between two processes. */
uint32_t memory_ring_bytes(void);
/* 0, -EINVAL, -ENOMEM or -errno (-EPERM: the file is sealed). One link at a time uses a slot. */
int memory_open(struct link **ret, const struct memory_cfg *cfg);

#endif
