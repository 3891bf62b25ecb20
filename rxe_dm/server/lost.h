/* SPDX-License-Identifier: MIT */
/* Packets dropped by the kernel at a full receive buffer, counted in slots (lib/control/lost.h). */
#ifndef RXE_DM_SERVER_LOST_H
#define RXE_DM_SERVER_LOST_H

#include <stdint.h>

struct device;

/* A process takes the slot: drops before this call do not count for the process. */
void lost_begin(struct device *device, uint32_t slot);
/* Brings the counts of all slots up to date. */
void lost_update(struct device *device);
/* The slot's process exits: moves its counts into the device's sums. */
void lost_retire(struct device *device, uint32_t slot);

#endif
