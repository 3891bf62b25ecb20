/* SPDX-License-Identifier: MIT */
/* The time slice of a thread (sched_setattr(2), sched_runtime; Linux 6.12 and later, SCHED_OTHER).
 * A thread with a short one is run soon after it wakes up, before threads that spin, and a yield
 * costs it no more than that slice. Its share of the processor stays the same. Threads and
 * processes that it creates inherit it. A refusal is harmless: the thread keeps its slice. Used by
 * lib/progress and the server. */
#ifndef RXE_CONTROL_TIME_SLICE_H
#define RXE_CONTROL_TIME_SLICE_H

/* The calling thread has the shortest slice that Linux grants, 100 us, from now on. */
void ctl_slice_shorten(void);
/* It has the slice again that it had before. Costs nothing if it has. */
void ctl_slice_restore(void);

#endif
