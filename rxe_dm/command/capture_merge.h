/* SPDX-License-Identifier: MIT */
/* The rings of a device's programs, read as one row of packets in the order of their times. */
#ifndef RXE_DM_COMMAND_CAPTURE_MERGE_H
#define RXE_DM_COMMAND_CAPTURE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/capture/ring.h"

/* A program's packets on the way from its ring to the file. */
struct merge_lane {
	struct capture_reader reader;
	uint8_t *bytes; /* records that were read */
	size_t len, at, room;
	const struct capture_record *next; /* the first of them that is not written yet; or NULL */
	uint64_t missing;		   /* packets that should stand before it */
	uint64_t
		busy_since_ns; /* its writer is at it, and nothing came of it since; 0: it is not */
};

struct merge {
	const struct capture_area *area; /* mapped */
	size_t area_bytes;
	uint32_t num_lanes;
	struct merge_lane *lanes;
	struct merge_lane **waiting; /* room for the lanes that have packets to hand out */
	uint64_t written_ns;	     /* the time of the last packet handed out */
};

/* A packet's turn. False: enough. The record's time is never before the one of the packet before. */
typedef bool (*merge_fn)(void *arg, const struct capture_record *record, uint64_t missing);

/* Map the rings; what is in them already is old. 0 or a negative errno. */
int merge_open(struct merge *ret, int fd);
void merge_close(struct merge *merge);
/* Hand out what is certain to be in order by now (CLOCK_MONOTONIC). Returns how many packets, or -1 when it was told that it is
 * enough. */
int64_t merge_pass(struct merge *merge, uint64_t now_ns, merge_fn each, void *arg);
/* Has the program in the slot found its ring? */
bool merge_has_joined(const struct merge *merge, uint32_t slot, int32_t pid);
/* Is anybody just writing? */
bool merge_is_busy(const struct merge *merge);
/* Packets that were overwritten before they were read. */
uint64_t merge_missing(const struct merge *merge);

#endif
