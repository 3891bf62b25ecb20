// SPDX-License-Identifier: MIT
/* Scheduling of the engine, the background thread's half: the theory of operation is in
 * schedule.h. */
#include <assert.h>

#include "emu/min.h"
#include "lib/progress/schedule_private.h"

/* Times in units of call_cost.h. */

/* The background thread serves on for this long after the last packet. */
#define LINGER_MIN 64u
#define LINGER_MAX 256u
/* A poller is near for this long after a poll. */
#define POLLER_NEAR  64u
#define YIELDER_NEAR 160u
/* It shares its processor with others; this thread has no other processor. */
#define SHARER_NEAR  2560u
#define ONE_CPU_NEAR 640u

#define GIVE_WAY      64u
#define STEP_BACK_MIN 160u
#define STEP_BACK_MAX 2560u

/* A step back that no poll postpones never delays a held ACK beyond the tick. */
static_assert(STEP_BACK_MAX < TICK && STEP_BACK_LIMIT_NS < TICK_LIMIT_NS,
	      "a step back ends before the next tick");

static uint64_t step_back_min_ns(const struct schedule *s)
{
	return units_up_to(s, STEP_BACK_MIN, STEP_BACK_LIMIT_NS);
}

void schedule_start(struct schedule *s, bool (*is_engine_held)(void *arg), void *arg)
{
	assert(is_engine_held);
	atomic_store(&s->background_due_ns, UINT64_MAX);
	atomic_store(&s->listening, false);
	atomic_store(&s->stepping_back, false);
	atomic_store(&s->stopping, false);
	s->state = SCHEDULE_IDLE;
	set(&s->postpone_at_ns, 0);
	s->step_back_ns = step_back_min_ns(s);
	s->linger = LINGER_MIN;
	s->is_engine_held = is_engine_held;
	s->arg = arg;
}

void schedule_stop(struct schedule *s)
{
	atomic_store(&s->stopping, true);
}

void schedule_background_started(struct schedule *s, uint32_t num_cpus, uint64_t timer_ns)
{
	s->has_one_cpu = num_cpus == 1;
	set(&s->timer_ns, timer_ns);
}

/* A poller yielded the processor that this thread has got. */
static bool yielder_is_near(struct schedule *s, uint64_t polled_at_ns, uint64_t now_ns)
{
	return atomic_load(&s->yielders) &&
	       atomic_load_explicit(&s->active_cpu, memory_order_relaxed) == s->cpu &&
	       polled_at_ns + units(s, YIELDER_NEAR) > now_ns;
}

/* It shares its processor with others: its last yield ran them. It polls whenever it has the
 * processor, and the time in between is theirs. */
static bool poller_shares(struct schedule *s, uint64_t now_ns)
{
	return turns_has_many_peers(&s->turns) && get(&s->quiet_ns) == 0 && !may_sleep(s, now_ns) &&
	       get(&s->last_poll_ns) + units_up_to(s, SHARER_NEAR, STEP_BACK_LIMIT_NS) > now_ns;
}

