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
#include "lib/verbs/objects.h"

#define YIELD_NOBODY_NS	  2000u /* nobody else wanted the processor */
#define YIELD_AGAIN_NS	  3000u
#define YIELD_TOO_DEAR_NS 300000u
#define CROWDED_NS	  20000000u /* then a yield tells anew */
/* What a poll may take longer than it must: when another thread found the packet, or the program has other things to look after. */
#define DOZE_MIN_NS 50000u
#define DOZE_MAX_NS 250000u

void dm_pump_active(struct dm_pump *pump, uint64_t now_ns)
{
	atomic_store_explicit(&pump->active_at_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&pump->active_cpu, sched_getcpu(), memory_order_relaxed);
}

static bool is_crowded(struct dm_pump *pump, uint64_t now_ns)
{
	return now_ns < atomic_load_explicit(&pump->crowded_until_ns, memory_order_relaxed);
}

void dm_pump_yield(struct dm_pump *pump, uint64_t now_ns)
{
	uint64_t after_ns;

	if (is_crowded(pump, now_ns) ||
	    now_ns < atomic_load_explicit(&pump->no_yield_until_ns, memory_order_relaxed))
		return;
	sched_yield();
	after_ns = dm_now_ns();
	if (after_ns - now_ns < YIELD_NOBODY_NS) {
		atomic_store_explicit(&pump->no_yield_until_ns, after_ns + YIELD_AGAIN_NS,
				      memory_order_relaxed);
	} else if (after_ns - now_ns > YIELD_TOO_DEAR_NS) {
		atomic_store_explicit(&pump->doze_ns, DOZE_MIN_NS, memory_order_relaxed);
		atomic_store_explicit(&pump->crowded_until_ns, after_ns + CROWDED_NS,
				      memory_order_relaxed);
	}
}

/* Sleep until a packet comes, or the engine's deadline, or a short while has passed: longer each time that nothing came. A system
 * call by itself, since ppoll() would end a thread that the program cancels here. */
static void doze(struct dm_pump *pump, uint64_t now_ns, uint64_t due_ns)
{
	struct pollfd link = { .fd = dm_wire_poll_fd(&pump->wire), .events = POLLIN };
	uint64_t longest_ns = atomic_load_explicit(&pump->doze_ns, memory_order_relaxed);
	uint64_t next_ns = DOZE_MIN_NS;
	struct timespec timeout = { 0 };

	if (due_ns <= now_ns)
		return;
	timeout.tv_nsec = (long)(due_ns - now_ns < longest_ns ? due_ns - now_ns : longest_ns);
	atomic_fetch_add(&pump->dozing, 1);
	if (syscall(SYS_ppoll, &link, 1, &timeout, NULL, (size_t)0) == 0)
		next_ns = 2 * longest_ns < DOZE_MAX_NS ? 2 * longest_ns : DOZE_MAX_NS;
	atomic_fetch_sub(&pump->dozing, 1);
	atomic_store_explicit(&pump->doze_ns, next_ns, memory_order_relaxed);
}

/* Each packet wakes the background thread, and each time it comes too late: let it nap. */
static void found_by_poller(struct dm_pump *pump)
{
	uint32_t found = atomic_load_explicit(&pump->polled_arrivals, memory_order_relaxed);

	if (found < DM_PUMP_NAP_AFTER)
		atomic_store_explicit(&pump->polled_arrivals, found + 1, memory_order_relaxed);
	else if (atomic_exchange(&pump->listening, false))
		dm_pump_thread_kick(pump);
}

uint64_t dm_pump_look(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	bool locked = pthread_mutex_trylock(&pump->lock) == 0;
	uint64_t now_ns = dm_now_ns();
	uint64_t due_ns;
	bool arrived;

	atomic_store_explicit(&pump->polled_at_ns, now_ns, memory_order_relaxed);
	dm_pump_active(pump, now_ns);
	if (!locked)
		return now_ns + DOZE_MIN_NS;
	if (!pump->engine) {
		pthread_mutex_unlock(&pump->lock);
		return 0;
	}
	arrived = dm_pump_run(dev, now_ns);
	if (arrived)
		found_by_poller(pump);
	due_ns = rxe_engine_deadline(pump->engine);
	dm_pump_unlock(dev);
	return arrived ? 0 : due_ns;
}

void dm_pump_make_room(struct dm_pump *pump, uint64_t due_ns)
{
	/* When it was looked, which is close enough. */
	uint64_t now_ns = atomic_load_explicit(&pump->active_at_ns, memory_order_relaxed);

	if (is_crowded(pump, now_ns))
		doze(pump, now_ns, due_ns);
	else
		dm_pump_yield(pump, now_ns);
}

void dm_pump_poll(struct dm_device *dev)
{
	uint64_t due_ns = dm_pump_look(dev);

	if (due_ns)
		dm_pump_make_room(&dev->pump, due_ns);
}

void dm_pump_leave(struct dm_pump *pump)
{
	atomic_store(&pump->polled_at_ns, 0);
	if (atomic_load(&pump->napping))
		dm_pump_thread_kick(pump);
}

void dm_pump_poll_found(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	bool more = atomic_load_explicit(&pump->expecting, memory_order_relaxed);

	atomic_store_explicit(&pump->polled_at_ns, more ? dm_now_ns() : 0, memory_order_relaxed);
}
