/* SPDX-License-Identifier: MIT */
/* What this folder asks the kernel about processes: whether one has been stopped, and a short time slice for a thread. */
#ifndef RXE_CONTROL_PROCESS_H
#define RXE_CONTROL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* True: a signal or a tracer has stopped the process. False also when nothing can be known of it: it has ended, /proc is
 * not there, pid is 0 (of a PID namespace that is not visible from here). */
bool ctl_process_is_stopped(pid_t pid);

/* A short time slice for the calling thread, which wakes often and runs briefly: the scheduler prefers it at a wake-up to
 * threads of the same session that spin. Only for SCHED_OTHER, keeps the nice value. A kernel's refusal is ignored. */
void ctl_short_slice(void);

#endif
