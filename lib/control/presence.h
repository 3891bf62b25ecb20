/* SPDX-License-Identifier: MIT */
/* Where a process last ran its engine, when, and for how many: in its slot of the shared memory,
 * for its peers. A thread that polls learns whether the peer that it waits for runs, on which
 * processor, and whether it serves others. Hints only. Written and read by
 * lib/progress/schedule_program.c. */
#ifndef RXE_CONTROL_PRESENCE_H
#define RXE_CONTROL_PRESENCE_H

#include <stdatomic.h>
#include <stdint.h>

struct presence {
	/* CLOCK_MONOTONIC; 0: never. */
	_Atomic uint64_t at_ns;
	_Atomic int32_t cpu;
	/* Whether it sends to many. */
	_Atomic uint32_t has_many_peers;
};

#endif
