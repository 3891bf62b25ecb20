// SPDX-License-Identifier: MIT
/* Credits towards local peers: see credits.h. */
#include "lib/progress/credits.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/pace.h"
#include "lib/progress/progress.h"
#include "net/wire/opcode.h"

/* Cached sums are read again after this time. */
#define SUMS_NS 50000u

static struct ctl_slot *slot_at(const struct progress *progress, uint32_t slot)
{
	return &progress->attachment->shared->slot[slot];
}

static bool is_local_peer(const struct progress *progress, const struct gid *dst, uint32_t slot)
{
	return slot < RXE_MAX_SLOTS && gid_equal(dst, &progress->info->gids[0]) &&
	       atomic_load_explicit(&slot_at(progress, slot)->pid, memory_order_relaxed) != 0;
}

static uint64_t offered_by(const struct progress *progress, uint32_t from, uint32_t to)
{
	return atomic_load_explicit(&slot_at(progress, from)->offered[to], memory_order_relaxed);
}

/* What all processes except this one have offered to a slot. */
static uint64_t offered_by_others(const struct progress *progress, uint32_t to)
{
	uint64_t sum = 0;

	assert(to < RXE_MAX_SLOTS);
	CTL_FOR_EACH_USED_SLOT (progress->attachment->shared, slot) {
		if (slot != progress->attachment->slot)
			sum += offered_by(progress, slot, to);
	}
	return sum;
}

uint32_t credits_left(void *host, const struct gid *dst, uint32_t slot)
{
	struct progress *progress = host;
	struct credits *credits = &progress->credits;
	uint64_t now_ns = progress->engine->now_ns;
	int64_t waiting;

	if (!is_local_peer(progress, dst, slot))
		return UINT32_MAX;
	if (now_ns - credits->to[slot].at_ns >= SUMS_NS) {
		credits->to[slot].offered = offered_by_others(progress, slot);
		credits->to[slot].at_ns = now_ns;
	}
	/* Negative where the receiver corrected its sum in between. */
	waiting = (int64_t)(credits->to[slot].offered +
			    offered_by(progress, progress->attachment->slot, slot) -
			    atomic_load_explicit(&slot_at(progress, slot)->taken,
						 memory_order_relaxed));
	if (waiting <= 0)
		return RXE_WINDOW_BYTES;
	return waiting < RXE_WINDOW_BYTES ? (uint32_t)(RXE_WINDOW_BYTES - waiting) : 0;
}

/* Only this process writes the sum. */
static void add(_Atomic uint64_t *sum, uint64_t n)
{
	atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

void credits_spent(void *host, const struct gid *dst, uint32_t slot, uint32_t cost)
{
	struct progress *progress = host;

	if (is_local_peer(progress, dst, slot))
		add(&slot_at(progress, progress->attachment->slot)->offered[slot], cost);
}

static uint32_t cost_of(const struct wire_arrival *arrival)
{
	enum wire_service service;

	if (arrival->len == 0)
		return 0;
	service = opcode_service(arrival->p[0]);
	return service == WIRE_UC || service == WIRE_UD || service == WIRE_RAW
		       ? rxe_pace_cost(arrival->len)
		       : 0;
}

void credits_returned(struct progress *progress, const struct wire_arrival *arrivals, int n)
{
	uint64_t cost = 0;

	assert(n > 0);
	for (int i = 0; i < n; i++)
		cost += cost_of(&arrivals[i]);
	if (cost == 0)
		return;
	add(&slot_at(progress, progress->attachment->slot)->taken, cost);
	progress->credits.took = true;
}

void credits_socket_empty(struct progress *progress, uint64_t now_ns)
{
	struct credits *credits = &progress->credits;
	uint32_t own = progress->attachment->slot;

	if (!credits->took || now_ns - credits->corrected_at_ns < SUMS_NS)
		return;
	credits->took = false;
	credits->corrected_at_ns = now_ns;
	atomic_store_explicit(&slot_at(progress, own)->taken,
			      offered_by_others(progress, own) + offered_by(progress, own, own),
			      memory_order_relaxed);
}
