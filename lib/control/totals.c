// SPDX-License-Identifier: MIT
/* The sums are taken while the processes count on. */
#include "lib/control/totals.h"

#include "lib/control/shared.h"

static void add_counters(struct rxe_counters *sum, const struct rxe_counters *add)
{
#define X(name) sum->name += add->name;
	RXE_COUNTERS(X)
#undef X
}

void ctl_total_counters(const struct ctl_shared *shared, struct rxe_counters *ret)
{
	*ret = shared->retired;
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		if (shared->slot[i].pid)
			add_counters(ret, &shared->slot[i].counters);
	}
}

void ctl_total_lost(const struct ctl_shared *shared, struct ctl_lost *ret)
{
	*ret = shared->lost;
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &shared->slot[i];

		if (!slot->pid)
			continue;
#define X(name) ret->name += slot->lost.name;
		CTL_LOST(X)
#undef X
	}
}
