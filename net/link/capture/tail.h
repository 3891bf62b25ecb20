/* SPDX-License-Identifier: MIT */
/* The packet tail: the heads of the last packets that a process sent and received, for a report of a failure. Of a call with many packets
 * only the first and the last are noted, so a call costs 3 ns beside more than a microsecond of system call. */
#ifndef RXE_LINK_TAIL_H
#define RXE_LINK_TAIL_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/capture/tap.h"

#define TAIL_HEAD    32u  /* bytes of each packet */
#define TAIL_PACKETS 512u /* of all queue pairs together; a power of two */

struct tail_packet {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t peer;	  /* the last 4 bytes of its address */
	uint16_t len;
	uint8_t sent;
	/* Packets of the same call after this one that are not noted; 255: 255 or more. */
	uint8_t skipped;
	uint8_t head[TAIL_HEAD];
};
static_assert(sizeof(struct tail_packet) == 48, "shared memory layout");

struct tail {
	const uint64_t *now_ns; /* the reader's time: no clock is asked for the tail */
	uint32_t next;		/* free-running */
	uint32_t stamped;	/* entries before this one have their time */
	struct tail_packet at[TAIL_PACKETS];
};

/* NULL: no memory. now_ns is advanced by who sends and receives, and outlives the tail. */
struct tail *tail_open(const uint64_t *now_ns);
void tail_close(struct tail *tail);

/* For taps; arg: struct tail. */
extern const struct tap_observer tail_departures, tail_arrivals;

/* Copies the last packets, up to max, for which is_wanted says true, oldest first. Returns how many. */
uint32_t tail_find(struct tail *tail, bool (*is_wanted)(const struct tail_packet *, const void *),
		   const void *arg, struct tail_packet *ret, uint32_t max);
/* The part of an address that tail_packet.peer holds. */
uint32_t tail_peer(const struct gid *gid);

#endif
