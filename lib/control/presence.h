/* SPDX-License-Identifier: MIT */
/* Where a process last ran its engine, and when: in its slot of the shared memory, for its peers. A
 * thread that polls learns whether the peer that it waits for runs, and on which processor. Hints
 * only. Written and read by lib/progress/schedule.c. */
#ifndef RXE_CONTROL_PRESENCE_H
#define RXE_CONTROL_PRESENCE_H

#include <stdatomic.h>
#include <stdint.h>

struct presence {
	/* CLOCK_MONOTONIC; 0: never. */
	_Atomic uint64_t at_ns;
	_Atomic int32_t cpu;
	uint32_t reserved;
};

#endif
