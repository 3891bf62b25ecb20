/* SPDX-License-Identifier: MIT */
/* Fault rules in shared memory: text that the server writes, and counts of each process. */
#ifndef RXE_CONTROL_FAULT_H
#define RXE_CONTROL_FAULT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/inject/rule.h"

struct ctl_fault {
	uint32_t id; /* 0: the place is free */
	uint32_t reserved;
	uint64_t fired; /* sum over processes that have exited */
	char text[INJECT_TEXT_MAX];
};
static_assert(sizeof(struct ctl_fault) == 272, "shared memory layout");

/* generation is odd while the server changes something: a reader checks it before and after. */
struct ctl_faults {
	_Atomic uint32_t generation;
	uint32_t next_id;
	_Atomic uint32_t fatal;	 /* counts: odd while the device is fatal */
	_Atomic uint32_t silent; /* 1: packets neither leave nor arrive */
	struct ctl_fault at[FAULT_MAX_RULES];
};

/* In a slot, by the place of the rule: how often rule id fired in its process. */
struct ctl_fault_count {
	_Atomic uint32_t id;
	uint32_t reserved;
	_Atomic uint64_t fired;
};
static_assert(sizeof(struct ctl_fault_count) == 16, "shared memory layout");

#endif
