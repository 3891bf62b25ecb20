/* SPDX-License-Identifier: MIT */
/* Processes: detects a stopped one, and requests a short time slice. */
#ifndef RXE_CONTROL_PROCESS_H
#define RXE_CONTROL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* True: a signal or a tracer has stopped the process. False also if unknown: the process has
 * exited, /proc is not mounted, or pid is 0 (of a PID namespace that is not visible here). */
bool ctl_process_is_stopped(pid_t pid);

/* Requests a short time slice for the calling thread: at a wake-up the scheduler prefers it to
 * spinning threads of the session. For SCHED_OTHER only; keeps the nice value. Ignores errors. */
void ctl_short_slice(void);

#endif
