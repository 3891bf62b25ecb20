/* SPDX-License-Identifier: MIT */
/* The one clock. emu and net/wire take the time as a parameter; all other code reads it here. */
#ifndef RXE_LINK_CLOCK_H
#define RXE_LINK_CLOCK_H

#include <stdint.h>

#define NSEC_PER_SEC 1000000000ull

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_now_ns(void);

#endif
