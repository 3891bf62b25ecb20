/* SPDX-License-Identifier: MIT */
/* Packets that found a receive buffer full, counted into the slots (lib/control/lost.h). */
#ifndef RXE_DM_SERVER_LOST_H
#define RXE_DM_SERVER_LOST_H

#include <stdint.h>

struct device;

/* The slot has a process, and its socket: what was counted before is not its. */
void lost_begin(struct device *device, uint32_t slot);
/* Bring all slots up to date. */
void lost_look(struct device *device);
/* Its process goes: a last look, and into the device's sums. */
void lost_retire(struct device *device, uint32_t slot);

#endif
