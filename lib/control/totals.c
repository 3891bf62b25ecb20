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
	CTL_FOR_EACH_USED_SLOT (shared, slot)
		add_counters(ret, &shared->slot[slot].counters);
}

void ctl_total_lost(const struct ctl_shared *shared, struct ctl_lost *ret)
{
	*ret = shared->lost;
	CTL_FOR_EACH_USED_SLOT (shared, slot) {
#define X(name) ret->name += shared->slot[slot].lost.name;
		CTL_LOST(X)
#undef X
	}
}
