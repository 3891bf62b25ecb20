/* SPDX-License-Identifier: MIT */
/* The scheduler's model. */
#include "tests/sim/kernel.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "tests/sim/fair.h"

#define SWITCH_NS 1200u
#define YIELD_NS  300u
/* Each processor has a timer of the kernel's own. */
#define TICK_NS 4000000u

bool kernel_may_use(const struct kernel_thread *thread, int cpu)
{
	return thread->pinned == KERNEL_ANY_CPU || thread->pinned == cpu;
}

static bool is_fair(const struct kernel *kernel)
{
	return kernel->cfg.order != KERNEL_FIFO;
}

static uint64_t scaled(const struct kernel *kernel, uint64_t ns)
{
	const uint32_t percent = kernel->cfg.scale_percent;
	const uint64_t ret = percent ? ns * percent / 100 : ns;

	return ret ? ret : 1;
}

static uint64_t draw(struct kernel *kernel, uint64_t below)
{
	kernel->random = kernel->random * 6364136223846793005ull + 1442695040888963407ull;
	return (kernel->random >> 33) % below;
}

/* Thefts come at random, between half and one and a half times stolen_every_ns apart. */
static uint64_t time_to_theft_ns(struct kernel *kernel)
{
	return kernel->cfg.stolen_every_ns / 2 + draw(kernel, kernel->cfg.stolen_every_ns);
}

/* What its thread does takes longer where the hypervisor takes the processor away meanwhile. */
static void add_thefts(struct kernel *kernel, struct kernel_cpu *cpu)
{
	const uint64_t stolen_ns = kernel->cfg.stolen_ns;

	if (!stolen_ns)
		return;
	while (cpu->theft_ns < cpu->busy_until_ns) {
		if (cpu->theft_ns + stolen_ns > kernel->now_ns) {
			const uint64_t from_ns =
				cpu->theft_ns > kernel->now_ns ? cpu->theft_ns : kernel->now_ns;
			const uint64_t lost_ns = cpu->theft_ns + stolen_ns - from_ns;

			cpu->busy_until_ns += lost_ns;
			cpu->dispatched_ns += lost_ns;
			cpu->charged_ns += lost_ns;
		}
		cpu->theft_ns += stolen_ns + time_to_theft_ns(kernel);
	}
}

void kernel_init(struct kernel *kernel, const struct kernel_cfg *cfg, uint64_t now_ns)
{
	assert(cfg->num_cpus > 0 && cfg->num_cpus <= KERNEL_MAX_CPUS);
	*kernel = (struct kernel){
		.cfg = *cfg,
		.now_ns = now_ns,
		.timer_ns = UINT64_MAX,
		.stepping = -1,
		.random = cfg->seed,
	};
	for (int i = 0; i < cfg->num_cpus && cfg->stolen_every_ns; i++)
		kernel->cpu[i].theft_ns = now_ns + time_to_theft_ns(kernel);
}

static void enqueue(struct kernel *kernel, struct kernel_thread *thread, bool first)
{
	struct kernel_thread **queue = kernel->queue;

	assert(kernel->num_queued < KERNEL_MAX_THREADS);
	thread->state = KERNEL_QUEUED;
	if (first)
		memmove(queue + 1, queue, kernel->num_queued * sizeof(*queue));
	queue[first ? 0 : kernel->num_queued] = thread;
	kernel->num_queued++;
}

void kernel_add(struct kernel *kernel, struct kernel_thread *thread)
{
	assert(kernel->num_threads < KERNEL_MAX_THREADS);
	kernel->thread[kernel->num_threads++] = thread;
	if (is_fair(kernel))
		fair_begin(kernel, thread);
	enqueue(kernel, thread, false);
}

/* Place in the queue of the thread that gets the processor next; num_queued: none. */
static uint32_t find_queued(const struct kernel *kernel, int cpu)
{
	uint32_t i = 0;

	if (is_fair(kernel))
		return fair_next(kernel, cpu);
	while (i < kernel->num_queued && !kernel_may_use(kernel->queue[i], cpu))
		i++;
	return i;
}

/* Each processor looks at its own ticks. Otherwise slices of two of them keep in step. */
static uint64_t slice_ns(struct kernel *kernel)
{
	const uint64_t slice_ns = kernel->cfg.slice_ns;

	return is_fair(kernel) ? slice_ns * 3 / 4 + draw(kernel, slice_ns / 2) : slice_ns;
}

/* When the processor can switch to a thread. Its host wakes one that has halted, and gives it the
 * interrupt. */
static uint64_t ready_ns(const struct kernel *kernel, const struct kernel_cpu *cpu)
{
	const uint64_t exits = cpu->is_halted ? 2 : 0;
	const uint64_t from_ns =
		cpu->exit_until_ns > kernel->now_ns ? cpu->exit_until_ns : kernel->now_ns;

	return from_ns + exits * kernel->cfg.exit_ns;
}

