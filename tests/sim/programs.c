/* SPDX-License-Identifier: MIT */
/* Sets up programs and conversations on simulated processors. */
#include "tests/sim/programs.h"

#include <assert.h>
#include <string.h>

#include "emu/container_of.h"
#include "tests/sim/program.h"

#define HOG_NS 50000u

/* splitmix64 */
uint32_t programs_random(struct programs *programs, uint32_t limit)
{
	uint64_t z = programs->seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % limit);
}

static struct kernel_next step_actor(struct kernel_thread *thread)
{
	struct actor *actor = container_of(thread, struct actor, thread);

	return actor->step(actor);
}

static void add_actor(struct program *program, struct actor *actor, actor_step step, int pinned)
{
	*actor = (struct actor){
		.thread = { .next = step_actor, .pinned = pinned },
		.program = program,
		.step = step,
		.found_at_ns = program_clock_ns(program),
	};
	kernel_add(&program->programs->kernel, &actor->thread);
}

struct program *programs_add(struct programs *programs)
{
	struct program *program = &programs->program[programs->num++];

	assert(programs->num <= PROGRAMS_MAX);
	memset(program, 0, sizeof(*program));
	program->programs = programs;
	program->engine_now_ns = programs->kernel.now_ns;
	schedule_attached(&program->schedule, &program->presence);
	schedule_start(&program->schedule, program_is_held, program);
	schedule_background_started(&program->schedule, (uint32_t)programs->kernel.cfg.num_cpus,
				    2 * programs->kernel.cfg.exit_ns);
	add_actor(program, &program->background, program_background_begins, KERNEL_ANY_CPU);
	program->background.thread.slice_ns = SHORT_SLICE_NS;
	return program;
}

static struct actor *add_thread(struct program *program, enum program_role role, int pinned)
{
	struct actor *actor = &program->thread[program->num_threads++];

	assert(program->num_threads <= PROGRAM_MAX_THREADS);
	add_actor(program, actor, program_thread_begins, pinned);
	actor->role = role;
	return actor;
}

static struct queue_pair *add_qp(struct programs *programs, struct actor *actor)
{
	struct queue_pair *qp = &programs->qp[programs->num_qps++];
	struct queue_pair **last = &actor->program->qps;

	assert(programs->num_qps <= PROGRAMS_MAX_QPS);
	*qp = (struct queue_pair){
		.actor = actor,
		.held_until_ns = NEVER,
		.ack_due_ns = NEVER,
		.retry_at_ns = NEVER,
	};
	while (*last)
		last = &(*last)->next;
	*last = qp;
	actor->qp = qp;
	return qp;
}

static void connect(struct programs *programs, struct actor *first, struct actor *second)
{
	struct queue_pair *a = add_qp(programs, first), *b = add_qp(programs, second);

	a->peer = b;
	b->peer = a;
}

void programs_connect(struct programs *programs, struct program *a, enum program_role role_a,
		      struct program *b, enum program_role role_b, int pinned)
{
	struct actor *first = add_thread(a, role_a, pinned);

	connect(programs, first, add_thread(b, role_b, pinned));
	first->to_post = programs->cfg.window;
}

void programs_add_server(struct programs *programs, enum program_role role, uint32_t clients)
{
	struct actor *server = add_thread(programs_add(programs), role, KERNEL_ANY_CPU);

	for (uint32_t i = 0; i < clients; i++) {
		struct actor *client = add_thread(programs_add(programs), role, KERNEL_ANY_CPU);

		connect(programs, client, server);
		client->to_post = 1;
	}
}

/* In step i of an exchange the peers are those whose numbers differ in bit i. */
void programs_add_ranks(struct programs *programs, uint32_t num)
{
	struct program *ranks = &programs->program[programs->num];

	for (uint32_t i = 0; i < num; i++)
		add_thread(programs_add(programs), ROLE_RANK, KERNEL_ANY_CPU);
	for (uint32_t bit = 1; bit < num; bit <<= 1)
		for (uint32_t i = 0; i < num; i++)
			if (!(i & bit))
				connect(programs, ranks[i].thread, ranks[i | bit].thread);
	for (uint32_t i = 0; i < num; i++) {
		ranks[i].thread->qp = ranks[i].thread->awaited = ranks[i].qps;
		ranks[i].thread->to_post = 1;
	}
}

static struct kernel_next hog_runs(struct kernel_thread *thread)
{
	(void)thread;
	return (struct kernel_next){ .operation = KERNEL_RUN, .ns = HOG_NS };
}

void programs_add_hog(struct programs *programs)
{
	struct kernel_thread *hog = &programs->hog[programs->num_hogs++];

	assert(programs->num_hogs <= PROGRAMS_MAX_HOGS);
	*hog = (struct kernel_thread){ .next = hog_runs, .pinned = KERNEL_ANY_CPU };
	kernel_add(&programs->kernel, hog);
}

void programs_finish(struct programs *programs)
{
	programs->finishing = true;
	for (uint32_t i = 0; i < programs->num; i++)
		program_wake_any(&programs->program[i], WAIT_EVENT);
}

void program_stop(struct program *program)
{
	schedule_stop(&program->schedule);
	program_wake_background(program);
}
