/* SPDX-License-Identifier: MIT */
/* Device memory between its free and its next grant. A process that looked the memory up before the
 * free may still access it, so it rests until its grace period is over (lib/control/shared.h). */
#ifndef RXE_DM_SERVER_RESTING_H
#define RXE_DM_SERVER_RESTING_H

#include <stdbool.h>
#include <stdint.h>

struct device;
struct range;

struct resting_range {
	struct resting_range *prev, *next;
	struct range *range;
	uint64_t stamp;
	bool exported; /* a dmabuf names its pages */
};

/* The memory of a freed DM begins to rest. Its handle must be dead already. Takes the memory. */
void resting_add(struct device *device, struct resting_range *memory);
/* Gives memory whose grace period is over back to the arena. True: some still rests. */
bool resting_settle(struct device *device);
/* The device ends: frees the records. */
void resting_fini(struct device *device);

#endif
