// SPDX-License-Identifier: MIT
/* The background thread: waits on the link and on everything else that concerns a device, and
 * carries out what schedule.h decides. It blocks the program's signals, and ends before the
 * attachment does. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "emu/engine.h"
#include "emu/min.h"
#include "lib/control/time_slice.h"
#include "lib/control/wakeup.h"
#include "lib/progress/eventfd.h"
#include "lib/progress/measure.h"
#include "lib/progress/progress.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "net/link/link.h"

#define MAX_EVENTS	5
#define LONGEST_WAIT_NS 1000000000u
/* When the kernel does not report packets. */
#define UNWATCHED_WAIT_NS 1000000u
/* Sooner than the kernel's tick. */
#define MEASURED_TIMER_NS 100000u

enum source {
	SOURCE_LINK,
	SOURCE_EVENTS,
	SOURCE_WAKE,
	SOURCE_TIMER,
	SOURCE_SERVER,
	SOURCE_DOORBELL,
};

/* All processors, whatever the program is pinned to, a short time slice and exact timers: the
 * thread wakes often and runs briefly. Its priority stays the program's: a lower one would starve
 * beside a program that spins. Refusals are harmless. Returns how many processors it has. */
static uint32_t set_affinity_and_slice(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	ctl_slice_shorten();
	prctl(PR_SET_TIMERSLACK, 1ul);
	return sched_getaffinity(0, sizeof(all), &all) == 0 ? (uint32_t)CPU_COUNT(&all)
							    : UINT32_MAX;
}

/* The kernel, valgrind (ENOSYS) or a system call filter (any errno) refused epoll_pwait2. */
static _Atomic bool no_pwait2;

static int wait_ms(int epoll_fd, struct epoll_event *ret, uint64_t ns)
{
	const uint64_t ms = ns / 1000000 + (ns % 1000000 != 0);

	return epoll_wait(epoll_fd, ret, MAX_EVENTS, ms > INT_MAX ? -1 : (int)ms);
}

/* Returns the number of events, up to MAX_EVENTS, or -1 and errno. ns UINT64_MAX: no timeout. */
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

/* For struct schedule. The background thread asks, and does not hold the lock itself. */
static bool is_engine_held(void *arg)
{
	return progress_is_locked(arg);
}

static void drain_wake(struct progress *progress)
{
	uint64_t count;

	if (!descriptor_is_kept(progress->wake_fd) ||
	    read(progress->wake_fd, &count, sizeof(count)) < 0)
		return;
}

/* at_ns 0: never. False: there is no timer. */
static bool set_timer(struct progress *progress, uint64_t at_ns)
{
	const struct itimerspec at = {
		.it_value = { (time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u) },
	};

	return descriptor_is_kept(progress->timer_fd) &&
	       timerfd_settime(progress->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0;
}

/* What it takes to set a timer that is the processor's next, and to clear it. The thread may lose
 * its processor meanwhile: the least of three. */
static uint64_t measure_timer(struct progress *progress)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		const uint64_t began_ns = clock_now_ns();

		if (!set_timer(progress, began_ns + MEASURED_TIMER_NS) || !set_timer(progress, 0))
			return 0;
		least_ns = min_u64(least_ns, clock_now_ns() - began_ns);
	}
	return least_ns;
}

/* Waits on everything except the link. Returns whether anything but the time has come. */
static bool wait_for_events(struct progress *progress, uint64_t ns)
{
	struct epoll_event events[MAX_EVENTS];
	const int n = wait_ns(progress->events_fd, events, ns);
	bool any = n != 0;

	assert(n <= MAX_EVENTS);
	for (int i = 0; i < n; i++) {
		if (events[i].data.u32 == SOURCE_TIMER)
			any = n > 1;
		if (events[i].data.u32 == SOURCE_WAKE)
			drain_wake(progress);
		if (events[i].data.u32 == SOURCE_DOORBELL)
			remote_doorbell_rang(progress);
		if (events[i].data.u32 == SOURCE_SERVER &&
		    descriptor_is_kept(progress->attachment->event_fd) &&
		    !progress->owner->server_event_ready(progress))
			epoll_ctl(progress->events_fd, EPOLL_CTL_DEL,
				  progress->attachment->event_fd, NULL);
	}
	return any;
}

/* At most LONGEST_WAIT_NS: nothing else wakes the thread when the program closed our
 * descriptors. */
