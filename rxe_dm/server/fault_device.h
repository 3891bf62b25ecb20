/* SPDX-License-Identifier: MIT */
/* Faults of the device itself: port_down, gid_change, device_fatal. The server carries them out: it writes the device's state into
 * the shared memory and tells every process, and takes it back when a rule's time is over or the rule is cleared. */
#ifndef RXE_DM_SERVER_FAULT_DEVICE_H
#define RXE_DM_SERVER_FAULT_DEVICE_H

#include <stdint.h>

#include "net/link/fault/fault.h"

struct device;

enum fault_phase {
	FAULT_PHASE_NONE, /* no such rule at this place, or its time is over */
	FAULT_PHASE_WAITS,
	FAULT_PHASE_HOLDS,
};

struct fault_timer {
	enum fault_phase phase;
	uint64_t due_ns; /* when the phase ends; UINT64_MAX: by being cleared */
	struct fault_rule rule;
};

/* Enclose a change of the rules or the state in shared memory: a process that reads in between reads again. */
void fault_device_begin_change(struct device *device);
void fault_device_end_change(struct device *device);

/* By places of ctl_faults.at. Cleared ones take effect with the next run. */
void fault_device_added(struct device *device, uint32_t place, const struct fault_rule *rule);
void fault_device_cleared(struct device *device, uint32_t place);
/* Do what is due. Milliseconds until something is again; -1: never. */
int fault_device_run(struct device *device, uint64_t now_ns);

#endif
