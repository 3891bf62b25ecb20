// SPDX-License-Identifier: MIT
/* CLOCK_MONOTONIC in nanoseconds. */
#include "net/link/clock.h"

#include <time.h>

uint64_t clock_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}
