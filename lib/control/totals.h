/* SPDX-License-Identifier: MIT */
/* Counters of a device: sums over the processes that run and those that have exited. */
#ifndef RXE_CONTROL_TOTALS_H
#define RXE_CONTROL_TOTALS_H

struct ctl_lost;
struct ctl_shared;
struct rxe_counters;

void ctl_total_counters(const struct ctl_shared *shared, struct rxe_counters *ret);
void ctl_total_lost(const struct ctl_shared *shared, struct ctl_lost *ret);

#endif
