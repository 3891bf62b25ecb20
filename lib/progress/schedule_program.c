// SPDX-License-Identifier: MIT
/* Scheduling of the engine, the half of the program's threads: the theory of operation is in
 * schedule.h. */
#include "lib/progress/schedule_private.h"

#include <assert.h>
#include <stddef.h>

#include "emu/min.h"

/* Times in units of call_cost.h. */

/* Limits of a poller's yield. A yield that returns sooner shows that no other thread wanted the
 * processor: the next yield comes after a while, which doubles each time. A yield that lasts longer
 * shows that others had their time slices. */
#define YIELD_USED	6u
#define QUIET_MIN	10u
#define QUIET_MAX	160u
#define YIELD_EXPENSIVE 1000u
/* A sleep may last longer than it must: another thread found the packet, or the program has other
 * things to do. */
#define SLEEP_MIN 160u
#define SLEEP_MAX 800u
/* The limit for a poller that waits its turn. */
#define SLEEP_TURN_MAX 3200u

/* Times in timers, what it takes to set one and to clear it. A sleep, and the postponement of a
 * step back, set one each and last as long at least. */
#define SLEEP_TIMERS	    24u
#define POSTPONE_TIMERS	    64u
#define POSTPONE_TIMERS_MAX 256u
#define POSTPONE_LIMIT_NS   8000000u
/* A postponement lasts for this part of the time for which the program has polled. */
#define POSTPONE_SHARE 8u

/* An ACK waits for a request to follow. A server of many peers answers them in turn. */
#define ACK_HOLD      64u
#define ACK_HOLD_MANY 1024u
/* With sleeps at both ends a round trip takes this much more. */
#define EVENT_SPIN 160u
/* A thread that waits for its next event within this time came back soon. Once one did not, this
 * many waits are on channels alone. */
#define BACK_SOON      160u
#define BACK_SOON_MANY 2560u
#define CHANNEL_WAITS  8u
/* Polls in a loop that does nothing else follow each other within this time. In this many slow ones
 * in a row, the program may be taken to yield itself. */
#define POLLS_ON  32u
#define LOOKS_MAX 8u
/* A program that waits for events polls once or twice before it does. */
#define ARMED_POLLS 4u
/* A peer that has run within this time runs. */
#define PEER_RUNS 24u
/* It is looked for again after this time. */
#define PEER_QUIET 40u

/* A wait for a packet that takes longer is long: a sleep adds little to it. */
#define WAIT_LONG 160u

