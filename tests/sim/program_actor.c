/* SPDX-License-Identifier: MIT */
/* What all simulated threads do: run, wait, wake others, take the engine lock. */
#include <assert.h>
#include <stdio.h>

#include "tests/sim/program.h"

/* A system call that does nothing. */
#define EMPTY_CALL_NS 260u

bool program_chance(struct program *program, uint32_t in_1000)
{
	return in_1000 > 0 && programs_random(program->programs, 1000) < in_1000;
}

uint64_t program_clock_ns(const struct program *program)
{
	return program->programs->kernel.now_ns;
}

uint64_t program_clock_call_ns(const struct program *program)
{
	return CALL_NS + program->programs->cfg.clock_ns;
}

struct kernel_next actor_run(struct actor *actor, actor_step step, uint64_t ns)
{
	actor->step = step;
	return (struct kernel_next){ .operation = KERNEL_RUN, .ns = ns };
}

struct kernel_next actor_yields_at_once(struct actor *actor, actor_step step)
{
	actor->step = step;
	return (struct kernel_next){ .operation = KERNEL_YIELD };
}

static struct kernel_next measured(struct actor *actor)
{
	struct program *program = actor->program;

	schedule_call_measured(&program->schedule, program_clock_ns(program) - actor->now_ns);
	actor->now_ns = program_clock_ns(program);
	return actor_yields_at_once(actor, actor->after_measure);
}

struct kernel_next actor_yields(struct actor *actor, actor_step step)
{
	const struct programs_cfg *cfg = &actor->program->programs->cfg;

	if (cfg->is_frozen || !actor->decision.measures)
		return actor_yields_at_once(actor, step);
	actor->now_ns = program_clock_ns(actor->program);
	actor->after_measure = step;
	return actor_run(actor, measured, EMPTY_CALL_NS + cfg->clock_ns);
}

struct kernel_next actor_waits(struct actor *actor, actor_step step, uint32_t on, uint64_t until_ns)
{
	actor->step = step;
	actor->waits_on = on;
	return (struct kernel_next){ .operation = KERNEL_WAIT, .until_ns = until_ns };
}

struct kernel_next actor_exits(void)
{
	return (struct kernel_next){ .operation = KERNEL_EXIT };
}

/* Wakes the actor if it waits on this. */
bool actor_wake(struct actor *actor, uint32_t on)
{
	if (actor->thread.state != KERNEL_WAITS || !(actor->waits_on & on))
		return false;
	kernel_wake(&actor->program->programs->kernel, &actor->thread);
	return true;
}

bool program_wake_any(struct program *program, uint32_t on)
{
	bool any = actor_wake(&program->background, on);

	for (uint32_t i = 0; i < program->num_threads; i++)
		any |= actor_wake(&program->thread[i], on);
	return any;
}

static const char *const action_name[] = {
	[SCHEDULE_NOTHING] = "NOTHING",
	[SCHEDULE_YIELD] = "YIELD",
	[SCHEDULE_SLEEP] = "SLEEP",
	[SCHEDULE_WAKE_BACKGROUND] = "WAKE_BACKGROUND",
	[SCHEDULE_WAIT_ON_LINK] = "WAIT_ON_LINK",
	[SCHEDULE_STEP_BACK] = "STEP_BACK",
	[SCHEDULE_LOOK_AT_LINK] = "LOOK_AT_LINK",
	[SCHEDULE_RUN_ENGINE] = "RUN_ENGINE",
	[SCHEDULE_EXIT] = "EXIT",
};

/* A line of the trace: microseconds, processor, program, thread, what happens. */
void actor_note(const struct actor *actor, const char *what)
{
	const struct program *program = actor->program;
	const struct programs *programs = program->programs;

	if (!programs->shows_trace)
		return;
	printf("%10.1f cpu %d program %d ", (double)program_clock_ns(program) / 1000 - 1e6,
	       actor->thread.cpu, (int)(program - programs->program));
	if (actor == &program->background)
		printf("background: %s\n", what);
	else
		printf("thread %d: %s\n", (int)(actor - program->thread), what);
}

void actor_note_decision(const struct actor *actor, const struct schedule_decision *decision)
{
	if (decision->action != SCHEDULE_NOTHING)
		actor_note(actor, action_name[decision->action]);
}

/* The engine lock. */

static struct kernel_next try_again(struct actor *actor)
{
	if (actor->program->holder)
		return actor_waits(actor, try_again, WAIT_LOCK, NEVER);
	actor->program->holder = actor;
	return actor->after_lock(actor);
}

struct kernel_next actor_lock(struct actor *actor, actor_step step)
{
	actor->after_lock = step;
	return try_again(actor);
}

bool actor_trylock(struct actor *actor)
{
	if (actor->program->holder)
		return false;
	actor->program->holder = actor;
	return true;
}

void actor_unlock(struct actor *actor)
{
	assert(actor->program->holder == actor);
	actor->program->holder = NULL;
	program_wake_any(actor->program, WAIT_LOCK);
}

bool program_is_held(void *arg)
{
	return ((const struct program *)arg)->holder != NULL;
}
