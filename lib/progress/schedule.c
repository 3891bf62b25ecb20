// SPDX-License-Identifier: MIT
/* Scheduling of the engine: the theory of operation is in schedule.h. */
#include "lib/progress/schedule.h"

#include <assert.h>
#include <stddef.h>

#include "emu/min.h"

/* Limits of a poller's yield. A yield that returns sooner shows that no other thread wanted the
 * processor: the next yield comes after a while, which doubles each time. A yield that lasts longer
 * shows that others had their time slices. */
#define YIELD_QUIET_NS	   2000u
#define QUIET_MIN_NS	   3000u
#define QUIET_MAX_NS	   48000u
#define YIELD_EXPENSIVE_NS 300000u
#define OVERSUBSCRIBED_NS  20000000u
/* A sleep may last longer than it must: another thread found the packet, or the program has other
 * things to do. */
#define SLEEP_MIN_NS 50000u
#define SLEEP_MAX_NS 250000u

/* The background thread serves on for LINGER_NS after the last packet. */
#define LINGER_NS 50000u
/* A poller is near for this long after a poll. A program that has neither polled nor posted for the
 * longer time does something else. */
#define POLLER_NEAR_NS	   20000u
#define POLLED_LONG_AGO_NS 5000000u
#define STEP_BACK_ARRIVALS 8u
#define STEP_BACK_MIN_NS   50000u
#define STEP_BACK_MAX_NS   800000u
/* A poller that has a processor polls within this time. */
#define WATCH_NS 30000u
/* A yield that lasts longer shows that a program spins: an interrupt takes no longer. */
#define YIELD_WANTED_NS 10000u
/* When no thread polls, ACKs are held no longer than this. */
#define TICK_NS		     1000000u
#define ACK_HELD_RECENTLY_NS 5000000u
#define RESEND_NS	     100000u

/* A step back never delays a held ACK beyond the tick. */
static_assert(STEP_BACK_MAX_NS < TICK_NS, "a step back ends before the next tick");

