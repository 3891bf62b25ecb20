/* SPDX-License-Identifier: MIT */
/* The packet tail: the heads of the last packets that a process sent and received, for failure
 * reports. Only the first and last packets of a call are recorded, so a call costs 3 ns. */
#ifndef RXE_LINK_CAPTURE_TAIL_H
#define RXE_LINK_CAPTURE_TAIL_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/capture/tap.h"

#define TAIL_HEAD    32u  /* bytes of each packet */
#define TAIL_PACKETS 512u /* of all queue pairs together; a power of two */

struct tail_packet {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t peer;	  /* the last 4 bytes of the peer's address */
	uint16_t len;
	uint8_t sent;
	/* Packets of the same call after this one that are not recorded; 255: 255 or more. */
	uint8_t skipped;
	uint8_t head[TAIL_HEAD];
};
static_assert(sizeof(struct tail_packet) == 48, "shared memory layout");

struct tail {
	const uint64_t *now_ns; /* the engine's time */
	uint32_t next;		/* free-running */
	uint32_t stamped;	/* entries before this one have a time */
	struct tail_packet at[TAIL_PACKETS];
};

/* NULL: no memory. *now_ns is the engine's time, and outlives the tail. */
struct tail *tail_open(const uint64_t *now_ns);
void tail_close(struct tail *tail);

/* For taps; arg: struct tail. */
extern const struct tap_observer tail_departures, tail_arrivals;

/* Copies the last packets for which is_wanted returns true, at most max, oldest first. Returns how
 * many. */
uint32_t tail_find(struct tail *tail, bool (*is_wanted)(const struct tail_packet *, const void *),
		   const void *arg, struct tail_packet *ret, uint32_t max);
/* The value of tail_packet.peer for an address. */
uint32_t tail_peer(const struct gid *gid);

#endif
