/* SPDX-License-Identifier: MIT */
/* Threads of a simulated program, as lib/progress/poll.c, lib/verbs/cq_poll.c and channel.c run
 * them. Each function is a step: it names the next one, and returns what the thread does until
 * then. */
#include <assert.h>

#include "emu/min.h"
#include "tests/sim/program.h"

#define RECEIVE_NS   350u
#define SET_TIMER_NS 1900u
/* ppoll(2) with a time limit, beside the switch of threads. */
#define PPOLL_NS	1500u
#define SPIN_NS		700u
#define BUSY_NS		50000u
#define POLICY_SLEEP_NS 250000u
/* As in the files above. */
#define ENGINE_BUSY_NS 50000u

static struct kernel_next take(struct actor *actor);
static struct kernel_next took(struct actor *actor);
static struct kernel_next event_spin(struct actor *actor);
static struct kernel_next event_polled(struct actor *actor);

/* Threads of the program: lib/progress/poll.c. */

static struct kernel_next yield_returned(struct actor *actor)
{
	if (schedule_yield_returned(&actor->program->schedule, &actor->decision, actor->now_ns,
				    program_clock_ns(actor->program)))
		actor->thread.slice_ns = SHORT_SLICE_NS;
	return actor_run(actor, actor->after_back_off, program_clock_call_ns(actor->program));
}

static struct kernel_next sleep_returned(struct actor *actor)
{
	const bool ready = actor->program->socket_head != actor->program->socket_tail;

	schedule_sleep_returned(&actor->program->schedule, &actor->decision, !ready);
	return actor_run(actor, actor->after_back_off, CALL_NS);
}

static struct kernel_next sleep_began(struct actor *actor)
{
	const struct program *program = actor->program;

	if (program->socket_head != program->socket_tail)
		return actor_run(actor, sleep_returned, CALL_NS);
	return actor_waits(actor, sleep_returned, WAIT_LINK, actor->wait_until_ns);
}

static struct kernel_next sleep_on_link(struct actor *actor)
{
	struct program *program = actor->program;

	program->programs->observer->poll_sleeps(program);
	actor->wait_until_ns = program_clock_ns(program) + actor->decision.until_ns - actor->now_ns;
	return actor_run(actor, sleep_began, PPOLL_NS);
}

static struct kernel_next carry_out(struct actor *actor, struct schedule_decision decision,
				    actor_step then)
{
	actor->decision = decision;
	actor->after_back_off = then;
	if (decision.action == SCHEDULE_YIELD || decision.action == SCHEDULE_SLEEP)
		actor->thread.is_batch = decision.lets_others_go_on;
	actor_note_decision(actor, &decision);
	switch (decision.action) {
	case SCHEDULE_NOTHING: return actor_run(actor, then, CALL_NS);
	case SCHEDULE_YIELD: return actor_yields(actor, yield_returned);
	case SCHEDULE_SLEEP:
		if (decision.shortens_slice)
			actor->thread.slice_ns = SHORT_SLICE_NS;
		return sleep_on_link(actor);
	case SCHEDULE_WAKE_BACKGROUND:
		return actor_run(actor, then, program_wake_background(actor->program));
	case SCHEDULE_WAIT_ON_LINK:
	case SCHEDULE_STEP_BACK:
	case SCHEDULE_LOOK_AT_LINK:
	case SCHEDULE_RUN_ENGINE:
	case SCHEDULE_EXIT: break;
	}
	assert(false && "a decision for the background thread");
	return actor_exits();
}

static bool has_completion(const struct actor *actor)
{
	return actor->cq_head != actor->cq_tail;
}

/* A thread that polls for an event knows only once it looks. */
static bool has_come(const struct actor *actor)
{
	return actor->after_poll != event_spin && has_completion(actor);
}

static struct schedule_decision sleep_always(struct actor *actor)
{
	const uint64_t longest_ns = actor->due_ns > actor->now_ns + POLICY_SLEEP_NS
					    ? POLICY_SLEEP_NS
					    : actor->due_ns - actor->now_ns;

	atomic_fetch_add(&actor->program->schedule.sleepers, 1);
	return (struct schedule_decision){ .action = SCHEDULE_SLEEP,
					   .until_ns = actor->now_ns + longest_ns,
					   .longest_ns = longest_ns };
}

/* The other policies also back off before a poll, not after the one that found nothing. */
static struct schedule_decision poll_began(struct actor *actor)
{
	struct schedule *schedule = &actor->program->schedule;
	const enum schedule_action nothing = SCHEDULE_NOTHING, yield = SCHEDULE_YIELD;
	const enum programs_policy policy = actor->program->programs->cfg.policy;

