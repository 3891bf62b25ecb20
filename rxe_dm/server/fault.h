/* SPDX-License-Identifier: MIT */
/* Fault rules of the device itself (port_down, gid_change, device_fatal). The server writes the
 * device's state into shared memory and sends events to every process, and restores the state when
 * a rule's time is over or the rule is cleared. */
#ifndef RXE_DM_SERVER_FAULT_H
#define RXE_DM_SERVER_FAULT_H

#include <stdint.h>

#include "lib/inject/rule.h"
#include "net/link/fault/fault.h"

struct device;

/* The state of one rule of the device itself. */
enum fault_phase {
	FAULT_PHASE_NONE, /* no rule of the device here, or its time is over */
	FAULT_PHASE_WAITS,
	FAULT_PHASE_HOLDS,
};

struct fault_timer {
	enum fault_phase phase;
	uint64_t due_ns; /* end of the phase; UINT64_MAX: when the rule is cleared */
	struct inject_rule rule;
};

struct device_faults {
	uint32_t count;				    /* rules of all kinds in the shared memory */
	struct fault_timer timers[FAULT_MAX_RULES]; /* by place: rules of the device itself */
};

/* Adds the rules of a file, all or none. 0, or a negative errno, explained on the log. */
int faults_load(struct device *device, const char *path);
/* Starts and ends rules that are due. Returns when the next is due; UINT64_MAX: none. */
uint64_t fault_run(struct device *device, uint64_t now_ns);

#endif
