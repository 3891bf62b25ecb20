// SPDX-License-Identifier: MIT
/* How a thread of the program that polls runs the engine, and makes room for others when it finds nothing.
 *
 * What it waits for may need this very processor: a yield gives it away and costs a microsecond when nobody wants it. Where
 * more threads spin than there are processors it comes back after everybody had a time slice, and without yielding at all it is
 * taken away for as long. So once a yield was dear, the machine is taken to be crowded for a while, and who finds nothing sleeps
 * on the link: the scheduler then runs those who have a packet, soon after it came. */
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/engine.h"
#include "lib/progress/progress.h"
#include "net/link/clock.h"
#include "net/link/link.h"

#define YIELD_NOBODY_NS	  2000u /* nobody else wanted the processor */
#define YIELD_AGAIN_NS	  3000u
#define YIELD_TOO_DEAR_NS 300000u
#define CROWDED_NS	  20000000u /* then a yield tells anew */
/* What a poll may take longer than it must: when another thread found the packet, or the program has other things to look after. */
#define DOZE_MIN_NS 50000u
#define DOZE_MAX_NS 250000u

void progress_active(struct progress *progress, uint64_t now_ns)
{
	atomic_store_explicit(&progress->active_at_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&progress->active_cpu, sched_getcpu(), memory_order_relaxed);
}

static bool is_crowded(struct progress *progress, uint64_t now_ns)
{
	return now_ns < atomic_load_explicit(&progress->crowded_until_ns, memory_order_relaxed);
}

void progress_yield(struct progress *progress, uint64_t now_ns)
{
	uint64_t after_ns;

	if (is_crowded(progress, now_ns) ||
	    now_ns < atomic_load_explicit(&progress->no_yield_until_ns, memory_order_relaxed))
		return;
	sched_yield();
	after_ns = clock_now_ns();
	if (after_ns - now_ns < YIELD_NOBODY_NS) {
		atomic_store_explicit(&progress->no_yield_until_ns, after_ns + YIELD_AGAIN_NS,
				      memory_order_relaxed);
	} else if (after_ns - now_ns > YIELD_TOO_DEAR_NS) {
		atomic_store_explicit(&progress->doze_ns, DOZE_MIN_NS, memory_order_relaxed);
		atomic_store_explicit(&progress->crowded_until_ns, after_ns + CROWDED_NS,
				      memory_order_relaxed);
	}
}

/* Sleep until a packet comes, or the engine's deadline, or a short while has passed: longer each time that nothing came. A system
 * call by itself, since ppoll() would end a thread that the program cancels here. */
static void doze(struct progress *progress, uint64_t now_ns, uint64_t due_ns)
{
	struct pollfd link = { .fd = link_wait_fd(progress->wire.phy), .events = POLLIN };
	uint64_t longest_ns = atomic_load_explicit(&progress->doze_ns, memory_order_relaxed);
	uint64_t next_ns = DOZE_MIN_NS;
	struct timespec timeout = { 0 };

	if (due_ns <= now_ns)
		return;
	timeout.tv_nsec = (long)(due_ns - now_ns < longest_ns ? due_ns - now_ns : longest_ns);
	atomic_fetch_add(&progress->dozing, 1);
	if (syscall(SYS_ppoll, &link, 1, &timeout, NULL, (size_t)0) == 0)
		next_ns = 2 * longest_ns < DOZE_MAX_NS ? 2 * longest_ns : DOZE_MAX_NS;
	atomic_fetch_sub(&progress->dozing, 1);
	atomic_store_explicit(&progress->doze_ns, next_ns, memory_order_relaxed);
}

/* Each packet wakes the background thread, and each time it comes too late: let it nap. */
static void found_by_poller(struct progress *progress)
{
	uint32_t found = atomic_load_explicit(&progress->polled_arrivals, memory_order_relaxed);

	if (found < PROGRESS_NAP_AFTER)
		atomic_store_explicit(&progress->polled_arrivals, found + 1, memory_order_relaxed);
	else if (atomic_exchange(&progress->listening, false))
		progress_thread_kick(progress);
}

uint64_t progress_poll_once(struct progress *progress)
{
	bool locked = pthread_mutex_trylock(&progress->lock) == 0;
	uint64_t now_ns = clock_now_ns();
	uint64_t due_ns;
	bool arrived;

	atomic_store_explicit(&progress->polled_at_ns, now_ns, memory_order_relaxed);
	progress_active(progress, now_ns);
	if (!locked)
		return now_ns + DOZE_MIN_NS;
	if (!progress->engine) {
		pthread_mutex_unlock(&progress->lock);
		return 0;
	}
	arrived = progress_run(progress, now_ns);
	if (arrived)
		found_by_poller(progress);
	due_ns = rxe_engine_deadline(progress->engine);
	progress_unlock(progress);
	return arrived ? 0 : due_ns;
}

void progress_back_off(struct progress *progress, uint64_t due_ns)
{
	/* When it was looked, which is close enough. */
	uint64_t now_ns = atomic_load_explicit(&progress->active_at_ns, memory_order_relaxed);

	if (is_crowded(progress, now_ns))
		doze(progress, now_ns, due_ns);
	else
		progress_yield(progress, now_ns);
}

void progress_poll(struct progress *progress)
{
	uint64_t due_ns = progress_poll_once(progress);

	if (due_ns)
		progress_back_off(progress, due_ns);
}

void progress_program_will_sleep(struct progress *progress)
{
	atomic_store(&progress->polled_at_ns, 0);
	if (atomic_load(&progress->napping))
		progress_thread_kick(progress);
}

void progress_polled_found(struct progress *progress)
{
	bool more = atomic_load_explicit(&progress->expecting, memory_order_relaxed);

	atomic_store_explicit(&progress->polled_at_ns, more ? clock_now_ns() : 0,
			      memory_order_relaxed);
}