	if (policy == POLICY_OURS)
		return schedule_poll_began(schedule, actor->now_ns, actor->thread.cpu);
	schedule_polled(schedule, actor->now_ns, actor->thread.cpu);
	if (!actor->found_nothing || policy == POLICY_SPIN)
		return (struct schedule_decision){ .action = nothing };
	if (policy == POLICY_YIELD)
		return (struct schedule_decision){ .action = yield,
						   .measures = call_cost_is_due(&schedule->cost) };
	assert(policy == POLICY_SLEEP);
	if (actor->due_ns > actor->now_ns)
		return sleep_always(actor);
	return (struct schedule_decision){ .action = nothing };
}

/* Returns the processor time that it takes. */
static uint64_t postpone_background(struct actor *actor)
{
	struct program *program = actor->program;
	struct actor *background = &program->background;
	const uint64_t until_ns =
		schedule_postponed(&program->schedule, actor->now_ns, actor->due_ns);

	if (!until_ns)
		return 0;
	if (background->thread.state != KERNEL_WAITS)
		return SET_TIMER_NS;
	return SET_TIMER_NS +
	       kernel_postpone(&program->programs->kernel, &background->thread, until_ns);
}

static struct kernel_next poll_ran(struct actor *actor)
{
	struct program *program = actor->program;
	uint64_t took_ns = CALL_NS;

	if (actor->arrived &&
	    schedule_packet_arrived(&program->schedule).action == SCHEDULE_WAKE_BACKGROUND) {
		actor_note(actor, "takes the background thread off the link");
		took_ns += program_wake_background(program);
	}
	actor->due_ns = actor->arrived ? 0 : program_deadline_ns(program);
	took_ns += actor_release(actor);
	if (schedule_postpones(&program->schedule, actor->now_ns))
		took_ns += postpone_background(actor);
	return actor_run(actor, actor->after_look, took_ns);
}

static struct kernel_next poll_runs(struct actor *actor)
{
	return actor_run(actor, poll_ran, actor_run_engine(actor));
}

/* progress_poll_once() after schedule_polled(); then after_look. */
static struct kernel_next look(struct actor *actor, actor_step after_look)
{
	struct program *program = actor->program;

	actor->after_look = after_look;
	program->programs->observer->polled(program);
	if (actor_trylock(actor)) {
		schedule_engine_runs(&program->schedule, actor->now_ns, actor->thread.cpu);
		return actor_run(actor, poll_runs, RECEIVE_NS + program->programs->cfg.clock_ns);
	}
	actor->arrived = false;
	actor->due_ns = actor->now_ns + ENGINE_BUSY_NS;
	return actor_run(actor, after_look, CALL_NS);
}

static struct kernel_next looked(struct actor *actor)
{
	const uint64_t due_ns = has_come(actor) ? 0 : actor->due_ns;
	struct schedule_decision decision;

	actor->found_nothing = due_ns > 0;
	if (actor->program->programs->cfg.policy != POLICY_OURS)
		return actor->after_poll(actor);
	decision =
		schedule_looked(&actor->program->schedule, &actor->before, actor->now_ns, due_ns);
	if (decision.action == SCHEDULE_NOTHING)
		return actor->after_poll(actor);
	return carry_out(actor, decision, actor->after_poll);
}

static struct kernel_next look_again(struct actor *actor)
{
	if (has_come(actor))
		return actor->after_poll(actor);
	actor->now_ns = program_clock_ns(actor->program);
	schedule_polled(&actor->program->schedule, actor->now_ns, actor->thread.cpu);
	return look(actor, looked);
}

/* progress_poll(), then after_poll. */
static struct kernel_next poll(struct actor *actor, actor_step after_poll)
{
	actor->after_poll = after_poll;
	actor->now_ns = program_clock_ns(actor->program);
	actor->before = poll_began(actor);
	if (actor->before.action == SCHEDULE_NOTHING)
		return look(actor, looked);
	return carry_out(actor, actor->before, look_again);
}

/* progress_wait_for_event() polls so. */
static struct kernel_next poll_once(struct actor *actor, actor_step after_poll)
{
	actor->now_ns = program_clock_ns(actor->program);
	schedule_polled(&actor->program->schedule, actor->now_ns, actor->thread.cpu);
	return look(actor, after_poll);
}

/* What programs do. */

static struct kernel_next ended(struct actor *actor)
{
	struct program *program = actor->program;

