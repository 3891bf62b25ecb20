/* SPDX-License-Identifier: MIT */
/* How many fork() calls lie between the first process and this one. */
#ifndef RXE_VERBS_FORKS_H
#define RXE_VERBS_FORKS_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint32_t vb_fork_count;

static inline uint32_t vb_forks(void)
{
	return atomic_load_explicit(&vb_fork_count, memory_order_relaxed);
}

/* In the child. Async-signal-safe. */
static inline void vb_forks_add(void)
{
	atomic_fetch_add(&vb_fork_count, 1);
}

#endif
