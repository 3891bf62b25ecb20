// SPDX-License-Identifier: MIT
/* A thread of the program waits for an event on the link, over UDP, in a process without a
 * server. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include "device_fixture.h"
#include "emu/cq.h"
#include "emu/engine.h"
#include "lib/progress/progress.h"
#include "lib/progress/turns.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "net/link/link.h"
#include "net/link/memory/bell.h"
#include "tests/suite.h"
#include "tests/unit/thread_named.h"

#define SLOT	3u
#define WAIT_NS 20000000000ull
#define MS_NS	1000000ull
#define SIGNALS 100

static struct vb_device *dev;
static struct progress *progress;
static struct presence server;
static int channel;
static _Atomic uint32_t events;
static pthread_t waiter;
static _Atomic uint32_t handled;
static _Atomic bool is_over;
static _Atomic uint32_t sleeps;

static void setup(void)
{
	static const struct progress_owner owner = { 0 };

	server.has_many_peers = 1;
	dev = device_new_on_udp(SLOT, &owner);
	progress = &dev->progress;
	ck_assert_int_eq(progress_start(progress), 0);
	/* A client that waits long for its events. */
	schedule_sent_to(&progress->schedule, &server);
	for (uint32_t i = 0; i < TURNS_MANY; i++)
		turns_waited(&progress->schedule.turns, true);
	channel = descriptor_keep(eventfd(0, 0));
	atomic_store(&events, 0);
	atomic_store(&handled, 0);
	atomic_store(&sleeps, 0);
	atomic_store(&is_over, false);
}

static void teardown(void)
{
	descriptor_close(channel);
	progress_stop(progress);
	device_free_on_udp(dev);
}

static int wait_for(uint64_t ns)
{
	struct progress_event event = { .fd = channel, .count = &events };
	const int err = progress_wait_for_event(progress, &event, clock_now_ns() + ns);

	progress_event_wait_over(&event);
	return err;
}

/* Waits again where the thread lost its processor until the time was over. */
static int wait_in_time(uint64_t ns)
{
	int err = EAGAIN;

	while (err == EAGAIN)
		err = wait_for(ns);
	return err;
}

/* Not before its time. */
START_TEST(it_ends_with_its_time)
{
	struct progress_event event = { .fd = channel, .count = &events };
	const uint64_t until_ns = clock_now_ns() + MS_NS;
	int err = 0;

	while (!err)
		err = progress_wait_for_event(progress, &event, until_ns);
	ck_assert_int_eq(err, EAGAIN);
	ck_assert_uint_ge(clock_now_ns(), until_ns);
	progress_event_wait_over(&event);
	ck_assert_uint_eq(atomic_load(&progress->schedule.sleepers), 0);
}
END_TEST

/* A thousand waits that do not end with it take longer than a test may. */
START_TEST(it_ends_with_the_event)
{
	ck_assert_int_eq(eventfd_write(channel, 1), 0);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(wait_in_time(WAIT_NS / 100), 0);
}
END_TEST

START_TEST(one_thread_waits_on_the_link)
{
	ck_assert_int_eq(schedule_event_wait_began(&progress->schedule).action, SCHEDULE_SLEEP);
	ck_assert_int_eq(wait_for(WAIT_NS), EAGAIN);
	schedule_event_wait_ended(&progress->schedule);
}
END_TEST

/* The thread that holds the engine finds the packet, and reports the event. A sleep on the link
 * would end at once. */
START_TEST(beside_a_thread_that_runs_the_engine_it_sleeps_on_the_channel)
{
	struct progress_event none = { .fd = -1, .count = &events };
	const int link_fd = progress->link.phy->wait_fd;
	/* It looks again after 50 us. */
	const uint64_t until_ns = clock_now_ns() + 20 * MS_NS;
	uint32_t times = 0;
	int err = 0;

	progress->link.phy->wait_fd = channel;
	ck_assert_int_eq(eventfd_write(channel, 1), 0);
	ck_assert(progress_lock(progress));
	while (!err) {
		err = progress_wait_for_event(progress, &none, until_ns);
		times++;
	}
	pthread_mutex_unlock(&progress->lock);
	progress_event_wait_over(&none);
	progress->link.phy->wait_fd = link_fd;
	ck_assert_int_eq(err, EAGAIN);
	ck_assert_uint_le(times, 20 * 20 + 1);
}
END_TEST

/* A link on which threads sleep without a descriptor. */

static struct memory_bell bell;

static bool sleep_begins(struct link *link, uint32_t *ret_rings)
{
	(void)link;
	*ret_rings = atomic_load(&bell.rings);
	return false;
}

static bool sleep_on_bell(struct link *link, uint32_t rings, uint64_t ns)
{
	(void)link;
	atomic_fetch_add(&sleeps, 1);
	return memory_bell_sleep(&bell, rings, ns);
}

static void wake(struct link *link)
{
	(void)link;
	memory_bell_ring(&bell);
}

static struct link_ops with_bell(void)
{
	struct link_ops ops = *progress->link.phy->ops;

