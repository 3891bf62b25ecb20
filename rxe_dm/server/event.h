/* SPDX-License-Identifier: MIT */
/* Events of a device to its processes. */
#ifndef RXE_DM_SERVER_EVENT_H
#define RXE_DM_SERVER_EVENT_H

#include <stdint.h>

struct device;

/* Sends an asynchronous event (enum ibv_event_type) to every process on the device. A process whose
 * queue is full misses it, and reads the same state from shared memory. */
void event_send(const struct device *device, uint32_t type);

#endif