static bool poller_is_near(struct schedule *s, uint64_t now_ns)
{
	const uint64_t polled_at_ns = atomic_load(&s->polled_at_ns);
	const uint64_t near_ns = s->has_one_cpu ? units_up_to(s, ONE_CPU_NEAR, STEP_BACK_LIMIT_NS)
						: units(s, POLLER_NEAR);

	if (polled_at_ns && poller_shares(s, now_ns))
		return true;
	if (!polled_at_ns || polled_long_ago(polled_at_ns, now_ns))
		return false;
	/* A long message keeps a poller inside the engine for longer than POLLER_NEAR. */
	return polled_at_ns + near_ns > now_ns || atomic_load(&s->sleepers) ||
	       s->is_engine_held(s->arg) || yielder_is_near(s, polled_at_ns, now_ns);
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

static struct schedule_decision step_back(struct schedule *s, uint64_t now_ns, uint64_t length_ns)
{
	uint64_t until_ns = now_ns + length_ns;

	assert(length_ns > 0 && length_ns <= STEP_BACK_LIMIT_NS);
	assert(atomic_load(&s->stepping_back));
	/* Not beyond the timer that woke the thread, or it would wake the thread again. */
	if (s->due_ns > now_ns)
		until_ns = min_u64(until_ns, s->due_ns);
	s->state = SCHEDULE_STEPPING_BACK;
	s->polled_before_ns = get(&s->last_poll_ns);
	atomic_store(&s->background_due_ns, until_ns);
	set(&s->postpone_by_ns, length_ns);
	set(&s->polls_since_ns, now_ns);
	if (length_ns > step_back_min_ns(s) || length_ns == STEP_BACK_LIMIT_NS)
		set(&s->postpone_at_ns, until_ns - postpone_before_ns(s, length_ns));
	return (struct schedule_decision){
		.action = SCHEDULE_STEP_BACK,
		.until_ns = until_ns,
		.lets_others_go_on = server_is_busy(s),
	};
}

static struct schedule_decision leave_to_pollers(struct schedule *s, uint64_t now_ns)
{
	if (may_sleep(s, now_ns))
		return step_back(s, now_ns, step_back_min_ns(s));
	return step_back(s, now_ns, server_is_busy(s) ? STEP_BACK_LIMIT_NS : s->step_back_ns);
}

/* near_at_ns: when a poller must have been near. */
static struct schedule_decision become_idle(struct schedule *s, uint64_t now_ns,
					    uint64_t near_at_ns)
{
	if (may_step_back(s, near_at_ns))
		return leave_to_pollers(s, now_ns);
	assert(!atomic_load(&s->stepping_back));
	s->state = SCHEDULE_LISTENING;
	atomic_store(&s->listening, true);
	return decide(SCHEDULE_WAIT_ON_LINK);
}

/* The peer sends nothing while this thread has its processor. */
static bool peer_was_here(struct schedule *s)
{
	const struct presence *peer = atomic_load_explicit(&s->peer, memory_order_relaxed);

	return peer && atomic_load_explicit(&peer->cpu, memory_order_relaxed) == s->cpu;
}

/* A packet ended the sleep. After a short sleep the thread serves on for longer, if no other thread
 * wants the processor: without the sleep it would have found the packet, and sooner. */
static void learn_to_linger(struct schedule *s, uint64_t now_ns)
{
	const bool was_short = now_ns - s->asleep_at_ns <= units(s, LINGER_MAX);

	s->linger = was_short && s->has_lingered && !peer_was_here(s)
			    ? min_u32(2 * s->linger, LINGER_MAX)
			    : LINGER_MIN;
	s->has_lingered = false;
}

static struct schedule_decision serve(struct schedule *s, uint64_t now_ns)
{
	assert(!atomic_load(&s->stepping_back));
	if (s->packet_waits)
		learn_to_linger(s, now_ns);
	s->state = SCHEDULE_SERVING;
	s->serve_until_ns = now_ns + units(s, s->linger);
	return decide(SCHEDULE_RUN_ENGINE);
}

/* When the step back was due to end: a late wake-up may have kept the poller waiting. Others run
 * while a poller waits its turn, late or not. */
static uint64_t was_due_ns(const struct schedule *s, uint64_t now_ns)
{
	return waits_turns(s) ? now_ns : min_u64(now_ns, s->due_ns);
}

static struct schedule_decision poller_seen(struct schedule *s, uint64_t now_ns)
{
	if (atomic_load(&s->stepping_back)) {
		s->step_back_ns = min_u64(2 * s->step_back_ns,
					  units_up_to(s, STEP_BACK_MAX, STEP_BACK_LIMIT_NS));
		atomic_store(&s->stepping_back, false);
	}
	return become_idle(s, now_ns, was_due_ns(s, now_ns));
}

/* The program found the last arrival and expects more: it polls, or is about to because it has just
 * posted. A program that found all that it expected may spin on its own memory. */
static bool is_about_to_poll(struct schedule *s, uint64_t now_ns)
{
	return atomic_load_explicit(&s->poller_arrivals, memory_order_relaxed) &&
	       (poller_is_near(s, now_ns) ||
		(schedule_expects_more(s) &&
		 get(&s->active_at_ns) + units(s, POLLER_NEAR) > now_ns));
}

/* A poller that is near gets the processor, if this thread has it, and the packet. */
static struct schedule_decision woken(struct schedule *s, uint64_t now_ns)
{
	if (s->packet_waits && poller_is_near(s, now_ns))
		count_arrival(s);
	if (may_step_back(s, now_ns))
		return leave_to_pollers(s, now_ns);
	if (!s->packet_waits || !is_about_to_poll(s, now_ns))
		return serve(s, now_ns);
	atomic_store(&s->stepping_back, true);
	return step_back(s, now_ns, units_up_to(s, GIVE_WAY, STEP_BACK_LIMIT_NS));
}

struct schedule_decision schedule_background_next(struct schedule *s, uint64_t now_ns, int cpu)
{
	s->cpu = cpu;
	if (atomic_load(&s->stopping))
		return decide(SCHEDULE_EXIT);
	switch (s->state) {
	case SCHEDULE_WOKEN: return woken(s, now_ns);
	case SCHEDULE_POLLER_SEEN: return poller_seen(s, now_ns);
	case SCHEDULE_LOOKING: return decide(SCHEDULE_LOOK_AT_LINK);
	case SCHEDULE_SERVING: return decide(SCHEDULE_RUN_ENGINE);
	case SCHEDULE_SERVED_NOTHING: return decide_yield(s, false);
	case SCHEDULE_IDLE:
	case SCHEDULE_LISTENING:
	case SCHEDULE_STEPPING_BACK: return become_idle(s, now_ns, now_ns);
	}
	return decide(SCHEDULE_EXIT);
}

uint64_t schedule_link_wait_began(struct schedule *s, uint64_t now_ns,
				  const struct schedule_timers *timers)
{
	uint64_t until_ns = min_u64(timers->engine_ns, timers->link_ns);

	assert(s->state == SCHEDULE_LISTENING);
	if (timers->unsent)
		until_ns = min_u64(until_ns, now_ns + units_up_to(s, RESEND, TICK_LIMIT_NS));
	if (atomic_load(&s->ack_held_at_ns) + ACK_HELD_RECENTLY_NS > now_ns)
		until_ns = min_u64(until_ns, now_ns + tick_ns(s));
	atomic_store(&s->background_due_ns, until_ns);
	s->asleep_at_ns = now_ns;
	return until_ns;
}

void schedule_link_wait_returned(struct schedule *s, bool packet_waits)
{
	assert(s->state == SCHEDULE_LISTENING);
	atomic_store(&s->listening, false);
	s->due_ns = atomic_exchange(&s->background_due_ns, 0);
	s->packet_waits = packet_waits;
	s->state = SCHEDULE_WOKEN;
}

void schedule_step_back_returned(struct schedule *s, uint64_t now_ns, int cpu, bool was_woken)
{
	assert(s->state == SCHEDULE_STEPPING_BACK && atomic_load(&s->stepping_back));
	s->cpu = cpu;
	set(&s->postpone_at_ns, 0);
	s->due_ns = atomic_exchange(&s->background_due_ns, 0);
	if (was_woken) {
		atomic_store(&s->stepping_back, false);
		s->state = SCHEDULE_IDLE;
	} else if (get(&s->last_poll_ns) != s->polled_before_ns || poller_is_near(s, now_ns)) {
		s->state = SCHEDULE_POLLER_SEEN;
	} else {
		s->state = SCHEDULE_LOOKING;
	}
}

void schedule_link_looked_at(struct schedule *s, bool packet_waits)
{
	assert(s->state == SCHEDULE_LOOKING && atomic_load(&s->stepping_back));
	if (packet_waits) {
		atomic_store(&s->poller_arrivals, 0);
		s->step_back_ns = step_back_min_ns(s);
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
	schedule_engine_runs(s, now_ns, cpu);
	s->ran_at_ns = now_ns;
	if (arrived && schedule_serves_many(s, now_ns) && poller_is_near(s, now_ns)) {
		count_arrival(s);
		s->state = SCHEDULE_IDLE;
	} else if (arrived) {
		/* A poller that is near would have found the packet. */
		if (!poller_is_near(s, now_ns))
			atomic_store(&s->poller_arrivals, 0);
		s->serve_until_ns = now_ns + units(s, s->linger);
	} else if (poller_is_near(s, now_ns) || is_in_the_way(s, now_ns, cpu)) {
		s->state = SCHEDULE_IDLE;
	} else {
		s->state = SCHEDULE_SERVED_NOTHING;
	}
}

void schedule_background_yielded(struct schedule *s, uint64_t took_ns)
{
	assert(s->state == SCHEDULE_SERVED_NOTHING);
	/* Where another thread wants the processor, each further yield delays that thread, and puts
	 * this one in debt: it waits for a processor when the next packet comes. */
	s->has_lingered = took_ns <= units(s, YIELD_WANTED) && s->ran_at_ns >= s->serve_until_ns;
	if (took_ns > units(s, YIELD_WANTED) || s->has_lingered)
		s->state = SCHEDULE_IDLE;
	else
		s->state = SCHEDULE_SERVING;
}