	ops.sleep_begins = sleep_begins;
	ops.sleep = sleep_on_bell;
	ops.wake = wake;
	return ops;
}

static void *raise_when_awaited(void *arg)
{
	(void)arg;
	while (!atomic_load(&progress->is_awaiting_event))
		sched_yield();
	atomic_fetch_add(&events, 1);
	progress_event_raised(progress);
	return NULL;
}

/* Another thread raises it. An event that no thread awaits rings nothing. */
START_TEST(an_event_ends_a_sleep_on_the_link)
{
	const struct link_ops *before = progress->link.phy->ops;
	const struct link_ops ops = with_bell();
	const uint64_t began_ns = clock_now_ns();
	pthread_t thread;

	progress->link.phy->ops = &ops;
	progress_event_raised(progress);
	ck_assert_uint_eq(atomic_load(&bell.rings), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, raise_when_awaited, NULL), 0);
	while (!atomic_load(&events))
		ck_assert_int_eq(wait_for(WAIT_NS), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_lt(clock_now_ns() - began_ns, WAIT_NS / 2);
	progress->link.phy->ops = before;
}
END_TEST

START_TEST(an_event_that_has_come_lets_no_thread_sleep)
{
	const struct link_ops *before = progress->link.phy->ops;
	const struct link_ops ops = with_bell();

	progress->link.phy->ops = &ops;
	atomic_store(&events, 1);
	ck_assert_int_eq(wait_in_time(WAIT_NS / 100), 0);
	ck_assert_uint_eq(atomic_load(&sleeps), 0);
	atomic_store(&events, 0);
	ck_assert_int_eq(wait_in_time(MS_NS), 0);
	ck_assert_uint_eq(atomic_load(&sleeps), 1);
	progress->link.phy->ops = before;
}
END_TEST

static void handle(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

static void handle_by(int number, int flags)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags };

	ck_assert_int_eq(sigaction(number, &action, NULL), 0);
}

/* The next signal follows once the thread has handled the last one: signals in a row would keep it
 * from its wait. */
static void *send_signals(void *arg)
{
	(void)arg;
	for (uint32_t sent = 0; !atomic_load(&is_over); sched_yield()) {
		if (atomic_load(&handled) != sent || !atomic_load(&progress->schedule.sleepers))
			continue;
		pthread_kill(waiter, SIGUSR1);
		sent++;
	}
	return NULL;
}

/* Waits while signals come, until one ends the wait or this many have come. Any number may come
 * before the thread sleeps: those end nothing. */
static int wait_for_signals(uint32_t most)
{
	pthread_t sender;
	int err = 0;

	waiter = pthread_self();
	ck_assert_int_eq(pthread_create(&sender, NULL, send_signals, NULL), 0);
	while ((!err || err == EAGAIN) && atomic_load(&handled) < most)
		err = wait_for(MS_NS);
	atomic_store(&is_over, true);
	pthread_join(sender, NULL);
	return err;
}

START_TEST(a_signal_ends_it)
{
	handle_by(SIGUSR1, 0);
	ck_assert_int_eq(wait_for_signals(UINT32_MAX), EINTR);
}
END_TEST

/* As read(2) goes on. */
START_TEST(a_signal_of_sa_restart_does_not_end_it)
{
	handle_by(SIGUSR1, SA_RESTART);
	handle_by(SIGUSR2, 0);
	ck_assert_int_ne(wait_for_signals(SIGNALS), EINTR);
	ck_assert_uint_ge(atomic_load(&handled), SIGNALS);
}
END_TEST

static int (*receive_below)(struct link *link, struct wire_arrival *ret, size_t max);

/* The event comes with what ends the sleep. */
static int receive_event(struct link *link, struct wire_arrival *ret, size_t max)
{
	if (atomic_load(&sleeps))
		atomic_store(&events, 1);
	return receive_below(link, ret, max);
}

static bool sleep_until_signal(struct link *link, uint32_t rings, uint64_t ns)
{
	(void)link;
	(void)rings;
	(void)ns;
	atomic_fetch_add(&sleeps, 1);
	pthread_kill(pthread_self(), SIGUSR1);
	return true;
}

static _Atomic uint32_t events_when_handled, sleepers_when_handled;

static void look(int number)
{
	handle(number);
	atomic_store(&events_when_handled, atomic_load(&events));
	atomic_store(&sleepers_when_handled, atomic_load(&progress->schedule.sleepers));
}

static int wait_for_signal(bool with_event)
{
	const struct sigaction action = { .sa_handler = look };
	const struct link_ops *before = progress->link.phy->ops;
	struct link_ops ops = with_bell();
	int err;

	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	receive_below = ops.receive;
	if (with_event)
		ops.receive = receive_event;
	ops.sleep = sleep_until_signal;
	progress->link.phy->ops = &ops;
	err = wait_for(WAIT_NS);
	progress->link.phy->ops = before;
	ck_assert_uint_eq(atomic_load(&sleeps), 1);
	ck_assert_uint_eq(atomic_load(&handled), 1);
	ck_assert_uint_eq(atomic_load(&sleepers_when_handled), 0);
	return err;
}

