// SPDX-License-Identifier: MIT
/* Grace periods by gauges: cheap for those who are inside, a look at each slot for the server. */
#include "rxe_dm/server/grace.h"

void grace_watch(struct grace *grace, uint32_t slot)
{
	grace->watched[slot] = true;
	grace->clear[slot] = grace->now; /* what was taken before it came, it never saw */
}

void grace_unwatch(struct grace *grace, uint32_t slot)
{
	grace->watched[slot] = false;
}

uint64_t grace_begin(struct grace *grace)
{
	/* Pairs with the clients' increment of inside: either they see the key cleared or we see them inside. */
	atomic_thread_fence(memory_order_seq_cst);
	return ++grace->now;
}

bool grace_over(struct grace *grace, uint64_t stamp, uint32_t except)
{
	for (uint32_t slot = 0; slot < RXE_MAX_SLOTS; slot++) {
		if (!grace->watched[slot] || slot == except || grace->clear[slot] >= stamp)
			continue;
		if (atomic_load(&grace->shared->slot[slot].inside) != 0)
			return false;
		grace->clear[slot] = grace->now;
	}
	return true;
}
