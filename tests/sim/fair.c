/* SPDX-License-Identifier: MIT */
/* CFS and EEVDF, with the kernel's defaults on machines of a few processors. */
#include "tests/sim/fair.h"

#include <assert.h>
#include <stddef.h>

/* CFS: a thread that slept is placed this far before the lowest virtual run time, preempts one that
 * is ahead of it by more than the granularity, and gets a yield unless it is ahead by more. */
#define SLEEPER_NS     3000000
#define GRANULARITY_NS 2000000
/* EEVDF: a thread keeps its processor for at least this long, except from one with a shorter
 * slice. */
#define PARITY_NS 700000u
/* A sleep has begun lately. */
#define LATELY_NS 1000000u

static bool is_eevdf(const struct kernel *kernel)
{
	return kernel->cfg.order == KERNEL_EEVDF;
}

static uint64_t slice_ns(const struct kernel *kernel, const struct kernel_thread *thread)
{
	return thread->slice_ns ? thread->slice_ns : kernel->cfg.slice_ns;
}

static int64_t difference(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

struct sums {
	uint64_t lowest_ns, average_ns;
	uint32_t threads;
};

/* Sums the virtual run times of the processor's thread and its queue. */
static struct sums sum(const struct kernel *kernel, int cpu)
{
	const struct kernel_thread *running = kernel->cpu[cpu].thread;
	struct sums ret = { .lowest_ns = UINT64_MAX };
	uint64_t total_ns = 0;

	for (uint32_t i = 0; i <= kernel->num_queued; i++) {
		const struct kernel_thread *thread =
			i < kernel->num_queued ? kernel->queue[i] : running;

		if (!thread || thread->cpu != cpu)
			continue;
		ret.threads++;
		total_ns += thread->vruntime_ns;
		if (thread->vruntime_ns < ret.lowest_ns)
			ret.lowest_ns = thread->vruntime_ns;
	}
	if (ret.threads > 0)
		ret.average_ns = total_ns / ret.threads;
	return ret;
}

static uint32_t length(const struct kernel *kernel, int cpu)
{
	return sum(kernel, cpu).threads;
}

/* The virtual times of two queues are not comparable: the thread keeps its place. */
void fair_move(struct kernel *kernel, struct kernel_thread *thread, int cpu)
{
	const struct sums from = sum(kernel, thread->cpu), to = sum(kernel, cpu);

	if (to.threads > 0)
		thread->vruntime_ns += to.average_ns - from.average_ns;
	thread->cpu = cpu;
	thread->deadline_ns = thread->vruntime_ns + slice_ns(kernel, thread);
}

void fair_begin(struct kernel *kernel, struct kernel_thread *thread)
{
	int best = thread->pinned == KERNEL_ANY_CPU ? 0 : thread->pinned;

	for (int i = 0; i < kernel->cfg.num_cpus; i++)
		if (kernel_may_use(thread, i) && length(kernel, i) < length(kernel, best))
			best = i;
	thread->cpu = best;
	thread->vruntime_ns = kernel->now_ns;
	if (length(kernel, best) > 0)
		thread->vruntime_ns = sum(kernel, best).average_ns;
	thread->deadline_ns = thread->vruntime_ns + slice_ns(kernel, thread);
}

void fair_charge(struct kernel *kernel, int cpu)
{
	struct kernel_cpu *at = &kernel->cpu[cpu];
	struct kernel_thread *thread = at->thread;

	if (kernel->now_ns <= at->charged_ns)
		return;
	thread->vruntime_ns += kernel->now_ns - at->charged_ns;
	at->charged_ns = kernel->now_ns;
	if (difference(thread->vruntime_ns, thread->deadline_ns) >= 0)
		thread->deadline_ns = thread->vruntime_ns + slice_ns(kernel, thread);
}

void fair_wait(struct kernel *kernel, int cpu)
{
	struct kernel_thread *thread = kernel->cpu[cpu].thread;
	int64_t most_ns;

	fair_charge(kernel, cpu);
	thread->lag_ns = difference(sum(kernel, cpu).average_ns, thread->vruntime_ns);
	most_ns = (int64_t)slice_ns(kernel, thread);
	if (thread->lag_ns > most_ns)
		thread->lag_ns = most_ns;
	if (thread->lag_ns < -most_ns)
		thread->lag_ns = -most_ns;
}

static bool is_eligible(const struct sums *sums, const struct kernel_thread *thread)
{
	return difference(thread->vruntime_ns, sums->average_ns) <= 0;
}

/* Whether a gets the processor before b. */
static bool goes_before(const struct kernel *kernel, const struct sums *sums,
			const struct kernel_thread *a, const struct kernel_thread *b)
{
	if (a->skipped != b->skipped)
		return b->skipped;
	if (!is_eevdf(kernel))
		return difference(a->vruntime_ns, b->vruntime_ns) < 0;
	if (is_eligible(sums, a) != is_eligible(sums, b))
		return is_eligible(sums, a);
	return difference(a->deadline_ns, b->deadline_ns) < 0;
}

static bool is_queued_at(const struct kernel *kernel, uint32_t place, int cpu, bool of_others)
{
	const struct kernel_thread *thread = kernel->queue[place];

	return kernel_may_use(thread, cpu) && (thread->cpu == cpu) != of_others;
}

static uint32_t find(const struct kernel *kernel, int cpu, bool of_others)
{
	const struct sums sums = sum(kernel, cpu);
	uint32_t best = kernel->num_queued;

	for (uint32_t i = 0; i < kernel->num_queued; i++) {
		if (!is_queued_at(kernel, i, cpu, of_others))
			continue;
		if (best == kernel->num_queued ||
		    goes_before(kernel, &sums, kernel->queue[i], kernel->queue[best]))
			best = i;
	}
	return best;
}

uint32_t fair_next(const struct kernel *kernel, int cpu)
{
	const uint32_t own = find(kernel, cpu, false);

	if (own < kernel->num_queued || kernel->cpu[cpu].thread)
		return own;
	/* An idle processor takes a thread that waits elsewhere. */
	return find(kernel, cpu, true);
}

bool fair_yield(struct kernel *kernel, int cpu)
{
	struct kernel_thread *thread = kernel->cpu[cpu].thread;
	struct sums sums;
	uint32_t next;

	fair_charge(kernel, cpu);
	next = find(kernel, cpu, false);
	if (next == kernel->num_queued)
		return false;
	if (!is_eevdf(kernel)) {
		thread->skipped = difference(kernel->queue[next]->vruntime_ns,
					     thread->vruntime_ns) <= GRANULARITY_NS;
		return thread->skipped;
	}
	/* An eligible thread forfeits the rest of its slice. */
	sums = sum(kernel, cpu);
	if (is_eligible(&sums, thread)) {
		thread->vruntime_ns = thread->deadline_ns;
		thread->deadline_ns += slice_ns(kernel, thread);
	}
	return true;
}

/* 2 for each thread that runs or waits for the processor, 1 for each that began to sleep lately. */
static uint32_t load(const struct kernel *kernel, int cpu)
{
	uint32_t ret = 2 * length(kernel, cpu);

	for (uint32_t i = 0; i < kernel->num_threads; i++) {
		const struct kernel_thread *thread = kernel->thread[i];

		ret += thread->state == KERNEL_WAITS && thread->cpu == cpu &&
		       thread->wait_began_ns + LATELY_NS > kernel->now_ns;
	}
	return ret;
}

void fair_balance(struct kernel *kernel, int cpu)
{
	for (uint32_t i = 0; i < kernel->num_queued; i++) {
		struct kernel_thread *thread = kernel->queue[i];

		if (thread->cpu != cpu)
			continue;
		for (int to = 0; to < kernel->cfg.num_cpus; to++)
			if (kernel_may_use(thread, to) &&
			    load(kernel, to) + 3 <= load(kernel, cpu)) {
				fair_move(kernel, thread, to);
				return;
			}
	}
}

static int idle_cpu(const struct kernel *kernel, const struct kernel_thread *thread)
{
	if (!kernel->cpu[thread->cpu].thread && kernel_may_use(thread, thread->cpu))
		return thread->cpu;
	for (int i = 0; i < kernel->cfg.num_cpus; i++)
		if (!kernel->cpu[i].thread && kernel_may_use(thread, i))
			return i;
	return -1;
}

static void place(struct kernel *kernel, struct kernel_thread *thread, int cpu)
{
	struct sums sums;

	thread->cpu = cpu;
	if (kernel->cpu[cpu].thread)
		fair_charge(kernel, cpu);
	/* The thread is in no queue yet. */
	sums = sum(kernel, cpu);
	if (sums.threads == 0) {
		if (difference(thread->vruntime_ns, kernel->now_ns) < 0)
			thread->vruntime_ns = kernel->now_ns;
	} else if (is_eevdf(kernel)) {
		/* The sleep has paid a debt. */
		thread->vruntime_ns =
			sums.average_ns - (uint64_t)(thread->lag_ns > 0 ? thread->lag_ns : 0);
	} else if (difference(thread->vruntime_ns, sums.lowest_ns - SLEEPER_NS) < 0) {
		thread->vruntime_ns = sums.lowest_ns - SLEEPER_NS;
	}
	thread->deadline_ns = thread->vruntime_ns + slice_ns(kernel, thread);
}

static bool preempts(const struct kernel *kernel, const struct kernel_thread *thread, int cpu)
{
	const struct kernel_cpu *at = &kernel->cpu[cpu];
	const struct kernel_thread *running = at->thread;
	const struct sums sums = sum(kernel, cpu);

	if (thread->is_batch)
		return false;
	if (!is_eevdf(kernel))
		return difference(running->vruntime_ns, thread->vruntime_ns) > GRANULARITY_NS;
	return is_eligible(&sums, thread) &&
	       difference(thread->deadline_ns, running->deadline_ns) < 0 &&
	       (kernel->now_ns - at->dispatched_ns >= PARITY_NS ||
		slice_ns(kernel, thread) < slice_ns(kernel, running));
}

int fair_wake(struct kernel *kernel, struct kernel_thread *thread)
{
	const int idle = idle_cpu(kernel, thread);
	const int cpu = idle >= 0 ? idle : thread->cpu;

	place(kernel, thread, cpu);
	return idle >= 0 || preempts(kernel, thread, cpu) ? cpu : -1;
}
