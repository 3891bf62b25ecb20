/* SPDX-License-Identifier: MIT */
/* The table of rates that stands on top of `rxe_dm show --watch`. */
#ifndef RXE_DM_COMMAND_SHOW_RATES_H
#define RXE_DM_COMMAND_SHOW_RATES_H

#include <stdint.h>
#include <stdio.h>

#include "lib/control/settings.h"
#include "lib/control/shared.h"

struct view;

struct show_sample {
	int32_t pid; /* 0: no program */
	struct rxe_counters counters;
	struct ctl_lost lost;
};

/* The counters of the last view; zeroed at first. */
struct show_rates {
	uint64_t taken_ns; /* CLOCK_MONOTONIC; 0: none */
	struct show_sample sample[CTL_DEVICE_MAX][RXE_MAX_SLOTS];
};

/* Prints one line for each program, with rates since the last call, and keeps the counters. Rates
 * are 0 for a program that was not there then. */
void show_rates(struct show_rates *rates, const struct view *view, uint64_t now_ns, FILE *to);

#endif
