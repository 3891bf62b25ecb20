// SPDX-License-Identifier: MIT
/* Reads /proc, and calls sched_setattr(2), for which glibc has no function. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/control/process.h"

#define SLICE_NS 100000u /* shortest slice that Linux grants */

bool ctl_process_is_stopped(pid_t pid)
{
	char path[32], stat[128];
	const char *name_end;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(stat, 1, sizeof(stat) - 1, f);
	fclose(f);
	stat[n] = '\0';

	/* "PID (NAME) STATE ...": the name may hold anything. T: by a signal, t: by a tracer. */
	name_end = strrchr(stat, ')');
	return name_end && (!strncmp(name_end, ") T ", 4) || !strncmp(name_end, ") t ", 4));
}

void ctl_short_slice(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = 48, .runtime = SLICE_NS };

	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	syscall(SYS_sched_setattr, 0, &attr, 0u);
}
