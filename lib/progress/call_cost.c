// SPDX-License-Identifier: MIT
/* The cost of a system call: see call_cost.h. */
#include "lib/progress/call_cost.h"

#include "emu/min.h"

#define INTERVAL 16u

bool call_cost_is_due(struct call_cost *cost)
{
	const uint32_t left = atomic_load_explicit(&cost->yields_left, memory_order_relaxed);

	atomic_store_explicit(&cost->yields_left, left ? left - 1 : INTERVAL, memory_order_relaxed);
	return left == 0;
}

void call_cost_measured(struct call_cost *cost, uint64_t took_ns)
{
	const uint64_t ns = call_cost_ns(cost), most_ns = ns + ns / 2 + 1;

	if (took_ns > most_ns)
		atomic_store_explicit(&cost->yields_left, 0, memory_order_relaxed);
	atomic_store_explicit(&cost->ns, took_ns ? min_u64(took_ns, most_ns) : 1,
			      memory_order_relaxed);
}