	if (actor->armed)
		schedule_cq_disarmed(&program->schedule);
	actor->armed = false;
	actor->done = true;
	program->engine_now_ns = program_clock_ns(program);
	actor_release(actor);
	return actor_exits();
}

static struct kernel_next spin_on_memory(struct actor *actor);
static struct kernel_next exchange(struct actor *actor);

static struct kernel_next get_message(struct actor *actor)
{
	if (actor->program->programs->finishing)
		return actor_lock(actor, ended);
	switch (actor->role) {
	case ROLE_POLLS:
	case ROLE_EVENTS: return take(actor);
	case ROLE_MEMORY: return spin_on_memory(actor);
	case ROLE_RANK: return exchange(actor);
	case ROLE_SLEEPS: return actor_waits(actor, get_message, WAIT_EVENT, NEVER);
	case ROLE_BUSY: return actor_run(actor, get_message, BUSY_NS);
	case NUM_ROLES: break;
	}
	return actor_exits();
}

static struct kernel_next transmitted(struct actor *actor)
{
	struct schedule *schedule = &actor->program->schedule;
	const uint64_t took_ns = actor_release(actor);

	if (actor->arrived && actor->program->programs->cfg.policy == POLICY_OURS)
		return carry_out(actor, schedule_sent_to_local_peer(schedule, actor->now_ns),
				 get_message);
	return actor_run(actor, get_message, took_ns);
}

/* progress_posted(), under the lock. */
static struct kernel_next posted(struct actor *actor)
{
	struct program *program = actor->program;
	struct queue_pair *qp = actor->qp;
	const bool was_idle = !qp->unacked;
	uint64_t took_ns;

	actor->now_ns = program->engine_now_ns = program_clock_ns(program);
	if (program_chance(program, program->programs->cfg.held)) {
		qp->held += actor->to_post;
		qp->held_until_ns =
			actor->now_ns + programs_random(program->programs, PROGRAM_HELD_MAX_NS);
	} else {
		qp->to_send += actor->to_post;
	}
	actor->to_post = 0;
	actor->found_nothing = false;
	schedule_posted(&program->schedule, actor->now_ns, actor->thread.cpu);
	schedule_engine_runs(&program->schedule, actor->now_ns, actor->thread.cpu);
	took_ns = program_transmit(program);
	actor->arrived = took_ns > 0 && was_idle;
	return actor_run(actor, transmitted, took_ns + program_clock_call_ns(program));
}

struct kernel_next program_thread_begins(struct actor *actor)
{
	if (actor->to_post == 0 || actor->program->programs->finishing)
		return get_message(actor);
	return actor_lock(actor, posted);
}

/* The program takes a completion, or finds a message in its memory, and answers. */
static struct kernel_next found(struct actor *actor)
{
	const struct programs_cfg *cfg = &actor->program->programs->cfg;
	uint64_t took_ns = program_clock_call_ns(actor->program);

	assert(has_completion(actor));
	actor->qp = actor->cq[actor->cq_head++ % PROGRAM_CQ];
	actor->found++;
	actor->found_at_ns = program_clock_ns(actor->program);
	actor->qp->found++;
	actor->to_post += actor->role != ROLE_RANK;
	if (program_chance(actor->program, cfg->thinks))
		took_ns += programs_random(actor->program->programs, (uint32_t)cfg->think_max_ns);
	return actor_run(actor, program_thread_begins, took_ns);
}

/* progress_polled_found() */
static void polled_found(struct actor *actor)
{
	struct schedule *schedule = &actor->program->schedule;
	const bool more = schedule_expects_more(schedule);

	actor->found_nothing = false;
	if (schedule_polled_found(schedule, more ? program_clock_ns(actor->program) : 0))
		actor->thread.slice_ns = 0;
}

/* vb_cq_take(). A program that takes events goes back to sleep when there is nothing to take. */
static struct kernel_next take(struct actor *actor)
{
	if (has_completion(actor)) {
		polled_found(actor);
		return found(actor);
	}
	if (actor->program->programs->finishing)
		return get_message(actor);
	return poll(actor, actor->role == ROLE_EVENTS ? took : take);
}

static struct kernel_next spin_on_memory(struct actor *actor)
{
	if (has_completion(actor))
		return found(actor);
	if (actor->program->programs->finishing)
		return get_message(actor);
	return actor_run(actor, spin_on_memory, SPIN_NS);
}

static struct kernel_next round_over(struct actor *actor)
{
	if (has_completion(actor))
		return take(actor);
	return actor_yields_at_once(actor, get_message);
}

static struct kernel_next poll_queue(struct actor *actor, int queue, actor_step then)
{
	struct program *program = actor->program;

