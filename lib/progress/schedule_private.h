/* SPDX-License-Identifier: MIT */
/* What the two halves of the schedule share: private to schedule_program.c and
 * schedule_background.c. */
#ifndef RXE_PROGRESS_SCHEDULE_PRIVATE_H
#define RXE_PROGRESS_SCHEDULE_PRIVATE_H

#include "emu/min.h"
#include "lib/progress/schedule.h"

/* Times in units of call_cost.h. */

/* A time long ago: the program found all that it expected. */
#define FOUND_ALL_NS 1u

#define STEP_BACK_ARRIVALS 8u
/* A yield that lasts longer shows that a program spins: an interrupt takes no longer. */
#define YIELD_WANTED 32u
/* When no thread polls, ACKs are held no longer than this, once a postponed step back is over. */
#define TICK   3200u
#define RESEND 320u

/* Properties of kernels and protocols, which a slow processor does not change. No time slice is
 * shorter than SLICE_NS. An expensive yield keeps pollers asleep for several slices, and for
 * TURN_NS those that wait their turn, whose yields run others that wait. A program that has neither
 * polled nor posted for POLLED_LONG_AGO_NS does something else. The shortest local ACK timeout in
 * use is of some milliseconds. */
#define SLICE_NS	     700000u
#define OVERSUBSCRIBED_NS    20000000u
#define TURN_NS		     640000000u
#define POLLED_LONG_AGO_NS   5000000u
#define ACK_HELD_RECENTLY_NS 5000000u
#define SLEEP_LIMIT_NS	     1000000u
#define EVENT_SPIN_LIMIT_NS  2000000u
#define STEP_BACK_LIMIT_NS   2000000u
#define TICK_LIMIT_NS	     2500000u

static inline uint64_t get(_Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static inline void set(_Atomic uint64_t *value, uint64_t to)
{
	atomic_store_explicit(value, to, memory_order_relaxed);
}

static inline uint64_t units(const struct schedule *s, uint32_t n)
{
	return n * call_cost_ns(&s->cost);
}

static inline uint64_t units_up_to(const struct schedule *s, uint32_t n, uint64_t limit_ns)
{
	return min_u64(units(s, n), limit_ns);
}

/* The one peer of this process sends to many. */
static inline bool is_client(const struct schedule *s)
{
	const struct presence *peer = atomic_load_explicit(&s->peer, memory_order_relaxed);

	return peer && atomic_load_explicit(&peer->has_many_peers, memory_order_relaxed) &&
	       !turns_has_many_peers(&s->turns);
}

/* And lets it wait. */
static inline bool server_is_busy(const struct schedule *s)
{
	return turns_must_wait(&s->turns) && is_client(s);
}

/* A processor slower than that of TICK_LIMIT_NS is more often late than it gains. */
static inline uint64_t tick_ns(const struct schedule *s)
{
	if (server_is_busy(s))
		return TICK_LIMIT_NS;
	return units_up_to(s, TICK, TICK_LIMIT_NS);
}

static inline struct schedule_decision decide(enum schedule_action action)
{
	return (struct schedule_decision){ .action = action };
}

static inline bool polled_long_ago(uint64_t polled_at_ns, uint64_t now_ns)
{
	return polled_at_ns + POLLED_LONG_AGO_NS <= now_ns;
}

/* polls: the thread is a poller. */
static inline struct schedule_decision decide_yield(struct schedule *s, bool polls)
{
	if (polls)
		atomic_fetch_add(&s->yielders, 1);
	return (struct schedule_decision){
		.action = SCHEDULE_YIELD,
		.measures = call_cost_is_due(&s->cost),
		.polls = polls,
	};
}

static inline bool is_oversubscribed(struct schedule *s, uint64_t now_ns)
{
	return now_ns < get(&s->oversubscribed_at_ns) +
				(turns_must_wait(&s->turns) ? TURN_NS : OVERSUBSCRIBED_NS);
}

/* The program does not say so if it sleeps on a channel's descriptor. It arms a completion queue
 * right before. Who waits for an event on the link says when it sleeps elsewhere. */
static inline bool may_sleep(struct schedule *s, uint64_t now_ns)
{
	return atomic_load(&s->armed_cqs) && !atomic_load(&s->awaits_event) &&
	       !polled_long_ago(get(&s->armed_at_ns), now_ns);
}

/* A client of a server, or one that sends to many: it shares its processor with those that it waits
 * for, and polls when it has its turn. */
static inline bool waits_turns(const struct schedule *s)
{
	return is_client(s) || turns_has_many_peers(&s->turns);
}

/* A timer that is set costs a poller some units, so a poll sets it as late as it can: this long
 * before the end. */
static inline uint64_t postpone_before_ns(const struct schedule *s, uint64_t length_ns)
{
	return length_ns / (waits_turns(s) ? 2 : 8);
}

/* Returns whether pollers have found enough. */
static inline bool count_arrival(struct schedule *s)
{
	const uint32_t found = atomic_load_explicit(&s->poller_arrivals, memory_order_relaxed);

	if (found == STEP_BACK_ARRIVALS)
		return true;
	atomic_store_explicit(&s->poller_arrivals, found + 1, memory_order_relaxed);
	return false;
}

#endif
