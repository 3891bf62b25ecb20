/* SPDX-License-Identifier: MIT */
/* Processes: detects a stopped or runnable one, and names this one. */
#ifndef RXE_CONTROL_PROCESS_H
#define RXE_CONTROL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* True: a signal, a tracer or the freezer of a cgroup has stopped the process. A debugger may let
 * one thread of it run: the process counts as stopped if its first thread or one of the next few
 * is. False also if unknown: the process has exited, /proc is not mounted, or pid is 0 (of a PID
 * namespace that is not visible here). Allocates nothing. */
bool ctl_process_is_stopped(pid_t pid);
/* True: the process has a processor or waits for one, by its first thread or one of the next few.
 * False also if unknown. Allocates nothing. */
bool ctl_process_is_runnable(pid_t pid);
/* The same of one thread of the calling process. */
bool ctl_thread_is_runnable(pid_t tid);

/* The name of the calling process's first thread (proc(5), comm), as it is now; empty if /proc is
 * not mounted. Allocates nothing. */
void ctl_process_comm(char ret[static 16]);

#endif
