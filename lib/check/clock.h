/* SPDX-License-Identifier: MIT */
/* Vector clocks of the program's threads, as in ThreadSanitizer: whether something that one thread
 * did is ordered before what another one does now, by locks, semaphores, barriers, and the begin
 * and end of threads. What the program orders otherwise, by atomics, is not seen. Takes no memory
 * and no lock of the layer.
 *
 * Where numbers or places are used up, more counts as ordered, never less. */
#ifndef RXE_CHECK_CLOCK_H
#define RXE_CHECK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct clock_stamp {
	uint32_t thread; /* struct watch; 0: one without a number, which is ordered with all */
	uint32_t at;
};

void clock_acquired(uint32_t thread, const void *sync);
void clock_released(uint32_t thread, const void *sync);

/* The function that numbers threads; without one all is ordered. */
void clock_number_by(uint32_t (*thread)(void));
/* What the calling thread does now. */
struct clock_stamp clock_now(void);
/* Is it ordered before what the calling thread does now? */
bool clock_is_before(struct clock_stamp then);

#endif
