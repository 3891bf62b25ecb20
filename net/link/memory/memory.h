/* SPDX-License-Identifier: MIT */
/* The memory link: packets travel in shared memory between the processes of one device, without a
 * network. No system call is made while both sides poll. A full ring takes no more (link_send
 * returns -EAGAIN) instead of losing packets.
 *
 * The device server makes the file of the rings and a doorbell socket for each slot (the hub), and
 * hands both to a process. For each pair of slots there is one ring in each direction (ring.h),
 * which only its sender writes. Nothing that a process reads there is trusted: layout.h says who
 * writes what.
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

#define MEMORY_SLOTS	  256u
#define MEMORY_TX_PORTS	  4u
#define MEMORY_FIRST_PORT 49152u /* source ports, of each slot others; the ICRC covers them */
#define MEMORY_STALL_NS	  10000000u

struct memory_area;

/* The server's side: the file and the doorbells of one device. */
struct memory_hub {
	int fd; /* of the file */
	struct memory_area *area;
	uint32_t slots;
	int doorbell[MEMORY_SLOTS]; /* -1: not made yet */
};

/* 0, -EINVAL (no such number of slots) or -errno (-EFBIG: the limit of file sizes). */
int memory_hub_open(struct memory_hub *ret, uint32_t slots);
/* Does nothing if hub->area is NULL. */
void memory_hub_close(struct memory_hub *hub);
/* The slot's doorbell socket, which stays the hub's, or -errno. */
int memory_hub_doorbell(struct memory_hub *hub, uint32_t slot);
/* Whether somebody takes what is sent to the slot. Packets to other slots are dropped. */
void memory_hub_set_live(struct memory_hub *hub, uint32_t slot, bool live);
/* Frees the memory of what a slot without a process has sent, as far as nobody will take it any
 * more. True: all of it. */
bool memory_hub_reap(struct memory_hub *hub, uint32_t slot);

struct memory_cfg {
	struct gid gid;
	uint32_t slot;
	int fd;		 /* the hub's; stays the caller's */
	int doorbell_fd; /* the slot's; stays the caller's */
	bool trains;
	bool icrc;     /* fill ICRCs in, and check them */
	bool resumes;  /* take what the slot's former process left, instead of skipping it */
	bool complete; /* as link_complete_arrivals() */
	/* Logs a sentence for people, once for each cause. May be NULL. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

/* Makes the wait descriptor readable, for a caller that link_wait_begins() reports work to, and that
 * waits all the same. */
void memory_wake_self(struct link *link);
/* Bytes of the ring between two processes. */
uint32_t memory_ring_bytes(void);
/* 0, -EINVAL, -ENOMEM or -errno. One link at a time uses a slot. */
int memory_open(struct link **ret, const struct memory_cfg *cfg);

#endif