static uint64_t link_wait_length_ns(struct progress *progress)
{
	struct schedule_timers timers;
	uint64_t now_ns, until_ns;

	pthread_mutex_lock(&progress->lock);
	now_ns = clock_now_ns();
	timers = progress_timers(progress);
	until_ns = schedule_link_wait_began(&progress->schedule, now_ns, &timers);
	if (link_wait_begins(progress->link.phy))
		until_ns = now_ns;
	pthread_mutex_unlock(&progress->lock);
	if (until_ns > now_ns + LONGEST_WAIT_NS)
		return LONGEST_WAIT_NS;
	return until_ns > now_ns ? until_ns - now_ns : 0;
}

static bool add(int epoll_fd, int fd, enum source source)
{
	/* A timer that has expired stays so until it is set again, and is reported once. */
	const uint32_t once = source == SOURCE_TIMER ? EPOLLET : 0;
	struct epoll_event event = { .events = EPOLLIN | once, .data.u32 = source };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* A descriptor in an epoll set costs each sender 0.1 to 0.3 us for a packet, whether a thread waits
 * there or not. The set may be the program's own meanwhile. */
static void stop_watching(struct progress *progress)
{
	if (progress->watched_fd >= 0 && descriptor_is_kept(progress->all_fd))
		(void)epoll_ctl(progress->all_fd, EPOLL_CTL_DEL, progress->watched_fd, NULL);
	progress->watched_fd = -1;
}

/* False: the kernel refuses. */
static bool watch(struct progress *progress)
{
	const int fd = link_wait_fd(progress->link.phy);

	if (progress->watched_fd == fd)
		return true;
	stop_watching(progress);
	if (!descriptor_is_kept(progress->all_fd) || !add(progress->all_fd, fd, SOURCE_LINK))
		return false;
	progress->watched_fd = fd;
	return true;
}

static void wait_on_link(struct progress *progress)
{
	struct epoll_event events[MAX_EVENTS];
	const bool watches = watch(progress);
	const uint64_t longest_ns = watches ? UINT64_MAX : UNWATCHED_WAIT_NS;
	const uint64_t ns = min_u64(link_wait_length_ns(progress), longest_ns);
	const int n = wait_ns(progress->all_fd, events, ns);
	bool readable = !watches;

	for (int i = 0; i < n; i++)
		readable |= events[i].data.u32 == SOURCE_LINK;
	link_wait_ended(progress->link.phy, readable);
	arrivals_waited(progress, readable);
	progress->has_waited = true;
	progress->has_stepped_back = false;
	schedule_link_wait_returned(&progress->schedule, readable);
	for (int i = 0; i < n; i++)
		if (events[i].data.u32 == SOURCE_EVENTS)
			(void)wait_for_events(progress, 0);
}

static void step_back(struct progress *progress, const struct schedule_decision *decision,
		      uint64_t now_ns)
{
	const uint64_t ns = decision->until_ns - now_ns;
	bool has_timer, was_woken;

	assert(ns > 0 && ns < LONGEST_WAIT_NS);
	if (decision->lets_others_go_on)
		ctl_wakeup_defer();
	else
		ctl_wakeup_restore();
	/* A program that waits for events has one step back between two waits on the link. */
	if (progress->has_stepped_back)
		stop_watching(progress);
	progress->has_stepped_back = true;
	has_timer = set_timer(progress, decision->until_ns);
	was_woken = wait_for_events(progress, has_timer ? LONGEST_WAIT_NS : ns);
	if (was_woken)
		set_timer(progress, 0);
	progress->has_waited = true;
	schedule_step_back_returned(&progress->schedule, clock_now_ns(), sched_getcpu(), was_woken);
}

static void look_at_link(struct progress *progress)
{
	struct pollfd link = { .fd = link_wait_fd(progress->link.phy), .events = POLLIN };
	const bool waits = progress_wait_begins(progress);
	const bool readable = !waits && poll(&link, 1, 0) > 0;

	link_wait_ended(progress->link.phy, readable);
	schedule_link_looked_at(&progress->schedule, waits || readable);
}

/* A thread of the program that holds the engine runs it already. */
static void run_engine(struct progress *progress)
{
	bool arrived = false;
	uint64_t now_ns;

	if (pthread_mutex_trylock(&progress->lock) == 0) {
		now_ns = clock_now_ns();
		/* During the wait the program may have closed the socket and opened one of its own
		 * with the same number. */
		if (progress->has_waited && !descriptor_is_kept(progress->attachment->rx_fd))
			progress_suspect_descriptors(progress);
		progress->has_waited = false;
		arrived = progress_run(progress, now_ns) == PROGRESS_ARRIVED;
		progress_unlock(progress);
	} else {
		now_ns = clock_now_ns();
	}
	schedule_engine_ran(&progress->schedule, now_ns, sched_getcpu(), arrived);
}

static void yield(struct progress *progress, bool measures)
{
	const uint64_t before_ns = measures ? measure_call(&progress->schedule) : clock_now_ns();

	sched_yield();
	schedule_background_yielded(&progress->schedule, clock_now_ns() - before_ns);
}

/* Threads of this process that exist, but run no code of ours yet. */
static _Atomic uint32_t num_starting;

void progress_threads_await_start(void)
{
	const struct timespec pause = { .tv_nsec = 20000 };

	while (atomic_load(&num_starting))
		nanosleep(&pause, NULL);
}

void progress_threads_forked(void)
{
	atomic_store(&num_starting, 0);
}

static void *thread_main(void *arg)
{
	struct progress *progress = arg;
	uint32_t num_cpus;

	atomic_fetch_sub(&num_starting, 1);
	num_cpus = set_affinity_and_slice();
	schedule_background_started(&progress->schedule, num_cpus, measure_timer(progress));
	while (!atomic_load(&progress->is_missing_descriptors)) {
		const uint64_t now_ns = clock_now_ns();
		const struct schedule_decision decision =
			schedule_background_next(&progress->schedule, now_ns, sched_getcpu());

		switch (decision.action) {
		case SCHEDULE_WAIT_ON_LINK:
			ctl_wakeup_restore();
			wait_on_link(progress);
			break;
		case SCHEDULE_STEP_BACK: step_back(progress, &decision, now_ns); break;
		case SCHEDULE_LOOK_AT_LINK: look_at_link(progress); break;
		case SCHEDULE_RUN_ENGINE: run_engine(progress); break;
		case SCHEDULE_YIELD: yield(progress, decision.measures); break;
		case SCHEDULE_EXIT: return NULL;
		case SCHEDULE_NOTHING:
		case SCHEDULE_SLEEP:
		case SCHEDULE_WAKE_BACKGROUND:
			assert(false && "a decision for a thread of the program");
		}
	}
	return NULL;
}

static int open_epoll(struct progress *progress)
{
	const int all = descriptor_keep(epoll_create1(EPOLL_CLOEXEC));
	const int events = descriptor_keep(epoll_create1(EPOLL_CLOEXEC));

	progress->all_fd = all;
	progress->events_fd = events;
	progress->watched_fd = -1;
	if (all >= 0 && events >= 0 && watch(progress) && add(all, events, SOURCE_EVENTS) &&
	    add(events, progress->wake_fd, SOURCE_WAKE) &&
	    (progress->timer_fd < 0 || add(events, progress->timer_fd, SOURCE_TIMER)) &&
	    (progress->has_server_ended ||
	     add(events, progress->attachment->event_fd, SOURCE_SERVER)) &&
	    add(events, progress->remote_requests.doorbell_fd, SOURCE_DOORBELL))
		return 0;
	return -errno;
}

void progress_read_server(struct progress *progress)
{
	struct pollfd server = { .fd = progress->attachment->event_fd, .events = POLLIN };

	while (!progress->has_server_ended && descriptor_is_kept(server.fd) &&
	       poll(&server, 1, 0) > 0)
		progress->has_server_ended = !progress->owner->server_event_ready(progress);
}

int progress_thread_start(struct progress *progress)
{
	sigset_t all, before;
	int err;

	assert(progress->engine && progress_is_locked(progress));
	if (progress->has_thread)
		return 0;
	err = progress_has_descriptors(progress) ? open_epoll(progress) : -EBADF;
	schedule_start(&progress->schedule, is_engine_held, progress);
	/* The program's signals stay with its own threads. Faults are the thread's own: memory.c
	 * handles them. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!err) {
		atomic_fetch_add(&num_starting, 1);
		err = -pthread_create(&progress->thread, NULL, thread_main, progress);
		if (err)
			atomic_fetch_sub(&num_starting, 1);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	progress->has_thread = !err;
	if (err)
		progress_thread_forget(progress);
	else
		pthread_setname_np(progress->thread, "rxe_dm");
	return err;
}

void progress_thread_stop(struct progress *progress)
{
	if (!progress->has_thread)
		return;
	/* A thread cannot wait for its own end. */
	assert(!pthread_equal(pthread_self(), progress->thread));
	schedule_stop(&progress->schedule);
	progress_thread_wake(progress);
	pthread_join(progress->thread, NULL);
	progress_thread_forget(progress);
}

void progress_thread_forget(struct progress *progress)
{
	descriptor_close(progress->all_fd);
	descriptor_close(progress->events_fd);
	progress->all_fd = progress->events_fd = progress->watched_fd = -1;
	progress->has_thread = false;
}

void progress_thread_postpone(struct progress *progress, uint64_t until_ns)
{
	(void)set_timer(progress, until_ns);
}

void progress_thread_wake(struct progress *progress)
{
	eventfd_signal(progress->wake_fd);
}
