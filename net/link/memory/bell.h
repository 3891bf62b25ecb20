/* SPDX-License-Identifier: MIT */
/* Bells: where a thread sleeps that waits for packets of a memory link and for nothing else. One
 * for each slot, in memory that all processes of the device write, so futex(2) wakes the thread: a
 * doorbell (memory.h) costs a datagram and three more system calls. A process that writes there
 * without reason wakes the thread, or delays it until its time is over. */
#ifndef RXE_LINK_MEMORY_BELL_H
#define RXE_LINK_MEMORY_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct memory_bell {
	_Alignas(64) _Atomic uint32_t rings;
};

void memory_bell_ring(struct memory_bell *bell);
/* Sleeps until the bell has rung since it had that many rings, for ns at most. False: the time is
 * over. A signal also ends the sleep, and so does the second half of a ring whose first half ended
 * the sleep before. */
bool memory_bell_sleep(struct memory_bell *bell, uint32_t rings, uint64_t ns);

#endif
