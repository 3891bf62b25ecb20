// SPDX-License-Identifier: MIT
/* The background thread: runs the engine for programs that call nothing, being the target of one-sided operations, waiting
 * for an event, or spinning on their own memory.
 *
 * It blocks on the sockets, with the engine's deadline as its timeout. When it is woken and finds that a thread of the
 * program is polling, it is only in the way: it lies down for a while, longer each time, and the polling thread does the
 * work. It never touches the program's signals and ends before the process does. */
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/engine.h"
#include "lib/verbs/async.h"
#include "lib/verbs/driver.h"
#include "lib/verbs/pump.h"

#define LINGER_NS	 50000u /* keep looking after the last packet */
#define POLLER_NEAR_NS	 20000u /* a poll this long ago: somebody is at it */
#define NAP_MIN_NS	 50000u
#define NAP_MAX_NS	 2000000u
#define AWAKE_MIN_NS	 10000000u
#define AWAKE_MAX_NS	 1000000000u
#define BETWEEN_POLLS_NS 10000u
#define HELD_LATELY_NS	 5000000u
#define RESEND_NS	 100000u /* the kernel took no more: try again */

struct naps {
	uint64_t length_ns;
	uint64_t awake_ns; /* how long to do without, after the next that lets the program down */
	uint64_t none_until_ns;
};

enum source {
	SOURCE_LINK,
	SOURCE_WAKE,
	SOURCE_SERVER,
	SOURCE_BELL,
};

/* All processors, a short slice: the thread wakes often and runs briefly. Every refusal is fine. */
static void be_nimble(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = 48, .runtime = 100000 };
	cpu_set_t all;

	/* As important as the program: beside one that spins at a higher priority it would starve. */
	attr.nice = getpriority(PRIO_PROCESS, 0);

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	syscall(SYS_sched_setattr, 0, &attr, 0u);
}

static void wait_ns(int epoll_fd, struct epoll_event *ret, int *ret_count, uint64_t ns)
{
	struct timespec timeout = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	long n = syscall(SYS_epoll_pwait2, epoll_fd, ret, 4, ns == UINT64_MAX ? NULL : &timeout,
			 NULL, (size_t)0);

	if (n < 0 && errno == ENOSYS) {
		uint64_t ms = ns == UINT64_MAX ? UINT64_MAX : (ns + 999999) / 1000000;

		n = epoll_wait(epoll_fd, ret, 4, ms > INT_MAX ? -1 : (int)ms);
	}
	*ret_count = (int)n;
}

static bool poller_is_near(struct dm_pump *pump, uint64_t now_ns)
{
	uint64_t last = atomic_load_explicit(&pump->polled_at_ns, memory_order_relaxed);

	return last + POLLER_NEAR_NS > now_ns;
}

/* Run the engine until nothing has come for a while, or the program polls for itself. */
static void serve(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	uint64_t now_ns = dm_now_ns();
	uint64_t until_ns = now_ns + LINGER_NS;

	while (now_ns < until_ns && !atomic_load(&pump->stopping)) {
		bool arrived = false;

		/* Held: somebody of the program runs the engine this moment. */
		if (pthread_mutex_trylock(&pump->lock) == 0) {
			now_ns = dm_now_ns();
			arrived = dm_pump_run(dev, now_ns);
			dm_pump_unlock(dev);
		} else {
			now_ns = dm_now_ns();
		}
		if (arrived)
			until_ns = now_ns + LINGER_NS;
		else if (poller_is_near(pump, now_ns))
			return;
		else
			dm_pump_yield(pump, now_ns);
	}
}

/* How long until a timer is due. */
static uint64_t time_to_sleep(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	uint64_t deadline, now_ns = dm_now_ns();

	pthread_mutex_lock(&pump->lock);
	deadline = rxe_engine_deadline(pump->engine);
	if (pump->tx_first < pump->tx_count && deadline > now_ns + RESEND_NS)
		deadline = now_ns + RESEND_NS;
	if (atomic_load(&pump->held_at_ns) + HELD_LATELY_NS > now_ns &&
	    deadline > now_ns + DM_PUMP_TICK_NS)
		deadline = now_ns + DM_PUMP_TICK_NS;
	atomic_store(&pump->thread_wakes_ns, deadline);
	pthread_mutex_unlock(&pump->lock);
	if (deadline == UINT64_MAX)
		return UINT64_MAX;
	return deadline > now_ns ? deadline - now_ns : 0;
}

/* Something waits in the socket and nobody is looking. */
static bool is_unattended(struct dm_pump *pump, uint64_t now_ns)
{
	struct pollfd link = { .fd = dm_wire_poll_fd(&pump->wire), .events = POLLIN };

	return !poller_is_near(pump, now_ns) && poll(&link, 1, 0) > 0;
}

