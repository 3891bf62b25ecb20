// SPDX-License-Identifier: MIT
/* When the background thread watches the link: each packet then goes through its epoll set, at the
 * cost of the sender. And when it wakes up beside a program that polls. */
#include <check.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "device_fixture.h"
#include "lib/progress/progress.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "tests/suite.h"

#define SLOT	     3u
#define WAIT_NS	     20000000000ull
#define STEP_BACK_NS 3000000u

static struct vb_device *dev;
static struct progress *progress;

static void setup(void)
{
	static const struct progress_owner owner = { 0 };

	dev = device_new_on_udp(SLOT, &owner);
	progress = &dev->progress;
	ck_assert_int_eq(progress_start(progress), 0);
	ck_assert(progress_lock(progress));
	ck_assert_int_eq(progress_thread_start(progress), 0);
	progress_unlock(progress);
}

static void teardown(void)
{
	progress_stop(progress);
	device_free_on_udp(dev);
}

static bool is_watched(int fd)
{
	char path[64], line[128];
	bool watched = false;
	int each;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", progress->all_fd);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		watched |= sscanf(line, "tfd: %d", &each) == 1 && each == fd;
	fclose(file);
	return watched;
}

static bool becomes_watched(int fd, bool watched)
{
	const uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (is_watched(fd) != watched && clock_now_ns() < until_ns)
		sched_yield();
	return is_watched(fd) == watched;
}

/* Without groups it watches the socket itself: a set around it would cost as much again. */
START_TEST(a_thread_that_steps_back_again_does_not_watch)
{
	const int fd = dev->attachment.rx_fd;

	ck_assert_int_eq(link_wait_fd(progress->link.phy), fd);
	ck_assert(becomes_watched(fd, true));
	/* It steps back for as long as the program polls. */
	schedule_polled(&progress->schedule, clock_now_ns() + WAIT_NS, 0);
	for (int i = 0; i < 8; i++)
		(void)schedule_packet_arrived(&progress->schedule);
	progress_thread_wake(progress);
	ck_assert(becomes_watched(fd, false));
	progress_program_will_sleep(progress);
	ck_assert(becomes_watched(fd, true));
}
END_TEST

static int join_group(void)
{
	const struct gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 80, 1, 1 } };
	int fd;

	ck_assert(progress_lock(progress));
	ck_assert_int_eq(device_link_join(&progress->link, &group), 0);
	fd = link_wait_fd(progress->link.phy);
	progress_unlock(progress);
	return fd;
}

/* The link has another descriptor then. */
START_TEST(a_thread_watches_groups_once_one_is_joined)
{
	int fd;

	ck_assert(becomes_watched(dev->attachment.rx_fd, true));
	fd = join_group();
	ck_assert_int_ne(fd, dev->attachment.rx_fd);
	ck_assert(becomes_watched(fd, true));
	ck_assert(!is_watched(dev->attachment.rx_fd));
}
END_TEST

/* Else it would watch the groups a second later, when its wait is over. */
START_TEST(a_join_wakes_the_thread)
{
	eventfd_t count;

	progress_thread_stop(progress);
	(void)eventfd_read(progress->wake_fd, &count);
	(void)join_group();
	ck_assert_int_eq(eventfd_read(progress->wake_fd, &count), 0);
}
END_TEST

static uint64_t timer_ns(void)
{
	struct itimerspec at;

	ck_assert_int_eq(timerfd_gettime(progress->timer_fd, &at), 0);
	return (uint64_t)at.it_value.tv_sec * 1000000000u + (uint64_t)at.it_value.tv_nsec;
}

START_TEST(a_thread_that_starts_measures_a_timer)
{
	const uint64_t until_ns = clock_now_ns() + WAIT_NS;
	_Atomic uint64_t *measured_ns = &progress->schedule.timer_ns;

	while (atomic_load(measured_ns) == 0 && clock_now_ns() < until_ns)
		sched_yield();
	ck_assert_uint_gt(atomic_load(measured_ns), 0);
	ck_assert_uint_eq(timer_ns(), 0);
}
END_TEST

/* A program that sends to many postpones whether or not its yields run others. */
START_TEST(a_poll_postpones_the_end_of_a_step_back)
{
	struct schedule *schedule = &progress->schedule;

	progress_thread_stop(progress);
	for (int i = 0; i < 8; i++)
		schedule_sent_to(schedule, NULL);
	atomic_store(&schedule->background_due_ns, clock_now_ns());
	atomic_store(&schedule->postpone_by_ns, WAIT_NS);
	progress_poll(progress);
	ck_assert_uint_eq(timer_ns(), 0);
	atomic_store(&schedule->postpone_at_ns, 1);
	progress_poll(progress);
	ck_assert_uint_gt(timer_ns(), WAIT_NS / 2);
}
END_TEST

/* The thread sets the timer for each step back, of 2 ms at most. Once it has not for longer, it is
 * asleep. */
static bool sleeps_on(void)
{
	const uint64_t until_ns = clock_now_ns() + STEP_BACK_NS;

	while (clock_now_ns() < until_ns)
		sched_yield();
	return timer_ns() > WAIT_NS / 2;
}

START_TEST(a_step_back_lasts_as_long_as_its_timer)
{
	const uint64_t until_ns = clock_now_ns() + WAIT_NS;

	schedule_polled(&progress->schedule, until_ns, 0);
	for (int i = 0; i < 8; i++)
		(void)schedule_packet_arrived(&progress->schedule);
	progress_thread_wake(progress);
	do {
		ck_assert_uint_lt(clock_now_ns(), until_ns);
		progress_thread_postpone(progress, clock_now_ns() + WAIT_NS);
	} while (!sleeps_on());
	atomic_store(&progress->schedule.polled_at_ns, 0);
	progress_thread_postpone(progress, 1);
	ck_assert(becomes_watched(dev->attachment.rx_fd, true));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("background_watches");
	TCase *tcase = tcase_create("background_watches");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_thread_that_steps_back_again_does_not_watch);
	tcase_add_test(tcase, a_thread_watches_groups_once_one_is_joined);
	tcase_add_test(tcase, a_join_wakes_the_thread);
	tcase_add_test(tcase, a_thread_that_starts_measures_a_timer);
	tcase_add_test(tcase, a_poll_postpones_the_end_of_a_step_back);
	tcase_add_test(tcase, a_step_back_lasts_as_long_as_its_timer);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
