// SPDX-License-Identifier: MIT
/* Announced datagrams and credits: see local_peer.h. */
#include "lib/progress/local_peer.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/pace.h"
#include "lib/progress/progress.h"
#include "net/wire/opcode.h"

/* How long unannounced packets keep every poll asking. */
#define STRANGERS_NS 1000000u
/* A datagram between two processes arrives after six to eight reads. */
#define MANY_LOOKS 16
/* Cached sums are read again after this time. */
#define SUMS_NS 50000u

static struct ctl_slot *slot_at(const struct progress *progress, uint32_t slot)
{
	return &progress->attachment->shared->slot[slot];
}

static bool is_slot_of(const struct progress *progress, const struct gid *dst, uint32_t slot)
{
	return slot < RXE_MAX_SLOTS && gid_equal(dst, &progress->info->gids[0]);
}

const struct presence *local_peer_presence(const struct progress *progress, const struct gid *dst,
					   uint32_t slot)
{
	return is_slot_of(progress, dst, slot) ? &slot_at(progress, slot)->presence : NULL;
}

static bool is_announced_to(const struct progress *progress, const struct gid *dst, uint32_t slot)
{
	return progress->info->link == CTL_LINK_UDP && is_slot_of(progress, dst, slot);
}

static _Atomic uint32_t *announced_to(const struct progress *progress, uint32_t slot)
{
	return &progress->attachment->shared->remote_requests.announced[slot].datagrams;
}

static void announce(struct progress *progress, const struct gid *dst, uint32_t slot, uint32_t n)
{
	if (is_announced_to(progress, dst, slot))
		atomic_fetch_add_explicit(announced_to(progress, slot), n, memory_order_release);
}

void arrivals_announce(struct progress *progress, const struct gid *dst, uint32_t slot)
{
	announce(progress, dst, slot, 1);
}

void arrivals_retract(struct progress *progress, const struct gid *dst, uint32_t slot)
{
	announce(progress, dst, slot, UINT32_MAX);
}

bool arrivals_are_expected(struct progress *progress, uint64_t now_ns)
{
	struct arrivals *arrivals = &progress->arrivals;

	/* Those that are held back have arrived. */
	if (progress->info->link != CTL_LINK_UDP || progress->link.holds_packets)
		return true;
	/* Before the link is asked: what is announced meanwhile counts for the next time. */
	arrivals->announced = atomic_load_explicit(
		announced_to(progress, progress->attachment->slot), memory_order_acquire);
	return arrivals->announced != arrivals->taken || arrivals->has_more ||
	       now_ns >= arrivals->look_ns || now_ns < arrivals->strangers_until_ns ||
	       atomic_load_explicit(&arrivals->is_readable, memory_order_relaxed);
}

uint32_t arrivals_looks(struct progress *progress)
{
	struct arrivals *arrivals = &progress->arrivals;
	const bool is_new = arrivals->announced != arrivals->looked_for &&
			    arrivals->announced != arrivals->taken;

	arrivals->looked_for = arrivals->announced;
	return is_new ? MANY_LOOKS : 1;
}

void arrivals_look(struct progress *progress)
{
	progress->arrivals.look_ns = 0;
}

/* The index in its train of a datagram's first packet is 0. */
static uint32_t datagrams(const struct wire_arrival *arrivals, int n)
{
	uint32_t count = 0;

	for (int i = 0; i < n; i++)
		count += arrivals[i].ip_id == 0;
	return count;
}

/* Each time that the socket is empty, counts the datagrams that are announced and have not arrived.
 * The lowest count within ARRIVALS_FLIGHT_NS is of lost ones; the others are under way. */
static void look_for_lost(struct arrivals *a, bool is_empty, uint64_t now_ns)
{
	const int32_t missing = (int32_t)(a->announced - a->taken);

	/* Negative: a sender announced nothing, retracted some, or has exited. */
	if (is_empty && missing < 0)
		a->taken = a->announced;
	if (missing <= 0)
		a->missing = 0;
	if (missing <= 0 || !is_empty)
		return;
	if (a->missing == 0) {
		a->missing = (uint32_t)missing;
		a->missing_since_ns = now_ns;
		return;
	}
	if ((uint32_t)missing < a->missing)
		a->missing = (uint32_t)missing;
	if (now_ns - a->missing_since_ns >= ARRIVALS_FLIGHT_NS) {
		a->taken += a->missing;
		a->missing = 0;
	}
}

/* More datagrams have come than were announced. The count is read again: a peer may have announced
 * and sent one while the socket was read. */
static bool has_unannounced(const struct progress *progress)
{
	const struct arrivals *a = &progress->arrivals;

	return (int32_t)(a->announced - a->taken) < 0 &&
	       (int32_t)(atomic_load_explicit(announced_to(progress, progress->attachment->slot),
					      memory_order_acquire) -
			 a->taken) < 0;
}

void arrivals_received(struct progress *progress, const struct wire_arrival *arrivals, int n,
		       bool may_have_more, uint64_t now_ns)
{
	struct arrivals *a = &progress->arrivals;

	a->has_more = may_have_more;
	a->look_ns = now_ns + ARRIVALS_LOOK_NS;
	atomic_store_explicit(&a->is_readable, false, memory_order_relaxed);
	a->taken += datagrams(arrivals, n);
	if (n > 0 && has_unannounced(progress))
		a->strangers_until_ns = now_ns + STRANGERS_NS;
	look_for_lost(a, n <= 0, now_ns);
}

void arrivals_waited(struct progress *progress, bool readable)
{
	if (readable)
		atomic_store_explicit(&progress->arrivals.is_readable, true, memory_order_relaxed);
}

static bool is_local_peer(const struct progress *progress, const struct gid *dst, uint32_t slot)
{
	return is_slot_of(progress, dst, slot) &&
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