/* Gives an idle processor to a thread of the queue. */
static void dispatch(struct kernel *kernel, int cpu)
{
	const uint32_t place = find_queued(kernel, cpu);
	struct kernel_thread **queue = kernel->queue, *thread;

	assert(!kernel->cpu[cpu].thread);
	if (place == kernel->num_queued) {
		kernel->cpu[cpu].is_halted = true;
		return;
	}
	thread = queue[place];
	kernel->num_queued--;
	memmove(queue + place, queue + place + 1, (kernel->num_queued - place) * sizeof(*queue));
	if (is_fair(kernel) && thread->cpu != cpu)
		fair_move(kernel, thread, cpu);
	thread->state = KERNEL_RUNS;
	thread->cpu = cpu;
	kernel->cpu[cpu] = (struct kernel_cpu){
		.thread = thread,
		.dispatched_ns = kernel->now_ns,
		.charged_ns = kernel->now_ns,
		.slice_ns = slice_ns(kernel),
		.busy_until_ns = ready_ns(kernel, &kernel->cpu[cpu]) + scaled(kernel, SWITCH_NS) +
				 thread->left_ns,
		.theft_ns = kernel->cpu[cpu].theft_ns,
	};
	add_thefts(kernel, &kernel->cpu[cpu]);
}

/* The processor's thread goes back to the end of the queue. */
static void take_away(struct kernel *kernel, int cpu)
{
	struct kernel_cpu *at = &kernel->cpu[cpu];

	assert(at->busy_until_ns >= kernel->now_ns);
	at->thread->left_ns = at->busy_until_ns - kernel->now_ns;
	if (is_fair(kernel))
		fair_charge(kernel, cpu);
	enqueue(kernel, at->thread, false);
	at->thread = NULL;
}

/* The processor that a woken thread gets: an idle one, else one to preempt; -1: none. */
static int find_cpu(const struct kernel *kernel, const struct kernel_thread *thread)
{
	int ret = -1;

	for (int i = 0; i < kernel->cfg.num_cpus; i++) {
		const struct kernel_cpu *cpu = &kernel->cpu[i];

		if (!kernel_may_use(thread, i))
			continue;
		if (!cpu->thread)
			return i;
		if (kernel->cfg.wake_up == KERNEL_WAKE_PREEMPTS &&
		    kernel->now_ns - cpu->dispatched_ns >= kernel->cfg.granularity_ns)
			ret = i;
	}
	return ret;
}

/* The stepping processor's thread asks the host for something. */
static void leave(struct kernel *kernel)
{
	struct kernel_cpu *cpu;

	if (kernel->stepping < 0 || !kernel->cfg.exit_ns)
		return;
	cpu = &kernel->cpu[kernel->stepping];
	if (cpu->exit_until_ns < kernel->now_ns)
		cpu->exit_until_ns = kernel->now_ns;
	cpu->exit_until_ns += kernel->cfg.exit_ns;
}

/* Whether a timer of this processor expires before all others there. Only such a one is set. */
static bool is_first_timer(const struct kernel *kernel, int cpu, uint64_t until_ns)
{
	if (!kernel->cfg.exit_ns || until_ns > (kernel->now_ns / TICK_NS + 1) * TICK_NS)
		return false;
	for (uint32_t i = 0; i < kernel->num_threads; i++) {
		const struct kernel_thread *thread = kernel->thread[i];

		if (thread->state == KERNEL_WAITS && thread->cpu == cpu &&
		    thread->until_ns < until_ns)
			return false;
	}
	return true;
}

static void end_wait(struct kernel *kernel, struct kernel_thread *thread, bool timed_out)
{
	const int cpu = is_fair(kernel) ? fair_wake(kernel, thread) : find_cpu(kernel, thread);

	thread->timed_out = timed_out;
	/* It clears its timer. */
	thread->left_ns = thread->has_first_timer && !timed_out ? kernel->cfg.exit_ns : 0;
	enqueue(kernel, thread, kernel->cfg.wake_up != KERNEL_WAKE_IS_LAST);
	if (cpu < 0)
		return;
	if (cpu == kernel->stepping) {
		kernel->preempts_stepping = true;
		return;
	}
	leave(kernel);
	if (kernel->cpu[cpu].thread)
		take_away(kernel, cpu);
	dispatch(kernel, cpu);
}

void kernel_wake(struct kernel *kernel, struct kernel_thread *thread)
{
	if (thread->state == KERNEL_WAITS)
		end_wait(kernel, thread, false);
}

static void begin_wait(struct kernel *kernel, struct kernel_thread *thread, uint64_t until_ns)
{
	if (until_ns < kernel->now_ns)
		until_ns = kernel->now_ns;
	thread->until_ns = until_ns == UINT64_MAX ? UINT64_MAX : until_ns + kernel->cfg.slack_ns;
	thread->has_first_timer = is_first_timer(kernel, thread->cpu, thread->until_ns);
	thread->state = KERNEL_WAITS;
	thread->wait_began_ns = kernel->now_ns;
	if (thread->has_first_timer)
		leave(kernel);
	if (thread->until_ns < kernel->timer_ns)
		kernel->timer_ns = thread->until_ns;
}

