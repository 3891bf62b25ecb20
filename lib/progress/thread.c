// SPDX-License-Identifier: MIT
/* The background thread: runs the engine for programs that call nothing, being the target of one-sided operations, waiting
 * for an event, or spinning on their own memory.
 *
 * It blocks on the sockets, with the engine's deadline as its timeout. When it is woken and finds that a thread of the
 * program is polling, it is only in the way: it lies down for a while, longer each time, and the polling thread does the
 * work. It never touches the program's signals and ends before the process does. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/engine.h"
#include "lib/control/process.h"
#include "lib/progress/eventfd.h"
#include "lib/progress/progress.h"
#include "net/link/clock.h"
#include "net/link/link.h"

#define LINGER_NS      50000u /* keep looking after the last packet */
#define POLLER_NEAR_NS 20000u /* a poll this long ago: somebody is at it */
#define NAP_MIN_NS     50000u
#define NAP_MAX_NS     800000u /* less than a tick: a held ACK does not cut it short */
#define GONE_NS	       30000u  /* how long a poller must not have polled, while it could */
#define LONG_AGO_NS    5000000u
#define YIELD_SHORT_NS                                                                             \
	10000u /* an interrupt may take that long, a program that spins takes longer */
#define HELD_LATELY_NS 5000000u
#define RESEND_NS      100000u /* the kernel took no more: try again */
#define MAX_EVENTS     4

enum source {
	SOURCE_LINK,
	SOURCE_CALM,
	SOURCE_WAKE,
	SOURCE_SERVER,
	SOURCE_BELL,
};

/* All processors, a short slice: the thread wakes often and runs briefly. Every refusal is fine. */
static void be_nimble(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	/* As important as the program: beside one that spins at a higher priority it would starve. */
	ctl_short_slice();
}

/* The kernel, valgrind (ENOSYS) or a filter of system calls (any errno) refused epoll_pwait2: not asked again. */
static _Atomic bool no_pwait2;

static int wait_ms(int epoll_fd, struct epoll_event *ret, uint64_t ns)
{
	const uint64_t ms = ns / 1000000 + (ns % 1000000 != 0);

	return epoll_wait(epoll_fd, ret, MAX_EVENTS, ms > INT_MAX ? -1 : (int)ms);
}

/* Returns how many of the MAX_EVENTS at most there are, or -1 and errno. */
static int wait_ns(int epoll_fd, struct epoll_event *ret, uint64_t ns)
{
	struct timespec timeout = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	long n;

	if (atomic_load_explicit(&no_pwait2, memory_order_relaxed))
		return wait_ms(epoll_fd, ret, ns);
	n = syscall(SYS_epoll_pwait2, epoll_fd, ret, MAX_EVENTS, ns == UINT64_MAX ? NULL : &timeout,
		    NULL, (size_t)0);
	if (n >= 0 || errno == EINTR || errno == EBADF)
		return (int)n;
	atomic_store_explicit(&no_pwait2, true, memory_order_relaxed);
	return wait_ms(epoll_fd, ret, ns);
}

/* A thread of the program runs the engine this moment: a long message takes it longer than POLLER_NEAR_NS. */
static bool is_held(struct progress *progress)
{
	if (pthread_mutex_trylock(&progress->lock) != 0)
		return true;
	pthread_mutex_unlock(&progress->lock);
	return false;
}

static bool poller_is_near(struct progress *progress, uint64_t now_ns)
{
	uint64_t last = atomic_load_explicit(&progress->polled_at_ns, memory_order_relaxed);

	if (!last || last + LONG_AGO_NS <= now_ns)
		return false;
	return last + POLLER_NEAR_NS > now_ns || atomic_load(&progress->dozing) ||
	       is_held(progress);
}

/* Is the program kept from running by us? */
static bool is_in_the_way(struct progress *progress, uint64_t now_ns)
{
	return atomic_load_explicit(&progress->active_at_ns, memory_order_relaxed) + LONG_AGO_NS >
		       now_ns &&
	       atomic_load_explicit(&progress->active_cpu, memory_order_relaxed) == sched_getcpu();
}

/* True: somebody else wanted the processor. Each further look would cost him more than it is worth, and us the scheduler's favour,
 * which the next packet needs. */
static bool is_wanted_elsewhere(void)
{
	uint64_t before_ns = clock_now_ns();

	sched_yield();
	return clock_now_ns() - before_ns > YIELD_SHORT_NS;
}

