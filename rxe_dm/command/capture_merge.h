/* SPDX-License-Identifier: MIT */
/* The rings of a device's programs, merged into one sequence of packets by time, and what the
 * comment of a packet says. */
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
	const struct capture_record *next; /* the first record not handed out; or NULL */
	uint64_t missing;		   /* packets lost before it */
	uint64_t busy_since_ns; /* the writer has written without a result since then; 0: idle */
};

struct merge {
	const struct capture_area *area; /* mapped */
	size_t area_bytes;
	uint32_t num_lanes;
	struct merge_lane *lanes;
	struct merge_lane **waiting; /* room for the lanes that have packets to hand out */
	uint64_t written_ns;	     /* the time of the last packet handed out */
};

/* Takes the next packet; times never decrease. False: stop. */
typedef bool (*merge_fn)(void *arg, const struct capture_record *record, uint64_t missing);

/* Maps the rings, and skips what they hold. 0 or a negative errno. */
int merge_open(struct merge *ret, int fd);
void merge_close(struct merge *merge);
/* Hands out the packets whose order is certain at now_ns (CLOCK_MONOTONIC). Returns their number;
 * -1: each() returned false. */
int64_t merge_pass(struct merge *merge, uint64_t now_ns, merge_fn each, void *arg);
/* True: the program in the slot has opened its ring. */
bool merge_has_joined(const struct merge *merge, uint32_t slot, int32_t pid);
/* True: a ring is being written. */
bool merge_is_busy(const struct merge *merge);
/* Packets that were overwritten before they were read. */
uint64_t merge_missing(const struct merge *merge);

#define CAPTURE_LINE_MAX 640
/* "ib_write_bw[1234] QP 0x010002 RC, RDMA_WRITE wr_id 0x7": the program, the queue pair, the work
 * request, and what a fault did. missing: packets lost before this one. */
void capture_comment(char ret[static CAPTURE_LINE_MAX], const struct capture_record *record,
		     uint64_t missing);

#endif
