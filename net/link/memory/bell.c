// SPDX-License-Identifier: MIT
/* Bells: a word that futex(2) waits for, and compares before it does, so that no ring is missed. */
#include "net/link/memory/bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void memory_bell_ring(struct memory_bell *bell)
{
	atomic_fetch_add(&bell->rings, 1);
	(void)syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool memory_bell_sleep(struct memory_bell *bell, uint32_t rings, uint64_t ns)
{
	const struct timespec timeout = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	return syscall(SYS_futex, &bell->rings, FUTEX_WAIT, rings, &timeout, NULL, 0) == 0 ||
	       errno != ETIMEDOUT;
}