/* A program between two polls looks the same for a moment. */
static bool stays_unattended(struct dm_pump *pump)
{
	uint64_t now_ns = dm_now_ns();
	uint64_t until_ns = now_ns + BETWEEN_POLLS_NS;

	while (is_unattended(pump, now_ns)) {
		if (now_ns > until_ns)
			return true;
		now_ns = dm_now_ns();
	}
	return false;
}

/* The link stirs while the program polls: leave it to the program, deaf to the link, for a nap. A program that stops
 * polling meanwhile and waits for what lands in its memory is let down by that: then there are no naps for a while. So is one
 * that had no processor just then, which is no reason to stay in its way: the while is short, unless it happens each time. */
static void nap(struct dm_device *dev, struct naps *naps, uint64_t now_ns)
{
	struct dm_pump *pump = &dev->pump;
	struct timespec length = { .tv_nsec = (long)naps->length_ns };

	atomic_store(&pump->thread_wakes_ns, now_ns + naps->length_ns);
	nanosleep(&length, NULL);
	if (stays_unattended(pump)) {
		naps->none_until_ns = dm_now_ns() + naps->awake_ns;
		naps->length_ns = NAP_MIN_NS;
		if (naps->awake_ns < AWAKE_MAX_NS)
			naps->awake_ns *= 2;
		return;
	}
	naps->awake_ns = AWAKE_MIN_NS;
	if (naps->length_ns < NAP_MAX_NS)
		naps->length_ns *= 2;
}

static void drain_wake(struct dm_pump *pump)
{
	uint64_t count;

	if (read(pump->wake_fd, &count, sizeof(count)) < 0)
		return;
}

static void *thread_main(void *arg)
{
	struct dm_device *dev = arg;
	struct dm_pump *pump = &dev->pump;
	struct naps naps = { .length_ns = NAP_MIN_NS, .awake_ns = AWAKE_MIN_NS };

	be_nimble();
	while (!atomic_load(&pump->stopping)) {
		struct epoll_event events[4];
		uint64_t now_ns;
		bool link = false;
		int n;

		wait_ns(pump->epoll_fd, events, &n, time_to_sleep(dev));
		for (int i = 0; i < n; i++) {
			link |= events[i].data.u32 == SOURCE_LINK;
			if (events[i].data.u32 == SOURCE_WAKE)
				drain_wake(pump);
			if (events[i].data.u32 == SOURCE_BELL)
				dm_errands_heard(dev);
			if (events[i].data.u32 == SOURCE_SERVER && !dm_async_from_server(dev))
				epoll_ctl(pump->epoll_fd, EPOLL_CTL_DEL, dev->attachment.event_fd,
					  NULL);
		}
		now_ns = dm_now_ns();
		if (link && now_ns >= naps.none_until_ns && poller_is_near(pump, now_ns)) {
			nap(dev, &naps, now_ns);
			continue;
		}
		serve(dev);
	}
	return NULL;
}

static int add(int epoll_fd, int fd, enum source source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_epoll(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	int err;

	pump->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (pump->epoll_fd < 0)
		return -errno;
	err = add(pump->epoll_fd, dm_wire_poll_fd(&pump->wire), SOURCE_LINK);
	if (!err)
		err = add(pump->epoll_fd, pump->wake_fd, SOURCE_WAKE);
	if (!err)
		err = add(pump->epoll_fd, dev->attachment.event_fd, SOURCE_SERVER);
	if (!err && pump->errands.bell_fd >= 0)
		err = add(pump->epoll_fd, pump->errands.bell_fd, SOURCE_BELL);
	if (err)
		close(pump->epoll_fd);
	return err;
}

int dm_pump_thread_start(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	sigset_t all, before;
	int err;

	if (pump->has_thread)
		return 0;
	err = open_epoll(dev);
	if (err)
		return err;
	/* It takes no signal of the program's, but for faults: those are its own, and memory.c catches them. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&pump->thread, NULL, thread_main, dev);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		close(pump->epoll_fd);
		return err;
	}
	pthread_setname_np(pump->thread, "rxe_dm");
	pump->has_thread = true;
	return 0;
}

void dm_pump_thread_stop(struct dm_pump *pump)
{
	if (!pump->has_thread)
		return;
	atomic_store(&pump->stopping, true);
	dm_pump_thread_kick(pump);
	pthread_join(pump->thread, NULL);
	close(pump->epoll_fd);
	pump->has_thread = false;
}

void dm_pump_thread_kick(struct dm_pump *pump)
{
	const uint64_t one = 1;

	if (write(pump->wake_fd, &one, sizeof(one)) < 0)
		return;
}
