// SPDX-License-Identifier: MIT
/* Grace periods by gauges: two atomic stores for a process, a scan of all slots for the server. And
 * sums of counters, which are taken while the processes count on. */
#include "lib/control/shared.h"

void grace_watch(struct grace *grace, uint32_t slot)
{
	assert(slot < RXE_MAX_SLOTS && !grace->watched[slot]);
	grace->watched[slot] = true;
	grace->clear[slot] = grace->now; /* the process never saw what was cleared before */
}

void grace_unwatch(struct grace *grace, uint32_t slot)
{
	assert(slot < RXE_MAX_SLOTS && grace->watched[slot]);
	grace->watched[slot] = false;
}

uint64_t grace_begin(struct grace *grace)
{
	/* Pairs with the increment of inside in clients: either the client sees the key cleared, or
	 * the server sees the gauge raised. */
	atomic_thread_fence(memory_order_seq_cst);
	return ++grace->now;
}

bool grace_over(struct grace *grace, uint64_t stamp, uint32_t except)
{
	assert(stamp <= grace->now);
	for (uint32_t slot = 0; slot < RXE_MAX_SLOTS; slot++) {
		if (!grace->watched[slot] || slot == except || grace->clear[slot] >= stamp)
			continue;
		if (atomic_load(&grace->shared->slot[slot].inside) != 0)
			return false;
		grace->clear[slot] = grace->now;
	}
	return true;
}

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