	if (program->programs->cfg.policy != POLICY_OURS ||
	    schedule_begins_round(&program->schedule, &actor->round[queue],
				  program_clock_ns(program)))
		return poll(actor, then);
	return actor_run(actor, then, program_clock_call_ns(program));
}

static struct kernel_next poll_second(struct actor *actor)
{
	if (has_completion(actor))
		return take(actor);
	return poll_queue(actor, 1, round_over);
}

/* A message of a later peer may come first. */
static struct kernel_next exchange(struct actor *actor)
{
	struct queue_pair *qp = actor->awaited;

	if (has_completion(actor))
		return take(actor);
	if (qp->found == 0)
		return poll_queue(actor, 0, poll_second);
	qp->found--;
	actor->awaited = qp->next ? qp->next : actor->program->qps;
	actor->qp = actor->awaited;
	actor->to_post = 1;
	return program_thread_begins(actor);
}

static struct kernel_next event_wait(struct actor *actor)
{
	if (actor->program->programs->finishing)
		return get_message(actor);
	if (actor->events == 0)
		return actor_waits(actor, event_wait, WAIT_EVENT, NEVER);
	actor->events = 0;
	actor->had_event_at_ns = program_clock_ns(actor->program);
	return take(actor);
}

/* read_event() */
static struct kernel_next event_read(struct actor *actor)
{
	uint64_t took_ns = CALL_NS;

	actor->thread.is_batch = false;
	if (actor->events == 0 && schedule_program_will_sleep(&actor->program->schedule).action ==
					  SCHEDULE_WAKE_BACKGROUND) {
		actor_note(actor, "will sleep, WAKE_BACKGROUND");
		took_ns = program_wake_background(actor->program);
	}
	return actor_run(actor, event_wait, took_ns);
}

/* progress_wait_for_event(), again and again. */
static struct kernel_next event_link(struct actor *actor)
{
	struct schedule *schedule = &actor->program->schedule;
	struct schedule_decision decision;

	if (actor->events > 0 || actor->program->programs->finishing)
		return event_read(actor);
	decision = schedule_event_wait_began(schedule);
	if (decision.action == SCHEDULE_NOTHING)
		return event_read(actor);
	actor->thread.is_batch = decision.lets_others_go_on;
	return poll_once(actor, event_polled);
}

static struct kernel_next event_taken(struct actor *actor)
{
	schedule_event_wait_ended(&actor->program->schedule);
	return event_link(actor);
}

static struct kernel_next event_slept(struct actor *actor)
{
	return poll_once(actor, event_taken);
}

static struct kernel_next event_sleeps(struct actor *actor)
{
	const struct program *program = actor->program;

	if (actor->events > 0 || program->socket_head != program->socket_tail)
		return actor_run(actor, event_slept, CALL_NS);
	return actor_waits(actor, event_slept, WAIT_LINK | WAIT_EVENT,
			   min_u64(actor->due_ns, actor->wait_until_ns));
}

static struct kernel_next event_polled(struct actor *actor)
{
	struct program *program = actor->program;
	const uint64_t now_ns = program_clock_ns(program);

	if (now_ns >= actor->wait_until_ns) {
		schedule_event_wait_ended(&program->schedule);
		return event_read(actor);
	}
	if (actor->events > 0 || actor->due_ns <= now_ns)
		return event_taken(actor);
	return actor_run(actor, event_sleeps, PPOLL_NS);
}

static struct kernel_next event_spin(struct actor *actor)
{
	if (actor->events == 0 && program_clock_ns(actor->program) < actor->spin_until_ns)
		return poll(actor, event_spin);
	actor->wait_until_ns = actor->spin_until_ns + schedule_event_wait_ns();
	return event_link(actor);
}

/* ibv_req_notify_cq(), then ibv_get_cq_event(). */
static struct kernel_next armed(struct actor *actor)
{
	struct program *program = actor->program;

	assert(!actor->armed);
	program->engine_now_ns = program_clock_ns(program);
	if (has_completion(actor)) {
		actor->events++;
	} else {
		actor->armed = true;
		schedule_cq_armed(&program->schedule);
	}
	actor->now_ns = program_clock_ns(program);
	actor->spin_until_ns =
		actor->now_ns +
		schedule_event_awaited(&program->schedule, actor->now_ns - actor->had_event_at_ns);
	return actor_run(actor, event_spin, actor_release(actor));
}

static struct kernel_next took(struct actor *actor)
{
	if (has_completion(actor))
		return take(actor);
	return actor->armed ? event_spin(actor) : actor_lock(actor, armed);
}
