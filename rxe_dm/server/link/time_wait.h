/* SPDX-License-Identifier: MIT */
/* TIME_WAIT of processes that have exited. The server sends the ACKs that a process delayed, and
 * answers its peers from the slot's address, as emu/rc/time_wait.h says. When another process takes
 * the slot, that process answers. */
#ifndef RXE_DM_SERVER_TIME_WAIT_H
#define RXE_DM_SERVER_TIME_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct device;

/* The slot's process has exited. Best effort: without memory or descriptors the peer's retries run
 * out. */
void time_wait_begin(struct device *device, uint32_t slot);
/* Whether the server answers for the slot. */
bool time_wait_has(const struct device *device, uint32_t slot);
/* The slot is about to get a process, or the device ends: answers what has arrived until now. */
void time_wait_end(struct device *device, uint32_t slot);
/* Ends what has expired. Returns when the next expires; UINT64_MAX: none. */
uint64_t time_wait_settle(struct device *device, uint64_t now_ns);
/* Before the device's link is closed. */
void time_wait_fini(struct device *device);

#endif