static uint64_t longer_ns(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

static uint64_t sleep_min_ns(const struct schedule *s)
{
	const uint64_t timer_ns = atomic_load_explicit(&s->timer_ns, memory_order_relaxed);

	return min_u64(longer_ns(units(s, SLEEP_MIN), SLEEP_TIMERS * timer_ns), SLEEP_LIMIT_NS);
}

/* A client of a busy server sleeps for as long as its background thread steps back. */
static uint64_t sleep_max_ns(const struct schedule *s)
{
	if (server_is_busy(s))
		return STEP_BACK_LIMIT_NS;
	return longer_ns(units_up_to(s, turns_must_wait(&s->turns) ? SLEEP_TURN_MAX : SLEEP_MAX,
				     SLEEP_LIMIT_NS),
			 sleep_min_ns(s));
}

void schedule_forked(struct schedule *s)
{
	*s = (struct schedule){ 0 };
}

/* Threads of the program. */

static void is_active(struct schedule *s, uint64_t now_ns, int cpu)
{
	set(&s->active_at_ns, now_ns);
	atomic_store_explicit(&s->active_cpu, cpu, memory_order_relaxed);
}

void schedule_posted(struct schedule *s, uint64_t now_ns, int cpu)
{
	set(&s->idle_until_ns, 0);
	is_active(s, now_ns, cpu);
}

void schedule_polled(struct schedule *s, uint64_t now_ns, int cpu)
{
	set(&s->polled_at_ns, now_ns);
	set(&s->last_poll_ns, now_ns);
	is_active(s, now_ns, cpu);
}

bool schedule_begins_round(struct schedule *s, _Atomic uint32_t *round, uint64_t now_ns)
{
	const uint32_t current = atomic_load_explicit(&s->round, memory_order_relaxed);
	uint32_t next = current + 1;

	if (!turns_has_many_peers(&s->turns))
		return true;
	if (atomic_load_explicit(round, memory_order_relaxed) != current &&
	    now_ns < get(&s->last_poll_ns) + units(s, POLLS_ON))
		next = current;
	atomic_store_explicit(&s->round, next, memory_order_relaxed);
	atomic_store_explicit(round, next, memory_order_relaxed);
	return next != current;
}

uint64_t schedule_active_at_ns(struct schedule *s)
{
	return get(&s->active_at_ns);
}

void schedule_attached(struct schedule *s, struct presence *own)
{
	s->own = own;
	if (own)
		atomic_store(&own->has_many_peers, 0);
	atomic_store_explicit(&s->peer, NULL, memory_order_relaxed);
}

void schedule_engine_runs(struct schedule *s, uint64_t now_ns, int cpu)
{
	if (!s->own)
		return;
	set(&s->own->at_ns, now_ns);
	atomic_store_explicit(&s->own->cpu, cpu, memory_order_relaxed);
}

/* Peers read the line at each poll: it is written only for a change. */
static void show_peers(struct schedule *s)
{
	const uint32_t has_many = turns_has_many_peers(&s->turns);

	if (s->own &&
	    has_many != atomic_load_explicit(&s->own->has_many_peers, memory_order_relaxed))
		atomic_store_explicit(&s->own->has_many_peers, has_many, memory_order_relaxed);
}

/* Peers on other hosts may be many. */
void schedule_sent_to(struct schedule *s, const struct presence *peer)
{
	const bool is_other = atomic_load_explicit(&s->peer, memory_order_relaxed) != peer;

	turns_sent(&s->turns, is_other || !peer);
	show_peers(s);
	if (is_other)
		atomic_store_explicit(&s->peer, peer, memory_order_relaxed);
}

/* The poll that found a packet ends a wait. */
static void wait_ended(struct schedule *s)
{
	const uint64_t began_ns = get(&s->wait_began_ns);

	if (!began_ns)
		return;
	set(&s->wait_began_ns, 0);
	turns_waited(&s->turns, get(&s->active_at_ns) > began_ns + units(s, WAIT_LONG));
}

/* The peer has run lately, on another processor than this thread. */
static bool peer_runs(struct schedule *s, uint64_t now_ns)
{
	const struct presence *peer = atomic_load_explicit(&s->peer, memory_order_relaxed);

	return peer &&
	       atomic_load_explicit(&peer->at_ns, memory_order_relaxed) + units(s, PEER_RUNS) >
		       now_ns &&
	       atomic_load_explicit(&peer->cpu, memory_order_relaxed) !=
		       atomic_load_explicit(&s->active_cpu, memory_order_relaxed);
}

bool schedule_serves_many(struct schedule *s, uint64_t now_ns)
{
	return turns_has_many_peers(&s->turns) &&
	       (!polled_long_ago(get(&s->last_poll_ns), now_ns) ||
		!polled_long_ago(get(&s->polled_at_ns), now_ns));
}

uint32_t schedule_ack_hold_ns(struct schedule *s, uint64_t now_ns)
{
	return (uint32_t)units_up_to(s, schedule_serves_many(s, now_ns) ? ACK_HOLD_MANY : ACK_HOLD,
				     TICK_LIMIT_NS / 2);
}

static bool is_quiet(struct schedule *s, uint64_t now_ns, uint32_t longest)
{
	return now_ns < get(&s->quiet_at_ns) + min_u64(get(&s->quiet_ns), units(s, longest));
}

/* The peer may wait for this processor. */
struct schedule_decision schedule_sent_to_local_peer(struct schedule *s, uint64_t now_ns)
{
	/* A program that spins on its own memory also waits for its background thread. */
	const bool polls = !polled_long_ago(get(&s->last_poll_ns), now_ns);

	if (schedule_serves_many(s, now_ns) || is_oversubscribed(s, now_ns) ||
	    is_quiet(s, now_ns, QUIET_MIN) || (polls && peer_runs(s, now_ns)))
		return decide(SCHEDULE_NOTHING);
	return decide_yield(s, polls);
}

void schedule_call_measured(struct schedule *s, uint64_t took_ns)
{
	call_cost_measured(&s->cost, took_ns);
}

/* Returns whether the poller that yielded gets a short time slice. */
static bool yield_ran_others(struct schedule *s, const struct schedule_decision *yielded,
			     uint64_t took_ns, uint64_t now_ns)
{
	const bool expensive = took_ns > units_up_to(s, YIELD_EXPENSIVE, SLICE_NS);

	set(&s->quiet_ns, 0);
	if (!expensive && (took_ns <= units(s, YIELD_WANTED) || !turns_must_wait(&s->turns)))
		return yielded->polls && turns_has_many_peers(&s->turns);
	set(&s->sleep_ns, sleep_min_ns(s));
	set(&s->oversubscribed_at_ns, now_ns);
	if (expensive && !yielded->polls)
		atomic_store(&s->shortens_slice, true);
	return yielded->polls && (expensive || turns_has_many_peers(&s->turns));
}

bool schedule_yield_returned(struct schedule *s, const struct schedule_decision *yielded,
			     uint64_t asked_ns, uint64_t now_ns)
{
	const uint64_t took_ns = now_ns - asked_ns;
	const uint64_t quiet_ns = get(&s->quiet_ns);

	assert(yielded->action == SCHEDULE_YIELD && now_ns >= asked_ns);
	if (yielded->polls)
		atomic_fetch_sub(&s->yielders, 1);
	if (took_ns < units(s, YIELD_USED)) {
		set(&s->quiet_ns,
		    quiet_ns ? min_u64(2 * quiet_ns, units(s, QUIET_MAX)) : units(s, QUIET_MIN));
		set(&s->quiet_at_ns, now_ns);
		return false;
	}
	if (!yield_ran_others(s, yielded, took_ns, now_ns))
		return false;
	atomic_store_explicit(&s->has_short_slice, true, memory_order_relaxed);
	return true;
}

struct schedule_decision schedule_packet_arrived(struct schedule *s)
{
	wait_ended(s);
	if (count_arrival(s) && atomic_exchange(&s->listening, false))
		return decide(SCHEDULE_WAKE_BACKGROUND);
	return decide(SCHEDULE_NOTHING);
}

/* The program is about to wait for an event, unless it polls on: it shall wait there. */
static bool waits_for_event_next(struct schedule *s)
{
	const uint32_t polls = atomic_load_explicit(&s->armed_polls, memory_order_relaxed);

	if (!atomic_load(&s->armed_cqs) || !server_is_busy(s) || polls == ARMED_POLLS)
		return false;
	atomic_store_explicit(&s->armed_polls, polls + 1, memory_order_relaxed);
	return true;
}

/* The program polls on, and the engine is due at due_ns. */
static struct schedule_decision polls_on(struct schedule *s, uint64_t now_ns, uint64_t due_ns)
{
	const uint64_t longest_ns = get(&s->sleep_ns);

	assert(longest_ns <= STEP_BACK_LIMIT_NS);
	if (!get(&s->wait_began_ns))
		set(&s->wait_began_ns, now_ns);
	if (is_quiet(s, now_ns, QUIET_MAX) || waits_for_event_next(s))
		return decide(SCHEDULE_NOTHING);
	/* A yield would be used by strangers. */
	if (peer_runs(s, now_ns) && !(turns_must_wait(&s->turns) && is_oversubscribed(s, now_ns))) {
		set(&s->quiet_ns, units(s, PEER_QUIET));
		set(&s->quiet_at_ns, now_ns);
		return decide(SCHEDULE_NOTHING);
	}
	if (!is_oversubscribed(s, now_ns))
		return decide_yield(s, true);
	if (due_ns <= now_ns)
		return decide(SCHEDULE_NOTHING);
	atomic_fetch_add(&s->sleepers, 1);
	return (struct schedule_decision){
		.action = SCHEDULE_SLEEP,
		.until_ns = now_ns + min_u64(due_ns - now_ns, longest_ns),
		.longest_ns = longest_ns,
		.lets_others_go_on = server_is_busy(s),
		.shortens_slice = !server_is_busy(s) && atomic_exchange(&s->shortens_slice, false),
	};
}

void schedule_sleep_returned(struct schedule *s, const struct schedule_decision *slept,
			     bool timed_out)
{
	const uint32_t sleepers = atomic_fetch_sub(&s->sleepers, 1);

	assert(slept->action == SCHEDULE_SLEEP);
	assert(sleepers > 0);
	if (timed_out)
		set(&s->sleep_ns, min_u64(2 * slept->longest_ns, sleep_max_ns(s)));
	else if (!turns_must_wait(&s->turns))
		set(&s->sleep_ns, sleep_min_ns(s));
}

/* Each loop seems slow on a slow machine whose unit is not known: only yields measure it. */
static bool is_slow_after(const struct schedule *s, uint64_t polled_at_ns, uint64_t now_ns)
{
	return now_ns >= polled_at_ns + units(s, POLLS_ON) && call_cost_is_known(&s->cost);
}

/* A loop that seems slow: others had the processor, as if the program had yielded itself. */
static bool yields_itself(struct schedule *s)
{
	const uint32_t looks = atomic_load_explicit(&s->looks, memory_order_relaxed);
	const bool ret = get(&s->quiet_ns) == 0 && looks < LOOKS_MAX;

	atomic_store_explicit(&s->looks, ret ? looks + 1 : 0, memory_order_relaxed);
	return ret;
}

/* For a program that sends to many and was away: a yield shows whether others had the processor. */
static bool wants_short_slice(struct schedule *s, uint64_t now_ns)
{
	return !is_quiet(s, now_ns, QUIET_MAX) &&
	       !atomic_load_explicit(&s->has_short_slice, memory_order_relaxed);
}

struct schedule_decision schedule_poll_began(struct schedule *s, uint64_t now_ns, int cpu)
{
	const bool serves_many = turns_has_many_peers(&s->turns);
	const uint64_t due_ns = get(&s->idle_until_ns);
	const bool was_away =
		(due_ns || serves_many) && is_slow_after(s, get(&s->last_poll_ns), now_ns);
	const bool is_slow = due_ns && was_away;

	schedule_polled(s, now_ns, cpu);
	if (was_away && serves_many && wants_short_slice(s, now_ns))
		return decide_yield(s, true);
	if (!due_ns || (is_slow && serves_many && yields_itself(s)))
		return decide(SCHEDULE_NOTHING);
	if (is_slow && !serves_many)
		return (struct schedule_decision){ .action = SCHEDULE_NOTHING, .is_slow = true };
	return polls_on(s, now_ns, due_ns);
}

struct schedule_decision schedule_looked(struct schedule *s, const struct schedule_decision *began,
					 uint64_t now_ns, uint64_t due_ns)
{
	set(&s->idle_until_ns, due_ns);
	if (due_ns && began->is_slow)
		return polls_on(s, now_ns, due_ns);
	return decide(SCHEDULE_NOTHING);
}

/* Strangers may take the program's processor for a slice. The background thread, which has used
 * little of it, gets one sooner. */
static bool may_lose_processor(struct schedule *s, uint64_t now_ns)
{
	return (get(&s->quiet_ns) == 0 || is_oversubscribed(s, now_ns)) && !waits_turns(s);
}

/* 0 where timers are not dear. */
static uint64_t longest_postponement_ns(struct schedule *s)
{
	return min_u64(POSTPONE_TIMERS_MAX * get(&s->timer_ns), POSTPONE_LIMIT_NS);
}

static uint64_t shortest_postponement_ns(struct schedule *s)
{
	return longer_ns(get(&s->postpone_by_ns),
			 min_u64(POSTPONE_TIMERS * get(&s->timer_ns), STEP_BACK_LIMIT_NS));
}

/* The longer the program has polled, the less it matters that the thread learns late that it has
 * stopped. */
static uint64_t postponement_ns(struct schedule *s, uint64_t now_ns, uint64_t shortest_ns)
{
	const uint64_t share_ns = (now_ns - get(&s->polls_since_ns)) / POSTPONE_SHARE;

	return longer_ns(shortest_ns, min_u64(share_ns, longest_postponement_ns(s)));
}

uint64_t schedule_postponed(struct schedule *s, uint64_t now_ns, uint64_t due_ns)
{
	const uint64_t shortest_ns = shortest_postponement_ns(s);
	const uint64_t window_ns = postpone_before_ns(s, shortest_ns);
	uint64_t at_ns = get(&s->postpone_at_ns), before_ns = get(&s->background_due_ns);
	uint64_t until_ns;

	/* The program was away when this poll was due. */
	if (now_ns > at_ns + window_ns)
		set(&s->polls_since_ns, now_ns);
	/* The thread decides meanwhile. */
	if (!before_ns)
		return 0;
	/* The end is not near. */
	if (now_ns + window_ns < before_ns) {
		atomic_compare_exchange_strong(
			&s->postpone_at_ns, &at_ns,
			min_u64(before_ns - window_ns, now_ns + shortest_ns));
		return 0;
	}
	until_ns = min_u64(now_ns + postponement_ns(s, now_ns, shortest_ns), due_ns);
	/* The engine is due soon. */
	if (until_ns <= before_ns || may_sleep(s, now_ns) || may_lose_processor(s, now_ns) ||
	    !atomic_compare_exchange_strong(&s->background_due_ns, &before_ns, until_ns))
		return 0;
	set(&s->postpone_at_ns, min_u64(until_ns - window_ns, now_ns + shortest_ns));
	return until_ns;
}

bool schedule_expects_more(struct schedule *s)
{
	return atomic_load_explicit(&s->expecting, memory_order_relaxed);
}

bool schedule_polled_found(struct schedule *s, uint64_t now_ns)
{
	const bool more = schedule_expects_more(s);

	set(&s->idle_until_ns, 0);
	set(&s->polled_at_ns, more ? now_ns : FOUND_ALL_NS);
	if (more || turns_has_many_peers(&s->turns))
		return false;
	if (atomic_load_explicit(&s->has_short_slice, memory_order_relaxed))
		atomic_store_explicit(&s->has_short_slice, false, memory_order_relaxed);
	return true;
}

static bool was_back_soon(struct schedule *s, uint64_t away_ns)
{
	const bool serves_many = turns_has_many_peers(&s->turns);

	return away_ns <=
	       units_up_to(s, serves_many ? BACK_SOON_MANY : BACK_SOON, STEP_BACK_LIMIT_NS);
}

uint64_t schedule_event_awaited(struct schedule *s, uint64_t away_ns)
{
	const uint32_t waits = atomic_load_explicit(&s->channel_waits, memory_order_relaxed);

	if (!was_back_soon(s, away_ns))
		atomic_store_explicit(&s->channel_waits, CHANNEL_WAITS, memory_order_relaxed);
	else if (waits > 0)
		atomic_store_explicit(&s->channel_waits, waits - 1, memory_order_relaxed);
	return server_is_busy(s) ? 0 : units_up_to(s, EVENT_SPIN, EVENT_SPIN_LIMIT_NS);
}

/* Then the background thread listens again. */
uint64_t schedule_event_wait_ns(void)
{
	return POLLED_LONG_AGO_NS;
}

struct schedule_decision schedule_event_wait_began(struct schedule *s)
{
	const bool waits_turn = server_is_busy(s);

	/* While the thread is away, only the background thread serves. */
	if (!waits_turn && atomic_load_explicit(&s->channel_waits, memory_order_relaxed))
		return decide(SCHEDULE_NOTHING);
	/* A packet would wake each thread that sleeps on the link. */
	if (atomic_exchange(&s->awaits_event, true))
		return decide(SCHEDULE_NOTHING);
	atomic_store_explicit(&s->armed_polls, 0, memory_order_relaxed);
	if (!is_client(s))
		set(&s->wait_began_ns, 0);
	else if (!get(&s->wait_began_ns)) /* A program may wait without a poll before. */
		set(&s->wait_began_ns, get(&s->active_at_ns));
	atomic_fetch_add(&s->sleepers, 1);
	return (struct schedule_decision){
		.action = SCHEDULE_SLEEP,
		.lets_others_go_on = waits_turn,
	};
}

void schedule_event_wait_ended(struct schedule *s)
{
	const uint32_t sleepers = atomic_fetch_sub(&s->sleepers, 1);

	assert(sleepers > 0);
	atomic_store(&s->awaits_event, false);
}

struct schedule_decision schedule_program_will_sleep(struct schedule *s)
{
	/* Pairs with may_step_back(): either the background thread sees the 0, or this thread sees
	 * that it steps back. */
	atomic_store(&s->polled_at_ns, 0);
	/* The wait outlasted the spin. */
	if (get(&s->wait_began_ns) && is_client(s))
		turns_waited(&s->turns, true);
	set(&s->wait_began_ns, 0);
	return decide(atomic_load(&s->stepping_back) ? SCHEDULE_WAKE_BACKGROUND : SCHEDULE_NOTHING);
}

/* Any thread, under the engine lock. */

void schedule_cq_armed(struct schedule *s)
{
	atomic_fetch_add(&s->armed_cqs, 1);
	set(&s->armed_at_ns, get(&s->active_at_ns));
}

void schedule_cq_disarmed(struct schedule *s)
{
	const uint32_t armed = atomic_fetch_sub(&s->armed_cqs, 1);

	assert(armed > 0);
}

static bool is_delayed_ack(const struct schedule *s, const struct schedule_timers *timers,
			   uint64_t now_ns)
{
	return timers->engine_ns <= now_ns + timers->ack_hold_ns &&
	       timers->link_ns >= now_ns + tick_ns(s);
}

/* While the thread steps back, a poller sends a held ACK, and the thread once it is over. */
static uint64_t ack_wait_ns(struct schedule *s)
{
	if (!atomic_load(&s->stepping_back))
		return tick_ns(s);
	return longer_ns(tick_ns(s), longest_postponement_ns(s));
}

struct schedule_decision schedule_engine_released(struct schedule *s, uint64_t now_ns,
						  const struct schedule_timers *timers,
						  bool expecting)
{
	uint64_t deadline_ns = min_u64(timers->engine_ns, timers->link_ns);

	if (is_delayed_ack(s, timers, now_ns)) {
		set(&s->ack_held_at_ns, now_ns);
		deadline_ns = now_ns + ack_wait_ns(s);
	}
	/* A poller that is near sends the rest. */
	if (timers->unsent && !atomic_load(&s->stepping_back))
		deadline_ns = min_u64(deadline_ns, now_ns + units_up_to(s, RESEND, TICK_LIMIT_NS));
	if (expecting != schedule_expects_more(s))
		atomic_store_explicit(&s->expecting, expecting, memory_order_relaxed);
	if (deadline_ns >= get(&s->background_due_ns))
		return decide(SCHEDULE_NOTHING);
	set(&s->background_due_ns, deadline_ns);
	return decide(SCHEDULE_WAKE_BACKGROUND);
}
