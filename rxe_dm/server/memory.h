/* SPDX-License-Identifier: MIT */
/* The memory link of a device: the hub, and the file and doorbell of each slot. memory.c alone
 * makes and frees them. */
#ifndef RXE_DM_SERVER_MEMORY_H
#define RXE_DM_SERVER_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"
#include "net/link/memory/memory.h"

struct device;
struct link;

struct device_memory_link {
	struct memory_hub hub;
	bool is_left[RXE_MAX_SLOTS]; /* what the slot's process has sent is not freed */
};

/* Failures are explained on the log. */
int memory_device_open(struct device *device);
/* A process takes the slot: makes its file and doorbell, which stay the device's. Failures are
 * explained on the log. */
int memory_device_attach(struct device *device, uint32_t slot);
/* No process has the slot. */
void memory_device_detach(struct device *device, uint32_t slot);
/* Frees the memory of slots without a process. Returns when to call it again; UINT64_MAX: never. */
uint64_t memory_device_settle(struct device *device, uint64_t now_ns);
/* Attaches the server itself to a slot without a process, with a link that goes on where the
 * process ended. */
int memory_device_link(struct device *device, uint32_t slot, struct link **ret, int *ret_wait_fd);
/* The link's arrivals are handled: the server waits for the next. link_wait_ended() comes first
 * when its wait descriptor is readable. */
void memory_device_wait(struct link *link);

#endif