/* Returns whether the thread keeps its processor. */
static bool carry_out(struct kernel *kernel, int cpu, const struct kernel_next *next)
{
	struct kernel_cpu *at = &kernel->cpu[cpu];

	switch (next->operation) {
	case KERNEL_RUN:
		assert(next->ns > 0);
		at->busy_until_ns = ready_ns(kernel, at) + scaled(kernel, next->ns);
		add_thefts(kernel, at);
		return true;
	case KERNEL_YIELD:
		at->busy_until_ns = ready_ns(kernel, at) + scaled(kernel, YIELD_NS);
		add_thefts(kernel, at);
		return is_fair(kernel) ? !fair_yield(kernel, cpu) : at->keeps_slice;
	case KERNEL_WAIT:
		if (is_fair(kernel))
			fair_wait(kernel, cpu);
		begin_wait(kernel, at->thread, next->until_ns);
		break;
	case KERNEL_EXIT: at->thread->state = KERNEL_EXITED; break;
	}
	at->thread = NULL;
	return false;
}

/* The processor's thread has finished its operation. */
static void step(struct kernel *kernel, int cpu)
{
	struct kernel_cpu *at = &kernel->cpu[cpu];
	struct kernel_thread *thread = at->thread;
	struct kernel_next next;
	bool keeps;

	kernel->stepping = cpu;
	kernel->preempts_stepping = false;
	next = thread->next(thread);
	keeps = carry_out(kernel, cpu, &next) && !kernel->preempts_stepping;
	kernel->stepping = -1;
	if (keeps)
		return;
	if (at->thread && find_queued(kernel, cpu) == kernel->num_queued)
		return;
	if (at->thread)
		take_away(kernel, cpu);
	dispatch(kernel, cpu);
	thread->skipped = false;
	at->keeps_slice = kernel->cfg.yields_cost_slices && next.operation == KERNEL_YIELD;
}

static void expire_waits(struct kernel *kernel)
{
	if (kernel->now_ns < kernel->timer_ns)
		return;
	kernel->timer_ns = UINT64_MAX;
	for (uint32_t i = 0; i < kernel->num_threads; i++) {
		struct kernel_thread *thread = kernel->thread[i];

		if (thread->state != KERNEL_WAITS)
			continue;
		if (thread->until_ns <= kernel->now_ns)
			end_wait(kernel, thread, true);
		else if (thread->until_ns < kernel->timer_ns)
			kernel->timer_ns = thread->until_ns;
	}
}

/* When the processor's thread ends its operation or its time slice; UINT64_MAX: it is idle. */
static uint64_t next_event(struct kernel *kernel, int cpu)
{
	const struct kernel_cpu *at = &kernel->cpu[cpu];
	uint64_t slice_end_ns;

	if (!at->thread && kernel->num_queued > 0)
		dispatch(kernel, cpu);
	if (!at->thread)
		return UINT64_MAX;
	slice_end_ns = at->dispatched_ns + at->slice_ns;
	if (at->busy_until_ns <= slice_end_ns || find_queued(kernel, cpu) == kernel->num_queued)
		return at->busy_until_ns;
	return slice_end_ns > kernel->now_ns ? slice_end_ns : kernel->now_ns;
}

/* The processor's next event is now. */
static void serve(struct kernel *kernel, int cpu)
{
	if (kernel->cpu[cpu].busy_until_ns <= kernel->now_ns) {
		step(kernel, cpu);
	} else {
		take_away(kernel, cpu);
		if (is_fair(kernel))
			fair_balance(kernel, cpu);
		dispatch(kernel, cpu);
	}
}

uint64_t kernel_postpone(struct kernel *kernel, struct kernel_thread *thread, uint64_t until_ns)
{
	uint64_t exits = thread->has_first_timer;

	assert(thread->state == KERNEL_WAITS);
	thread->until_ns = UINT64_MAX;
	thread->has_first_timer =
		is_first_timer(kernel, thread->cpu, until_ns + kernel->cfg.slack_ns);
	thread->until_ns = until_ns + kernel->cfg.slack_ns;
	exits += thread->has_first_timer;
	return exits * kernel->cfg.exit_ns;
}

void kernel_run(struct kernel *kernel, uint64_t until_ns)
{
	for (;;) {
		uint64_t next_ns = UINT64_MAX;
		int cpu = 0;

		for (int i = 0; i < kernel->cfg.num_cpus; i++) {
			const uint64_t at_ns = next_event(kernel, i);

			if (at_ns < next_ns) {
				next_ns = at_ns;
				cpu = i;
			}
		}
		if (next_ns > until_ns && kernel->timer_ns > until_ns)
			break;
		if (kernel->timer_ns <= next_ns) {
			kernel->now_ns = kernel->timer_ns;
			expire_waits(kernel);
		} else {
			kernel->now_ns = next_ns;
			serve(kernel, cpu);
		}
	}
	kernel->now_ns = until_ns;
}
