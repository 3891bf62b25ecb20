/* SPDX-License-Identifier: MIT */
/* Reads the scheduling attributes of the calling thread from the kernel (sched_getattr(2)). */
#ifndef TESTS_UNIT_ATTRIBUTES_H
#define TESTS_UNIT_ATTRIBUTES_H

#include <check.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_NS 100000u

/* struct sched_attr in its first version. slice_ns: 0 before Linux 6.12. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns, deadline_ns, period_ns;
};

static inline struct attributes attributes_now(void)
{
	struct attributes ret = { 0 };

	ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &ret, (unsigned int)sizeof(ret), 0u), 0);
	return ret;
}

#endif