/* A handler may leave by siglongjmp(). */
START_TEST(handlers_run_after_the_wait)
{
	ck_assert_int_eq(wait_for_signal(true), 0);
	ck_assert_uint_eq(atomic_load(&events_when_handled), 1);
}
END_TEST

START_TEST(a_signal_ends_a_sleep_that_brought_no_event)
{
	ck_assert_int_eq(wait_for_signal(false), EINTR);
	ck_assert_uint_eq(atomic_load(&events_when_handled), 0);
}
END_TEST

static void expect_policy(int policy)
{
	ck_assert_int_eq(sched_getscheduler(0), policy);
}

static void polls_on(struct progress *of)
{
	progress_poll(of);
	progress_poll(of);
}

/* A server is busy, and the client's wake-up would take its processor. Until the client yields,
 * sleeps for longer, or stops. */
START_TEST(a_client_lets_others_go_on)
{
	void (*const end[])(struct progress * progress) = {
		polls_on,
		progress_program_will_sleep,
		progress_stop,
	};

	for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++) {
		expect_policy(SCHED_OTHER);
		(void)wait_for(MS_NS);
		expect_policy(SCHED_BATCH);
		end[i](progress);
		expect_policy(SCHED_OTHER);
	}
}
END_TEST

static void be_oversubscribed(void)
{
	atomic_store(&progress->schedule.oversubscribed_at_ns, clock_now_ns());
}

/* The last poll found nothing. */
static void found_nothing(void)
{
	const struct schedule_decision before = { .action = SCHEDULE_NOTHING };

	schedule_polled(&progress->schedule, clock_now_ns(), 0);
	schedule_looked(&progress->schedule, &before, 0, RXE_NEVER);
}

/* The background thread took the packet between the poll and the sleep. */
START_TEST(a_completion_that_has_come_lets_no_poller_sleep)
{
	const struct link_ops *before = progress->link.phy->ops;
	const struct link_ops ops = with_bell();
	_Atomic uint32_t polls = 0;
	struct rxe_cq cq = { 0 };

	progress->link.phy->ops = &ops;
	be_oversubscribed();
	found_nothing();
	atomic_store(&cq.visible, 1);
	progress_poll_cq(progress, &cq, &polls);
	ck_assert_uint_eq(atomic_load(&sleeps), 0);
	atomic_store(&cq.visible, 0);
	progress_poll_cq(progress, &cq, &polls);
	ck_assert_uint_eq(atomic_load(&sleeps), 1);
	progress->link.phy->ops = before;
}
END_TEST

START_TEST(a_client_that_polls_lets_others_go_on)
{
	be_oversubscribed();
	polls_on(progress);
	expect_policy(SCHED_BATCH);
	/* It still sleeps at polls, but not for a server. */
	server.has_many_peers = 0;
	progress_poll(progress);
	expect_policy(SCHED_OTHER);
}
END_TEST

/* Polls beside the background thread until that has the policy. */
static void poll_until_thread_has(int policy)
{
	const pid_t thread = thread_named("rxe_dm");

	ck_assert_int_ne(thread, 0);
	while (sched_getscheduler(thread) != policy) {
		be_oversubscribed();
		progress_poll(progress);
		progress_thread_wake(progress);
	}
}

START_TEST(its_background_thread_lets_others_go_on)
{
	ck_assert(progress_lock(progress));
	ck_assert_int_eq(progress_thread_start(progress), 0);
	pthread_mutex_unlock(&progress->lock);
	progress_threads_await_start();
	poll_until_thread_has(SCHED_BATCH);
	server.has_many_peers = 0;
	poll_until_thread_has(SCHED_OTHER);
	server.has_many_peers = 1;
	poll_until_thread_has(SCHED_BATCH);
	/* The program polls no more, and the thread serves it. */
	while (sched_getscheduler(thread_named("rxe_dm")) != SCHED_OTHER)
		progress_program_will_sleep(progress);
	progress_thread_stop(progress);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("event_wait");
	TCase *tcase = tcase_create("event_wait");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, it_ends_with_its_time);
	tcase_add_test(tcase, it_ends_with_the_event);
	tcase_add_test(tcase, one_thread_waits_on_the_link);
	tcase_add_test(tcase, beside_a_thread_that_runs_the_engine_it_sleeps_on_the_channel);
	tcase_add_test(tcase, an_event_ends_a_sleep_on_the_link);
	tcase_add_test(tcase, an_event_that_has_come_lets_no_thread_sleep);
	tcase_add_test(tcase, a_signal_ends_it);
	tcase_add_test(tcase, a_signal_of_sa_restart_does_not_end_it);
	tcase_add_test(tcase, handlers_run_after_the_wait);
	tcase_add_test(tcase, a_signal_ends_a_sleep_that_brought_no_event);
	tcase_add_test(tcase, a_client_lets_others_go_on);
	tcase_add_test(tcase, a_completion_that_has_come_lets_no_poller_sleep);
	tcase_add_test(tcase, a_client_that_polls_lets_others_go_on);
	tcase_add_test(tcase, its_background_thread_lets_others_go_on);
	return suite_run(suite);
}
