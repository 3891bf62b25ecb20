/* SPDX-License-Identifier: MIT */
/* The background thread of a simulated program, as lib/progress/thread.c runs it. */
#include <assert.h>

#include "tests/sim/program.h"

#define RECEIVE_NS 350u

static struct kernel_next link_wait_returned(struct actor *actor)
{
	const struct program *program = actor->program;

	schedule_link_wait_returned(&actor->program->schedule,
				    program->socket_head != program->socket_tail);
	actor->program->wake_pending = false;
	return actor_run(actor, program_background_begins, CALL_NS);
}

static struct kernel_next wait_on_link(struct actor *actor)
{
	struct program *program = actor->program;

	if (program->wake_pending || program->socket_head != program->socket_tail ||
	    actor->due_ns <= program_clock_ns(program)) {
		program->programs->observer->link_wait_returned(program, false);
		return actor_run(actor, link_wait_returned, CALL_NS);
	}
	program->programs->observer->link_wait_returned(program, true);
	return actor_waits(actor, link_wait_returned, WAIT_LINK | WAIT_WAKE, actor->due_ns);
}

static struct kernel_next link_wait_began(struct actor *actor)
{
	struct program *program = actor->program;
	const struct schedule_timers at = program_timers(program);

	actor->due_ns =
		schedule_link_wait_began(&program->schedule, program_clock_ns(program), &at);
	actor_unlock(actor);
	return actor_run(actor, wait_on_link, program_clock_call_ns(program));
}

static struct kernel_next step_back_returned(struct actor *actor)
{
	struct program *program = actor->program;

	schedule_step_back_returned(&program->schedule, program_clock_ns(program),
				    program->background.thread.cpu, program->wake_pending);
	program->wake_pending = false;
	return actor_run(actor, program_background_begins, program_clock_call_ns(program));
}

static struct kernel_next step_back(struct actor *actor)
{
	if (actor->program->wake_pending)
		return actor_run(actor, step_back_returned, CALL_NS);
	return actor_waits(actor, step_back_returned, WAIT_WAKE, actor->decision.until_ns);
}

static struct kernel_next look_at_link(struct actor *actor)
{
	struct program *program = actor->program;

	schedule_link_looked_at(&program->schedule, program->socket_head != program->socket_tail);
	return actor_run(actor, program_background_begins, CALL_NS);
}

static struct kernel_next background_ran(struct actor *actor)
{
	const uint64_t took_ns = actor_release(actor);

	schedule_engine_ran(&actor->program->schedule, actor->now_ns, actor->thread.cpu,
			    actor->arrived);
	return actor_run(actor, program_background_begins, took_ns);
}

static struct kernel_next background_runs(struct actor *actor)
{
	return actor_run(actor, background_ran, actor_run_engine(actor));
}

static struct kernel_next background_run(struct actor *actor)
{
	actor->now_ns = program_clock_ns(actor->program);
	if (actor_trylock(actor))
		return actor_run(actor, background_runs,
				 RECEIVE_NS + actor->program->programs->cfg.clock_ns);
	schedule_engine_ran(&actor->program->schedule, actor->now_ns, actor->thread.cpu, false);
	return actor_run(actor, program_background_begins, CALL_NS);
}

static struct kernel_next background_yielded(struct actor *actor)
{
	schedule_background_yielded(&actor->program->schedule,
				    program_clock_ns(actor->program) - actor->now_ns);
	return actor_run(actor, program_background_begins, program_clock_call_ns(actor->program));
}

struct kernel_next program_background_begins(struct actor *actor)
{
	struct program *program = actor->program;

	actor->now_ns = program_clock_ns(program);
	actor->decision =
		schedule_background_next(&program->schedule, actor->now_ns, actor->thread.cpu);
	actor_note_decision(actor, &actor->decision);
	program->programs->observer->background_decided(program, &actor->decision);
	switch (actor->decision.action) {
	case SCHEDULE_WAIT_ON_LINK:
		actor->thread.is_batch = false;
		return actor_lock(actor, link_wait_began);
	case SCHEDULE_STEP_BACK:
		actor->thread.is_batch = actor->decision.lets_others_go_on;
		return actor_run(actor, step_back, CALL_NS);
	case SCHEDULE_LOOK_AT_LINK: return actor_run(actor, look_at_link, CALL_NS);
	case SCHEDULE_RUN_ENGINE: return actor_run(actor, background_run, CALL_NS);
	case SCHEDULE_YIELD: return actor_yields(actor, background_yielded);
	case SCHEDULE_EXIT: return actor_exits();
	case SCHEDULE_NOTHING:
	case SCHEDULE_SLEEP:
	case SCHEDULE_WAKE_BACKGROUND: break;
	}
	assert(false && "a decision for a thread of the program");
	return actor_exits();
}
