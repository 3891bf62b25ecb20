/* SPDX-License-Identifier: MIT */
/* Counts that show whose turn it is: of the waits of a process, and of the peers that it sends
 * to. A long wait adds one to a count, any other takes one away. A send to another peer than the
 * last, or to another host, adds 4 to a second count, any other takes one away. 16 is many. The
 * first count goes to 24. The second goes to 200: a server and one client that both run are fast,
 * and the others would take it for a server of one.
 *
 * Called by schedule_*.c, whose theory of operation says what follows. Any thread; no value orders
 * anything else. */
#ifndef RXE_PROGRESS_TURNS_H
#define RXE_PROGRESS_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/min.h"

#define TURNS_OTHER	4u
#define TURNS_MANY	16u
#define TURNS_WAITS_MAX 24u
#define TURNS_PEERS_MAX 200u

struct turns {
	/* How many more waits were long than were not, and how many more sends went to another peer
	 * than the last. */
	_Atomic uint32_t long_waits, peer_changes;
};

/* 0 takes one away. */
static inline void turns_add(_Atomic uint32_t *to, uint32_t more, uint32_t max)
{
	const uint32_t n = atomic_load_explicit(to, memory_order_relaxed);

	if (more || n > 0)
		atomic_store_explicit(to, more ? min_u32(n + more, max) : n - 1,
				      memory_order_relaxed);
}

static inline void turns_waited(struct turns *turns, bool for_long)
{
	turns_add(&turns->long_waits, for_long, TURNS_WAITS_MAX);
}

static inline void turns_sent(struct turns *turns, bool to_other)
{
	turns_add(&turns->peer_changes, to_other ? TURNS_OTHER : 0, TURNS_PEERS_MAX);
}

/* The process sends to many. */
static inline bool turns_has_many_peers(const struct turns *turns)
{
	return atomic_load_explicit(&turns->peer_changes, memory_order_relaxed) >= TURNS_MANY;
}

/* The one peer of the process serves others first. */
static inline bool turns_must_wait(const struct turns *turns)
{
	return atomic_load_explicit(&turns->long_waits, memory_order_relaxed) >= TURNS_MANY &&
	       !turns_has_many_peers(turns);
}

#endif
