// SPDX-License-Identifier: MIT
/* Grace periods by gauges: two atomic stores for a process, a scan of all slots for the server. */
#include "lib/control/grace.h"

#include <assert.h>

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
