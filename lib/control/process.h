/* SPDX-License-Identifier: MIT */
/* Processes: detects a stopped one, and requests a short time slice. */
#ifndef RXE_CONTROL_PROCESS_H
#define RXE_CONTROL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* True: a signal or a tracer has stopped the process. False also if the state is unknown: the
 * process has exited, /proc is not mounted, or pid is 0 (a PID namespace that is not visible
 * here). */
bool ctl_process_is_stopped(pid_t pid);

/* Requests a short time slice for the calling thread: the scheduler then prefers it at a wake-up to
 * spinning threads of the same session. For SCHED_OTHER only; keeps the nice value. Errors are
 * ignored. */
void ctl_short_slice(void);

#endif
