// SPDX-License-Identifier: MIT
/* Time slices of threads. glibc has no functions for the two system calls. */
#include "lib/control/time_slice.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_NS 100000u

/* struct sched_attr (sched_setattr(2)) in its first version. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* What the calling thread had before; 0: it has that. */
static __thread uint64_t before_ns;

/* Returns the slice that the thread had, 0: none is known, and it keeps that. A thread with a short
 * one may have got SCHED_BATCH since (wakeup.h). */
static uint64_t exchange(uint64_t slice_ns)
{
	struct attributes attr = { 0 };
	uint64_t had_ns;

	if (syscall(SYS_sched_getattr, 0, &attr, (unsigned int)sizeof(attr), 0u) ||
	    (attr.policy != SCHED_OTHER && !(before_ns && attr.policy == SCHED_BATCH)) ||
	    attr.runtime_ns == 0)
		return 0;
	had_ns = attr.runtime_ns;
	attr.size = sizeof(attr);
	attr.runtime_ns = slice_ns;
	return syscall(SYS_sched_setattr, 0, &attr, 0u) ? 0 : had_ns;
}

void ctl_slice_shorten(void)
{
	if (before_ns == 0)
		before_ns = exchange(SHORT_NS);
}

void ctl_slice_restore(void)
{
	if (before_ns == 0)
		return;
	exchange(before_ns);
	before_ns = 0;
}
