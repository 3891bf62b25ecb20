/* SPDX-License-Identifier: MIT */
/* How the calling thread takes a processor when it wakes up. With the policy SCHED_OTHER it takes
 * the processor from a thread that has had more time. With SCHED_BATCH it waits until that thread
 * sleeps or yields, or until its time slice ends (sched(7)). Its share of the processor, its nice
 * value and its slice stay the same. Threads and processes that it creates inherit the policy.
 * Does nothing for a thread of another policy. A refusal is harmless. Used by lib/progress. */
#ifndef RXE_CONTROL_WAKEUP_H
#define RXE_CONTROL_WAKEUP_H

/* The thread lets others go on from now on. Costs nothing if it does. */
void ctl_wakeup_defer(void);
/* It has the policy again that it had before. Costs nothing if it has. */
void ctl_wakeup_restore(void);

#endif