/* Run the engine until nothing has come for a while, or the program polls for itself, or somebody else needs the processor. */
static void serve(struct progress *progress)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t until_ns = now_ns + LINGER_NS;

	while (now_ns < until_ns && !atomic_load(&progress->stopping)) {
		bool arrived = false;

		/* Held: somebody of the program runs the engine this moment. */
		if (pthread_mutex_trylock(&progress->lock) == 0) {
			now_ns = clock_now_ns();
			arrived = progress_run(progress, now_ns);
			if (arrived)
				atomic_store(&progress->polled_arrivals, 0);
			progress_unlock(progress);
		} else {
			now_ns = clock_now_ns();
		}
		if (arrived)
			until_ns = now_ns + LINGER_NS;
		else if (poller_is_near(progress, now_ns) || is_in_the_way(progress, now_ns) ||
			 is_wanted_elsewhere())
			return;
	}
}

/* How long until a timer is due. Under the lock. */
static uint64_t due_in(struct progress *progress)
{
	uint64_t deadline, now_ns = clock_now_ns();

	deadline = rxe_engine_deadline(progress->engine);
	if (vb_wire_deadline(&progress->wire) < deadline)
		deadline = vb_wire_deadline(&progress->wire);
	if (progress->tx_first < progress->tx_count && deadline > now_ns + RESEND_NS)
		deadline = now_ns + RESEND_NS;
	if (atomic_load(&progress->held_at_ns) + HELD_LATELY_NS > now_ns &&
	    deadline > now_ns + PROGRESS_TICK_NS)
		deadline = now_ns + PROGRESS_TICK_NS;
	atomic_store(&progress->thread_wakes_ns, deadline);
	if (deadline == UINT64_MAX)
		return UINT64_MAX;
	return deadline > now_ns ? deadline - now_ns : 0;
}

static uint64_t time_to_sleep(struct progress *progress)
{
	uint64_t ns;

	pthread_mutex_lock(&progress->lock);
	ns = due_in(progress);
	pthread_mutex_unlock(&progress->lock);
	return ns;
}

/* At most so long. Waits for no lock: who holds it tells of an earlier deadline when leaving. */
static uint64_t time_to_nap(struct progress *progress, uint64_t longest_ns)
{
	uint64_t ns = longest_ns;

	atomic_store(&progress->thread_wakes_ns, clock_now_ns() + longest_ns);
	if (pthread_mutex_trylock(&progress->lock) == 0) {
		ns = due_in(progress);
		pthread_mutex_unlock(&progress->lock);
	}
	/* What is due before the next tick is an ACK that waits for a ride: the program's next poll sees to it. */
	if (ns < PROGRESS_TICK_NS)
		ns = PROGRESS_TICK_NS;
	ns = ns < longest_ns ? ns : longest_ns;
	atomic_store(&progress->thread_wakes_ns, clock_now_ns() + ns);
	return ns;
}

static bool is_waiting(struct progress *progress)
{
	struct pollfd link = { .fd = link_wait_fd(progress->wire.phy), .events = POLLIN };

	return poll(&link, 1, 0) > 0;
}

/* It found the last arrival, and expects more: it polls, or is about to. Not so a program that found what it expected: it may be
 * spinning on its own memory by now. */
static bool is_polling(struct progress *progress)
{
	return atomic_load_explicit(&progress->polled_arrivals, memory_order_relaxed) &&
	       (atomic_load_explicit(&progress->polled_at_ns, memory_order_relaxed) ||
		atomic_load_explicit(&progress->expecting, memory_order_relaxed));
}

/* A program that polled lately may only have lost its processor, most likely to us: give it back and see. */
static bool polls_on(struct progress *progress)
{
	uint64_t last = atomic_load_explicit(&progress->polled_at_ns, memory_order_relaxed);
	uint64_t now_ns = clock_now_ns();
	uint64_t until_ns = now_ns + GONE_NS;

	if (last && last + LONG_AGO_NS < now_ns)
		return false;
	while (now_ns < until_ns) {
		if (poller_is_near(progress, now_ns) ||
		    atomic_load_explicit(&progress->polled_at_ns, memory_order_relaxed) != last)
			return true;
		sched_yield();
		now_ns = clock_now_ns();
	}
	return false;
}

static void drain_wake(struct progress *progress)
{
	uint64_t count;

	if (read(progress->wake_fd, &count, sizeof(count)) < 0)
		return;
}

