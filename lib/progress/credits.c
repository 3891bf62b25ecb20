// SPDX-License-Identifier: MIT
/* Room in neighbours' sockets. The sums are hints: a packet that the kernel dropped is made good when its receiver finds the
 * socket empty, and one counted at the wrong moment gives a little too much or too little room until then. */
#include "lib/progress/credits.h"

#include "emu/engine.h"
#include "emu/pace.h"
#include "lib/progress/progress.h"
#include "net/wire/opcode.h"

/* Others' sums are looked at that often, and for new processes that often. */
#define LOOK_NS 50000u
#define LIVE_NS 10000000u

static struct ctl_slot *slot_at(const struct progress *progress, uint32_t slot)
{
	return &progress->attachment->shared->slot[slot];
}

static bool is_neighbor(const struct progress *progress, const struct gid *dst, uint32_t slot)
{
	return slot < RXE_MAX_SLOTS && gid_equal(dst, &progress->info->gids[0]) &&
	       atomic_load_explicit(&slot_at(progress, slot)->pid, memory_order_relaxed) != 0;
}

static void list_live(const struct progress *progress, struct credits *room, uint64_t now_ns)
{
	if (room->live_at_ns && now_ns - room->live_at_ns < LIVE_NS)
		return;
	room->live_at_ns = now_ns;
	room->num_live = 0;
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		if (atomic_load_explicit(&slot_at(progress, i)->pid, memory_order_relaxed))
			room->live[room->num_live++] = (uint16_t)i;
	}
}

static uint64_t offered_by(const struct progress *progress, uint32_t from, uint32_t to)
{
	return atomic_load_explicit(&slot_at(progress, from)->offered[to], memory_order_relaxed);
}

/* What all but ourselves have offered to that slot. */
static uint64_t offered_by_others(const struct progress *progress, struct credits *room,
				  uint32_t to, uint64_t now_ns)
{
	uint64_t sum = 0;

	list_live(progress, room, now_ns);
	for (uint32_t i = 0; i < room->num_live; i++) {
		if (room->live[i] != progress->attachment->slot)
			sum += offered_by(progress, room->live[i], to);
	}
	return sum;
}

uint32_t credits_left(void *host, const struct gid *dst, uint32_t slot)
{
	struct progress *progress = host;
	struct credits *room = &progress->room;
	uint64_t now_ns = progress->engine->now_ns;
	int64_t waiting;

	if (!is_neighbor(progress, dst, slot))
		return UINT32_MAX;
	if (now_ns - room->to[slot].at_ns >= LOOK_NS) {
		room->to[slot].offered = offered_by_others(progress, room, slot, now_ns);
		room->to[slot].at_ns = now_ns;
	}
	waiting = (int64_t)(room->to[slot].offered +
			    offered_by(progress, progress->attachment->slot, slot) -
			    atomic_load_explicit(&slot_at(progress, slot)->taken,
						 memory_order_relaxed));
	if (waiting <= 0)
		return RXE_WINDOW_BYTES;
	return waiting < RXE_WINDOW_BYTES ? (uint32_t)(RXE_WINDOW_BYTES - waiting) : 0;
}

/* Ours alone: nobody else adds to it. */
static void add(_Atomic uint64_t *sum, uint64_t n)
{
	atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

void credits_spent(void *host, const struct gid *dst, uint32_t slot, uint32_t cost)
{
	struct progress *progress = host;

	if (is_neighbor(progress, dst, slot))
		add(&slot_at(progress, progress->attachment->slot)->offered[slot], cost);
}

static uint32_t cost_of(const struct wire_arrival *arrival)
{
	enum wire_service service;

	if (arrival->len == 0)
		return 0;
	service = opcode_service(arrival->p[0]);
	return service == WIRE_UC || service == WIRE_UD ? rxe_pace_cost(arrival->len) : 0;
}

void credits_returned(struct progress *progress, const struct wire_arrival *arrivals, int n)
{
	uint64_t cost = 0;

	for (int i = 0; i < n; i++)
		cost += cost_of(&arrivals[i]);
	if (cost == 0)
		return;
	add(&slot_at(progress, progress->attachment->slot)->taken, cost);
	progress->room.took = true;
}

void credits_socket_empty(struct progress *progress, uint64_t now_ns)
{
	struct credits *room = &progress->room;
	uint32_t us = progress->attachment->slot;

	if (!room->took || now_ns - room->right_at_ns < LOOK_NS)
		return;
	room->took = false;
	room->right_at_ns = now_ns;
	atomic_store_explicit(&slot_at(progress, us)->taken,
			      offered_by_others(progress, room, us, now_ns) +
				      offered_by(progress, us, us),
			      memory_order_relaxed);
}