static uint64_t get(_Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void set(_Atomic uint64_t *value, uint64_t to)
{
	atomic_store_explicit(value, to, memory_order_relaxed);
}

static struct schedule_decision decide(enum schedule_action action)
{
	return (struct schedule_decision){ .action = action };
}

static struct schedule_decision decide_until(enum schedule_action action, uint64_t until_ns)
{
	return (struct schedule_decision){ .action = action, .until_ns = until_ns };
}

void schedule_start(struct schedule *s, bool (*is_engine_held)(void *arg), void *arg)
{
	assert(is_engine_held);
	set(&s->sleep_ns, SLEEP_MIN_NS);
	atomic_store(&s->background_due_ns, UINT64_MAX);
	atomic_store(&s->listening, false);
	atomic_store(&s->stepping_back, false);
	atomic_store(&s->stopping, false);
	s->state = SCHEDULE_IDLE;
	s->step_back_ns = STEP_BACK_MIN_NS;
	s->is_engine_held = is_engine_held;
	s->arg = arg;
}

void schedule_forked(struct schedule *s)
{
	*s = (struct schedule){ .sleep_ns = SLEEP_MIN_NS };
}

void schedule_stop(struct schedule *s)
{
	atomic_store(&s->stopping, true);
}

/* Threads of the program. */

void schedule_posted(struct schedule *s, uint64_t now_ns, int cpu)
{
	set(&s->active_at_ns, now_ns);
	atomic_store_explicit(&s->active_cpu, cpu, memory_order_relaxed);
}

void schedule_polled(struct schedule *s, uint64_t now_ns, int cpu)
{
	set(&s->polled_at_ns, now_ns);
	set(&s->last_poll_ns, now_ns);
	schedule_posted(s, now_ns, cpu);
}

uint64_t schedule_active_at_ns(struct schedule *s)
{
	return get(&s->active_at_ns);
}

static bool is_oversubscribed(struct schedule *s, uint64_t now_ns)
{
	return now_ns < get(&s->oversubscribed_until_ns);
}

static bool is_quiet(struct schedule *s, uint64_t now_ns, uint64_t longest_ns)
{
	return now_ns < get(&s->quiet_at_ns) + min_u64(get(&s->quiet_ns), longest_ns);
}

/* The peer may wait for this processor. */
struct schedule_decision schedule_sent_to_local_peer(struct schedule *s, uint64_t now_ns)
{
	return decide(is_oversubscribed(s, now_ns) || is_quiet(s, now_ns, QUIET_MIN_NS)
			      ? SCHEDULE_NOTHING
			      : SCHEDULE_YIELD);
}

void schedule_yield_returned(struct schedule *s, uint64_t asked_ns, uint64_t now_ns)
{
	const uint64_t took_ns = now_ns - asked_ns;
	const uint64_t quiet_ns = get(&s->quiet_ns);

	assert(now_ns >= asked_ns);
	if (took_ns < YIELD_QUIET_NS) {
		set(&s->quiet_ns, quiet_ns ? min_u64(2 * quiet_ns, QUIET_MAX_NS) : QUIET_MIN_NS);
		set(&s->quiet_at_ns, now_ns);
		return;
	}
	set(&s->quiet_ns, 0);
	if (took_ns > YIELD_EXPENSIVE_NS) {
		set(&s->sleep_ns, SLEEP_MIN_NS);
		set(&s->oversubscribed_until_ns, now_ns + OVERSUBSCRIBED_NS);
	}
}

struct schedule_decision schedule_packet_arrived(struct schedule *s)
{
	const uint32_t found = atomic_load_explicit(&s->poller_arrivals, memory_order_relaxed);

	if (found < STEP_BACK_ARRIVALS)
		atomic_store_explicit(&s->poller_arrivals, found + 1, memory_order_relaxed);
	else if (atomic_exchange(&s->listening, false))
		return decide(SCHEDULE_WAKE_BACKGROUND);
	return decide(SCHEDULE_NOTHING);
}

struct schedule_decision schedule_polled_empty(struct schedule *s, uint64_t now_ns, uint64_t due_ns)
{
	const uint64_t longest_ns = get(&s->sleep_ns);

	assert(longest_ns <= SLEEP_MAX_NS);
	if (!is_oversubscribed(s, now_ns))
		return decide(is_quiet(s, now_ns, QUIET_MAX_NS) ? SCHEDULE_NOTHING
								: SCHEDULE_YIELD);
	if (due_ns <= now_ns)
		return decide(SCHEDULE_NOTHING);
	atomic_fetch_add(&s->sleepers, 1);
	return (struct schedule_decision){
		.action = SCHEDULE_SLEEP,
		.until_ns = now_ns + min_u64(due_ns - now_ns, longest_ns),
		.longest_ns = longest_ns,
	};
}

void schedule_sleep_returned(struct schedule *s, const struct schedule_decision *slept,
			     bool timed_out)
{
	const uint32_t sleepers = atomic_fetch_sub(&s->sleepers, 1);

	assert(slept->action == SCHEDULE_SLEEP);
	assert(sleepers > 0);
	set(&s->sleep_ns, timed_out ? min_u64(2 * slept->longest_ns, SLEEP_MAX_NS) : SLEEP_MIN_NS);
}

bool schedule_expects_more(struct schedule *s)
{
	return atomic_load_explicit(&s->expecting, memory_order_relaxed);
}

void schedule_polled_found(struct schedule *s, uint64_t now_ns)
{
	set(&s->polled_at_ns, schedule_expects_more(s) ? now_ns : 0);
}

struct schedule_decision schedule_program_will_sleep(struct schedule *s)
{
	/* Pairs with may_step_back(): either the background thread sees the 0, or this thread sees
	 * that it steps back. */
	atomic_store(&s->polled_at_ns, 0);
	return decide(atomic_load(&s->stepping_back) ? SCHEDULE_WAKE_BACKGROUND : SCHEDULE_NOTHING);
}

/* Any thread, under the engine lock. */

void schedule_cq_armed(struct schedule *s)
{
	atomic_fetch_add(&s->armed_cqs, 1);
}

void schedule_cq_disarmed(struct schedule *s)
{
	const uint32_t armed = atomic_fetch_sub(&s->armed_cqs, 1);

	assert(armed > 0);
}

static bool is_delayed_ack(const struct schedule_timers *timers, uint64_t now_ns)
{
	return timers->engine_ns <= now_ns + SCHEDULE_ACK_HOLD_NS &&
	       timers->link_ns >= now_ns + TICK_NS;
}

struct schedule_decision schedule_engine_released(struct schedule *s, uint64_t now_ns,
						  const struct schedule_timers *timers,
						  bool expecting)
{
	uint64_t deadline_ns = min_u64(timers->engine_ns, timers->link_ns);

	if (is_delayed_ack(timers, now_ns)) {
		set(&s->ack_held_at_ns, now_ns);
		deadline_ns = now_ns + TICK_NS;
	}
	if (timers->unsent)
		deadline_ns = min_u64(deadline_ns, now_ns + RESEND_NS);
	if (expecting != schedule_expects_more(s))
		atomic_store_explicit(&s->expecting, expecting, memory_order_relaxed);
	if (deadline_ns >= get(&s->background_due_ns))
		return decide(SCHEDULE_NOTHING);
	set(&s->background_due_ns, deadline_ns);
	return decide(SCHEDULE_WAKE_BACKGROUND);
}

/* The background thread. */

static bool polled_long_ago(uint64_t polled_at_ns, uint64_t now_ns)
{
	return polled_at_ns + POLLED_LONG_AGO_NS <= now_ns;
}

static bool poller_is_near(struct schedule *s, uint64_t now_ns)
{
	const uint64_t polled_at_ns = atomic_load(&s->polled_at_ns);

	if (!polled_at_ns || polled_long_ago(polled_at_ns, now_ns))
		return false;
	/* A long message keeps a poller inside the engine for longer than POLLER_NEAR_NS. */
	return polled_at_ns + POLLER_NEAR_NS > now_ns || atomic_load(&s->sleepers) ||
	       s->is_engine_held(s->arg);
}

/* Leaves stepping_back set when it returns true. On an oversubscribed machine a poller that is near
 * may wait for this very processor. */
static bool may_step_back(struct schedule *s, uint64_t now_ns)
{
	if (atomic_load(&s->poller_arrivals) < STEP_BACK_ARRIVALS && !is_oversubscribed(s, now_ns))
		return false;
	/* Before the load of polled_at_ns: pairs with schedule_program_will_sleep(). */
	atomic_store(&s->stepping_back, true);
	if (poller_is_near(s, now_ns))
		return true;
	atomic_store(&s->stepping_back, false);
	return false;
}

static struct schedule_decision step_back(struct schedule *s, uint64_t now_ns)
{
	const uint64_t length_ns = atomic_load(&s->armed_cqs) ? STEP_BACK_MIN_NS : s->step_back_ns;
	uint64_t until_ns = now_ns + length_ns;

	assert(length_ns >= STEP_BACK_MIN_NS && length_ns <= STEP_BACK_MAX_NS);
	assert(atomic_load(&s->stepping_back));
	/* Not beyond the timer that woke the thread, or it would wake the thread again. */
	if (s->due_ns > now_ns)
		until_ns = min_u64(until_ns, s->due_ns);
	s->state = SCHEDULE_STEPPING_BACK;
	atomic_store(&s->background_due_ns, until_ns);
	return decide_until(SCHEDULE_STEP_BACK, until_ns);
}

static struct schedule_decision become_idle(struct schedule *s, uint64_t now_ns)
{
	if (may_step_back(s, now_ns))
		return step_back(s, now_ns);
	assert(!atomic_load(&s->stepping_back));
	s->state = SCHEDULE_LISTENING;
	atomic_store(&s->listening, true);
	return decide(SCHEDULE_WAIT_ON_LINK);
}

static struct schedule_decision serve(struct schedule *s, uint64_t now_ns)
{
	assert(!atomic_load(&s->stepping_back));
	s->state = SCHEDULE_SERVING;
	s->serve_until_ns = now_ns + LINGER_NS;
	return decide(SCHEDULE_RUN_ENGINE);
}

/* A program that polled recently may have lost its processor, most likely to this thread, which
 * yields to see. */
static void begin_watch(struct schedule *s, uint64_t now_ns)
{
	const uint64_t polled_at_ns = get(&s->polled_at_ns);

	s->state = SCHEDULE_WATCHING;
	s->watched_poll_ns = get(&s->last_poll_ns);
	s->watch_until_ns = now_ns;
	if (!polled_at_ns || !polled_long_ago(polled_at_ns, now_ns))
		s->watch_until_ns += WATCH_NS;
}

static struct schedule_decision poller_seen(struct schedule *s, uint64_t now_ns)
{
	if (atomic_load(&s->stepping_back)) {
		if (s->step_back_ns < STEP_BACK_MAX_NS)
			s->step_back_ns *= 2;
		atomic_store(&s->stepping_back, false);
	}
	return become_idle(s, now_ns);
}

/* After LISTENING only a poll that came since counts: while the packet waits, the thread would find
 * it on the link again at once. */
static bool has_polled(struct schedule *s, uint64_t now_ns)
{
	return get(&s->last_poll_ns) != s->watched_poll_ns ||
	       (atomic_load(&s->stepping_back) && poller_is_near(s, now_ns));
}

static struct schedule_decision watch(struct schedule *s, uint64_t now_ns)
{
	if (now_ns < s->watch_until_ns) {
		if (has_polled(s, now_ns))
			return poller_seen(s, now_ns);
		return decide(SCHEDULE_YIELD);
	}
	if (!atomic_load(&s->stepping_back))
		return serve(s, now_ns);
	s->state = SCHEDULE_LOOKING;
	return decide(SCHEDULE_LOOK_AT_LINK);
}

/* The program found the last arrival and expects more: it polls, or is about to. A program that
 * found all that it expected may spin on its own memory. */
static bool is_polling(struct schedule *s)
{
	return atomic_load_explicit(&s->poller_arrivals, memory_order_relaxed) &&
	       (get(&s->polled_at_ns) || schedule_expects_more(s));
}

static struct schedule_decision woken(struct schedule *s, uint64_t now_ns)
{
	if (may_step_back(s, now_ns))
		return step_back(s, now_ns);
	if (!is_polling(s))
		return serve(s, now_ns);
	begin_watch(s, now_ns);
	return watch(s, now_ns);
}

struct schedule_decision schedule_background_next(struct schedule *s, uint64_t now_ns)
{
	if (atomic_load(&s->stopping))
		return decide(SCHEDULE_EXIT);
	switch (s->state) {
	case SCHEDULE_WOKEN: return woken(s, now_ns);
	case SCHEDULE_WATCHING: return watch(s, now_ns);
	case SCHEDULE_LOOKING: return decide(SCHEDULE_LOOK_AT_LINK);
	case SCHEDULE_SERVING: return decide(SCHEDULE_RUN_ENGINE);
	case SCHEDULE_SERVED_NOTHING: return decide(SCHEDULE_YIELD);
	case SCHEDULE_IDLE:
	case SCHEDULE_LISTENING:
	case SCHEDULE_STEPPING_BACK: return become_idle(s, now_ns);
	}
	return decide(SCHEDULE_EXIT);
}

uint64_t schedule_link_wait_began(struct schedule *s, uint64_t now_ns,
				  const struct schedule_timers *timers)
{
	uint64_t until_ns = min_u64(timers->engine_ns, timers->link_ns);

	assert(s->state == SCHEDULE_LISTENING);
	if (timers->unsent)
		until_ns = min_u64(until_ns, now_ns + RESEND_NS);
	if (atomic_load(&s->ack_held_at_ns) + ACK_HELD_RECENTLY_NS > now_ns)
		until_ns = min_u64(until_ns, now_ns + TICK_NS);
	atomic_store(&s->background_due_ns, until_ns);
	return until_ns;
}

void schedule_link_wait_returned(struct schedule *s)
{
	assert(s->state == SCHEDULE_LISTENING);
	atomic_store(&s->listening, false);
	s->due_ns = atomic_exchange(&s->background_due_ns, 0);
	s->state = SCHEDULE_WOKEN;
}

void schedule_step_back_returned(struct schedule *s, uint64_t now_ns, bool was_woken)
{
	assert(s->state == SCHEDULE_STEPPING_BACK && atomic_load(&s->stepping_back));
	s->due_ns = atomic_exchange(&s->background_due_ns, 0);
	if (was_woken) {
		atomic_store(&s->stepping_back, false);
		s->state = SCHEDULE_IDLE;
	} else {
		begin_watch(s, now_ns);
	}
}

void schedule_link_looked_at(struct schedule *s, bool packet_waits)
{
	assert(s->state == SCHEDULE_LOOKING && atomic_load(&s->stepping_back));
	if (packet_waits) {
		atomic_store(&s->poller_arrivals, 0);
		s->step_back_ns = STEP_BACK_MIN_NS;
	}
	atomic_store(&s->stepping_back, false);
	s->state = SCHEDULE_IDLE;
}

/* The thread keeps the program from running. */
static bool is_in_the_way(struct schedule *s, uint64_t now_ns, int cpu)
{
	return !polled_long_ago(get(&s->active_at_ns), now_ns) &&
	       atomic_load_explicit(&s->active_cpu, memory_order_relaxed) == cpu;
}

void schedule_engine_ran(struct schedule *s, uint64_t now_ns, int cpu, bool arrived)
{
	assert(s->state == SCHEDULE_SERVING);
	s->ran_at_ns = now_ns;
	if (arrived) {
		atomic_store(&s->poller_arrivals, 0);
		s->serve_until_ns = now_ns + LINGER_NS;
	} else if (poller_is_near(s, now_ns) || is_in_the_way(s, now_ns, cpu)) {
		s->state = SCHEDULE_IDLE;
	} else {
		s->state = SCHEDULE_SERVED_NOTHING;
	}
}

void schedule_background_yielded(struct schedule *s, uint64_t took_ns)
{
	assert(s->state == SCHEDULE_SERVED_NOTHING || s->state == SCHEDULE_WATCHING);
	if (s->state == SCHEDULE_WATCHING)
		return;
	/* Where another thread wants the processor, each further yield delays that thread, and puts
	 * this one in debt: it waits for a processor when the next packet comes. */
	if (took_ns > YIELD_WANTED_NS || s->ran_at_ns >= s->serve_until_ns)
		s->state = SCHEDULE_IDLE;
	else
		s->state = SCHEDULE_SERVING;
}
