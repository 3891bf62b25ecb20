/* SPDX-License-Identifier: MIT */
/* Ranges of a device's arena: address-ordered first fit; adjacent free ranges merge on release.
 *
 * First fit by address has the best known bound (Robson 1977): while M bytes are granted in pieces
 * of g to n bytes, an arena of M * (1 + log2(n / g)) bytes never refuses. An empty map is always
 * one range again, whatever was granted before.
 *
 * A process that looked a DM up before the DM was freed may still access its memory. So the range
 * rests until its grace period is over (lib/control/shared.h). */
#ifndef RXE_DM_SERVER_RANGE_H
#define RXE_DM_SERVER_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct device;

struct range {
	struct range *prev, *next; /* by address */
	uint64_t offset, len;
	bool used;
	struct range *rprev, *rnext; /* of those that rest */
	uint64_t stamp;		     /* ... until this grace period is over */
	bool exported;		     /* a dmabuf names its pages */
};

struct range_map {
	struct range *all, *resting;
	uint64_t len, granule;
	uint64_t used; /* bytes */
};

/* granule: a power of two; lengths are rounded up to it. */
bool range_map_init(struct range_map *ret, uint64_t len, uint64_t granule);
void range_map_fini(struct range_map *map);
/* The offset is a multiple of 2^log_align. NULL: no free range is large enough, or no memory. */
struct range *range_alloc(struct range_map *map, uint64_t len, uint32_t log_align);
void range_release(struct range_map *map, struct range *range);

/* The DM of the range was freed; its handle must be dead already. */
void range_rest(struct device *device, struct range *range);
/* Gives ranges whose grace period is over back to the arena. Returns when to call it again;
 * UINT64_MAX: none rests. */
uint64_t ranges_settle(struct device *device, uint64_t now_ns);

#endif
