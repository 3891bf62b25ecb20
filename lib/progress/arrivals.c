// SPDX-License-Identifier: MIT
/* Announced datagrams: see arrivals.h. */
#include "lib/progress/arrivals.h"

#include "lib/progress/progress.h"

/* How long unannounced packets keep every poll asking. */
#define STRANGERS_NS 1000000u

static bool is_announced_to(const struct progress *progress, const struct gid *dst, uint32_t slot)
{
	return progress->info->link == CTL_LINK_UDP && slot < RXE_MAX_SLOTS &&
	       gid_equal(dst, &progress->info->gids[0]);
}

/* Only this process writes the count. */
static void add(struct progress *progress, const struct gid *dst, uint32_t slot, uint32_t n)
{
	const struct ctl_attachment *at = progress->attachment;
	_Atomic uint32_t *count;

	if (!is_announced_to(progress, dst, slot))
		return;
	count = &at->shared->slot[at->slot].announced[slot];
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n,
			      memory_order_release);
}

void arrivals_announce(struct progress *progress, const struct gid *dst, uint32_t slot)
{
	add(progress, dst, slot, 1);
}

void arrivals_retract(struct progress *progress, const struct gid *dst, uint32_t slot)
{
	add(progress, dst, slot, UINT32_MAX);
}

static uint32_t announced(const struct progress *progress)
{
	const struct ctl_shared *shared = progress->attachment->shared;
	const uint32_t own = progress->attachment->slot;
	uint32_t sum = 0;

	CTL_FOR_EACH_USED_SLOT (shared, slot)
		sum += atomic_load_explicit(&shared->slot[slot].announced[own],
					    memory_order_acquire);
	return sum;
}

bool arrivals_are_expected(struct progress *progress, uint64_t now_ns)
{
	struct arrivals *arrivals = &progress->arrivals;

	/* Rules about packets hold some back. */
	if (progress->info->link != CTL_LINK_UDP || progress->link.faults.link)
		return true;
	/* Before the link is asked: what is announced meanwhile counts for the next time. */
	arrivals->announced = announced(progress);
	return arrivals->announced != arrivals->taken || arrivals->has_more ||
	       now_ns >= arrivals->look_ns || now_ns < arrivals->strangers_until_ns ||
	       atomic_load_explicit(&arrivals->is_readable, memory_order_relaxed);
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

	/* Negative: somebody announced nothing, retracted some, or has exited. */
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

void arrivals_received(struct progress *progress, const struct wire_arrival *arrivals, int n,
		       bool may_have_more, uint64_t now_ns)
{
	struct arrivals *a = &progress->arrivals;

	a->has_more = may_have_more;
	a->look_ns = now_ns + ARRIVALS_LOOK_NS;
	atomic_store_explicit(&a->is_readable, false, memory_order_relaxed);
	if (n > 0 && a->announced == a->taken)
		a->strangers_until_ns = now_ns + STRANGERS_NS;
	a->taken += datagrams(arrivals, n);
	look_for_lost(a, n <= 0, now_ns);
}

void arrivals_waited(struct progress *progress, bool readable)
{
	if (readable)
		atomic_store_explicit(&progress->arrivals.is_readable, true, memory_order_relaxed);
}
