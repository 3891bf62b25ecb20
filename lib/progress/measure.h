/* SPDX-License-Identifier: MIT */
/* Measures the unit of the schedule. Called by poll.c and thread.c where a decision says so. */
#ifndef RXE_PROGRESS_MEASURE_H
#define RXE_PROGRESS_MEASURE_H

#include <stdint.h>

struct schedule;

/* Makes a system call that does nothing. Returns the time after it. */
uint64_t measure_call(struct schedule *schedule);

#endif
