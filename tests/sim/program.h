/* SPDX-License-Identifier: MIT */
/* Inside the simulation of programs: what their threads share. Called by program_*.c and
 * programs.c. */
#ifndef RXE_SIM_PROGRAM_H
#define RXE_SIM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/progress/schedule.h"
#include "tests/sim/programs.h"

/* Processor time of a call that does little. */
#define CALL_NS 100u
#define NEVER	UINT64_MAX
/* As lib/control/time_slice.c. */
#define SHORT_SLICE_NS 100000u

uint64_t program_clock_ns(const struct program *program);
/* A call that does little and reads the clock. */
uint64_t program_clock_call_ns(const struct program *program);
bool program_chance(struct program *program, uint32_t in_1000);

/* program_actor.c: the actor's next step, and what its thread does until then. */
struct kernel_next actor_run(struct actor *actor, actor_step step, uint64_t ns);
struct kernel_next actor_yields_at_once(struct actor *actor, actor_step step);
/* Measures a system call first where the actor's decision says so. */
struct kernel_next actor_yields(struct actor *actor, actor_step step);
struct kernel_next actor_waits(struct actor *actor, actor_step step, uint32_t on,
			       uint64_t until_ns);
struct kernel_next actor_exits(void);
/* Wakes the actor, or all actors, if they wait on this. Returns whether one did. */
bool actor_wake(struct actor *actor, uint32_t on);
bool program_wake_any(struct program *program, uint32_t on);
/* Lines of the trace. */
void actor_note(const struct actor *actor, const char *what);
void actor_note_decision(const struct actor *actor, const struct schedule_decision *decision);
/* The engine lock. actor_lock() goes on with the step when it holds the lock. */
struct kernel_next actor_lock(struct actor *actor, actor_step step);
bool actor_trylock(struct actor *actor);
void actor_unlock(struct actor *actor);
/* For struct schedule: arg is the program. */
bool program_is_held(void *arg);

/* program_engine.c, under the engine lock. They return the processor time that they take. */
uint64_t actor_run_engine(struct actor *actor);
/* 0: nothing was sent. */
uint64_t program_transmit(struct program *program);
/* As progress_unlock(). */
uint64_t actor_release(struct actor *actor);
uint64_t program_wake_background(struct program *program);
struct schedule_timers program_timers(struct program *program);

/* The first steps of the threads. */
struct kernel_next program_thread_begins(struct actor *actor);
struct kernel_next program_background_begins(struct actor *actor);

#endif