/* All but the link. Returns how much there was. */
static int hear(struct progress *progress, uint64_t ns)
{
	struct epoll_event events[MAX_EVENTS];
	const int n = wait_ns(progress->calm_fd, events, ns);

	for (int i = 0; i < n; i++) {
		if (events[i].data.u32 == SOURCE_WAKE)
			drain_wake(progress);
		if (events[i].data.u32 == SOURCE_BELL)
			remote_heard(progress);
		if (events[i].data.u32 == SOURCE_SERVER &&
		    !progress->owner->server_event_ready(progress))
			epoll_ctl(progress->calm_fd, EPOLL_CTL_DEL, progress->attachment->event_fd,
				  NULL);
	}
	return n;
}

static bool may_nap(struct progress *progress)
{
	return atomic_load(&progress->polled_arrivals) >= PROGRESS_NAP_AFTER &&
	       poller_is_near(progress, clock_now_ns());
}

/* The program polls: leave the link to it, deaf to it, for a nap. A thread that waited on the link would be woken by each packet,
 * for nothing, at the sender's cost. A program that stops polling meanwhile and waits for what lands in its memory is let down
 * by that, once: the next is earned anew. */
static void nap(struct progress *progress, uint64_t *nap_ns)
{
	uint64_t length_ns =
		time_to_nap(progress, atomic_load(&progress->armed) ? NAP_MIN_NS : *nap_ns);

	atomic_store(&progress->napping, true);
	if (hear(progress, length_ns) == 0) {
		if (polls_on(progress)) {
			if (*nap_ns < NAP_MAX_NS)
				*nap_ns *= 2;
		} else if (is_waiting(progress)) {
			atomic_store(&progress->polled_arrivals, 0);
			*nap_ns = NAP_MIN_NS;
		}
	}
	atomic_store(&progress->napping, false);
}

/* Wait for whatever comes. */
static void listen_to_all(struct progress *progress)
{
	struct epoll_event events[MAX_EVENTS];
	int n;

	atomic_store(&progress->listening, true);
	n = wait_ns(progress->epoll_fd, events, time_to_sleep(progress));
	atomic_store(&progress->listening, false);
	for (int i = 0; i < n; i++)
		if (events[i].data.u32 == SOURCE_CALM)
			hear(progress, 0);
}

static void *thread_main(void *arg)
{
	struct progress *progress = arg;
	uint64_t nap_ns = NAP_MIN_NS;

	be_nimble();
	while (!atomic_load(&progress->stopping)) {
		if (may_nap(progress)) {
			nap(progress, &nap_ns);
			continue;
		}
		listen_to_all(progress);
		if (!may_nap(progress) && !(is_polling(progress) && polls_on(progress)))
			serve(progress);
	}
	return NULL;
}

static int add(int epoll_fd, int fd, enum source source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void close_epoll(struct progress *progress)
{
	close(progress->epoll_fd);
	close(progress->calm_fd);
}

static int open_epoll(struct progress *progress)
{
	int err = 0;

	progress->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	progress->calm_fd = epoll_create1(EPOLL_CLOEXEC);
	if (progress->epoll_fd < 0 || progress->calm_fd < 0)
		err = -errno;
	if (!err)
		err = add(progress->epoll_fd, link_wait_fd(progress->wire.phy), SOURCE_LINK);
	if (!err)
		err = add(progress->epoll_fd, progress->calm_fd, SOURCE_CALM);
	if (!err)
		err = add(progress->calm_fd, progress->wake_fd, SOURCE_WAKE);
	if (!err)
		err = add(progress->calm_fd, progress->attachment->event_fd, SOURCE_SERVER);
	if (!err)
		err = add(progress->calm_fd, progress->errands.bell_fd, SOURCE_BELL);
	if (err)
		close_epoll(progress);
	return err;
}

int progress_thread_start(struct progress *progress)
{
	sigset_t all, before;
	int err;

	if (progress->has_thread)
		return 0;
	err = open_epoll(progress);
	if (err)
		return err;
	/* It takes no signal of the program's, but for faults: those are its own, and memory.c catches them. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&progress->thread, NULL, thread_main, progress);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		close_epoll(progress);
		return err;
	}
	pthread_setname_np(progress->thread, "rxe_dm");
	progress->has_thread = true;
	return 0;
}

void progress_thread_stop(struct progress *progress)
{
	if (!progress->has_thread)
		return;
	atomic_store(&progress->stopping, true);
	progress_thread_kick(progress);
	pthread_join(progress->thread, NULL);
	close_epoll(progress);
	progress->has_thread = false;
}

void progress_thread_forget(struct progress *progress)
{
	close_epoll(progress);
}

void progress_thread_kick(struct progress *progress)
{
	vb_eventfd_signal(progress->wake_fd);
}
