/* SPDX-License-Identifier: MIT */
/* The clock of everything outside emu and net/wire, which take time as a parameter. */
#ifndef RXE_LINK_CLOCK_H
#define RXE_LINK_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_now_ns(void);

#endif
