/* SPDX-License-Identifier: MIT */
/* XRC domains of a device, and the handles of its XRC targets: xrc.c. */
#ifndef RXE_DM_SERVER_XRC_H
#define RXE_DM_SERVER_XRC_H

#include <stdint.h>

struct device;
struct object;

struct device_xrc {
	uint32_t last_domain;	/* number of the domain made last */
	struct object *targets; /* handles, of all contexts */
};

/* The number of other handles of the handle's XRC target. */
uint32_t target_others(const struct object *handle);
/* A process has exited; those who opened its XRC targets get IBV_EVENT_QP_FATAL. */
void targets_of_slot_ended(struct device *device, uint32_t slot);
/* A message of a process about one of its XRC targets. */
void target_event(struct device *device, uint32_t slot, uint32_t type, uint32_t qpn);

#endif
