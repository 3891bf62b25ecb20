/* SPDX-License-Identifier: MIT */
/* Turns of the engine, and what a poll does before and after one: over a link that the test plays,
 * in a process without a server. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_fixture.h"
#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/heap.h"
#include "emu/supported.h"
#include "lib/control/client.h"
#include "lib/control/log.h"
#include "lib/progress/link.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "net/link/ethernet/raw_port.h"
#include "net/link/link.h"
#include "tests/suite.h"
#include "tests/unit/attributes.h"
#include "tests/unit/private_network.h"
#include "tests/unit/thread_named.h"

#define SLOT  3u
#define MS_NS 1000000ull

static struct vb_device *dev;
static struct progress *progress;
static uint32_t num_closed; /* times that the owner was told of closed descriptors */

/* The link, and how often each of its operations was called. */
static struct link phy;
static uint32_t arriving, checks, ended_readable, ended_quiet;
static _Atomic uint32_t receives, waits;
static struct rxe_cq cq;
static _Atomic uint32_t polls;
static bool has_work, first_readable;
static int complete_error;
static uint32_t num_lines; /* the log has this many lines */

static void count_line(enum ctl_log_level level, const char *line)
{
	(void)level, (void)line;
	num_lines++;
}

static int phy_send(struct link *link, const struct wire_train *trains, size_t n)
{
	(void)link, (void)trains;
	return (int)n;
}

static int phy_receive(struct link *link, struct wire_arrival *ret, size_t max)
{
	static const uint8_t noise[4];
	eventfd_t ignored;

	(void)link;
	ck_assert_uint_gt(max, 0);
	eventfd_read(phy.wait_fd, &ignored);
	atomic_fetch_add(&receives, 1);
	if (arriving == 0)
		return 0;
	arriving--;
	*ret = (struct wire_arrival){ .p = noise, .len = sizeof(noise) };
	return 1;
}

static bool phy_wait_begins(struct link *link)
{
	(void)link;
	atomic_fetch_add(&waits, 1);
	return has_work;
}

static void phy_wait_ended(struct link *link, bool readable)
{
	(void)link;
	if (ended_readable + ended_quiet == 0)
		first_readable = readable;
	ended_readable += readable;
	ended_quiet += !readable;
}

static int phy_complete_arrivals(struct link *link, bool on)
{
	(void)link, (void)on;
	return complete_error;
}

static bool phy_has_descriptors(const struct link *link)
{
	(void)link;
	checks++;
	return true;
}

static const struct link_ops phy_ops = {
	.send = phy_send,
	.receive = phy_receive,
	.wait_begins = phy_wait_begins,
	.wait_ended = phy_wait_ended,
	.complete_arrivals = phy_complete_arrivals,
	.has_descriptors = phy_has_descriptors,
};

static void descriptors_closed(struct progress *of)
{
	ck_assert_ptr_eq(of, progress);
	num_closed++;
}

static const struct progress_owner owner = { .descriptors_closed = descriptors_closed };

static void init_engine(void)
{
	ck_assert(progress_lock(progress));
	host_init_engine(progress);
	pthread_mutex_unlock(&progress->lock);
}

static void setup(void)
{
	dev = device_new(SLOT);
	progress = &dev->progress;
	progress->owner = &owner;
	progress->random_state = 1;
	dev->info.max_mtu = 4096;
	phy = (struct link){ .ops = &phy_ops, .wait_fd = eventfd(0, EFD_NONBLOCK), .max_segs = 1 };
	arriving = checks = ended_readable = ended_quiet = num_closed = 0;
	atomic_store(&receives, 0);
	atomic_store(&waits, 0);
	has_work = false;
	complete_error = 0;
	num_lines = 0;
	ctl_log_to(count_line);
	progress->link.phy = &phy;
	progress->tx_mem = calloc(PROGRESS_TRAINS, 65536);
	ck_assert_ptr_nonnull(progress->tx_mem);
	faults_open(&progress->link.faults, progress);
	device_link_stack(&progress->link);
	remote_open(progress);
	progress->wake_fd = descriptor_keep(eventfd(0, EFD_NONBLOCK));
	progress->timer_fd = -1;
	dev->attachment.event_fd = descriptor_keep(eventfd(0, EFD_NONBLOCK));
	init_engine();
}

static void teardown(void)
{
	descriptor_close(dev->attachment.event_fd);
	descriptor_close(progress->wake_fd);
	remote_close(progress);
	faults_close(&progress->link.faults);
	free(progress->tx_mem);
	close(phy.wait_fd);
	device_free(dev);
}

/* Without memory for copies a capture has packets without their ICRCs, and the log says so. */
START_TEST(no_memory_for_complete_arrivals)
{
	device_link_stack(&progress->link);
	ck_assert_uint_eq(num_lines, 0);
	complete_error = -ENOMEM;
	device_link_stack(&progress->link);
	ck_assert_uint_eq(num_lines, 1);
}
END_TEST

static void transmit_at(uint64_t now_ns)
{
	ck_assert(progress_lock(progress));
	progress_transmit(progress, now_ns);
	pthread_mutex_unlock(&progress->lock);
}

START_TEST(descriptors_are_checked_each_10_ms)
{
	const uint64_t now_ns = clock_now_ns();

	transmit_at(now_ns);
	ck_assert_uint_eq(checks, 1);
	transmit_at(now_ns + 10 * MS_NS - 1);
	ck_assert_uint_eq(checks, 1);
	transmit_at(now_ns + 10 * MS_NS);
	ck_assert_uint_eq(checks, 2);
	ck_assert_uint_eq(num_closed, 0);
}
END_TEST

/* A poll that finds a packet. Returns when the engine is due. */
static uint64_t receive_one(void)
{
	arriving = 1;
	arrivals_look(progress);
	return progress_poll_once(progress);
}

/* A daemon calls closefrom(3): the device is dead from then on, and its owner learns it once. */
START_TEST(closed_descriptors_are_reported_once)
{
	const uint64_t now_ns = clock_now_ns() - 10 * MS_NS;

	descriptor_close(progress->wake_fd);
	for (uint32_t i = 0; i < 3; i++)
		transmit_at(now_ns + i * MS_NS);
	ck_assert_uint_eq(num_closed, 1);
	ck_assert(atomic_load(&progress->is_missing_descriptors));
	receive_one();
	ck_assert_uint_eq(receives, 0);
}
END_TEST

/* The datagram does not arrive: a later poll reads once. */
START_TEST(an_announced_datagram_is_read_for_at_once)
{
	_Atomic uint32_t *announced =
		&dev->attachment.shared->remote_requests.announced[SLOT].datagrams;

	atomic_fetch_add(announced, 1);
	progress_poll_once(progress);
	ck_assert_uint_gt(receives, 8);
	atomic_store(&receives, 0);
	progress_poll_once(progress);
	ck_assert_uint_eq(receives, 1);
}
END_TEST

/* No process has announced the packets, and the socket is not due to be looked at. */
START_TEST(a_dry_run_leaves_nothing_in_the_socket)
{
	arriving = 5;
	progress->arrivals.look_ns = UINT64_MAX;
	ck_assert_uint_gt(progress_poll_once(progress), 0);
	ck_assert_uint_eq(arriving, 5);
	ck_assert(progress_lock(progress));
	progress_run_dry(progress);
	pthread_mutex_unlock(&progress->lock);
	ck_assert_uint_eq(arriving, 0);
}
END_TEST

/* The unit of the schedule changes while nothing but the program's polls runs the engine. */
START_TEST(a_poll_lets_the_engine_hold_acks_for_as_long_as_pays)
{
	struct schedule *schedule = &progress->schedule;

	progress->engine->cfg.ack_delay_ns = schedule_ack_hold_ns(schedule, clock_now_ns());
	for (int i = 0; i < 16; i++)
		schedule_call_measured(schedule, 3000);
	receive_one();
	ck_assert_uint_eq(progress->engine->cfg.ack_delay_ns,
			  schedule_ack_hold_ns(schedule, clock_now_ns()));
	ck_assert_uint_eq(progress_timers(progress).ack_hold_ns,
			  progress->engine->cfg.ack_delay_ns);
}
END_TEST

START_TEST(a_server_of_many_holds_many_acks)
{
	static const struct presence peers[2];
	struct schedule *schedule = &progress->schedule;

	progress->engine->cfg.ack_delay_ns = schedule_ack_hold_ns(schedule, clock_now_ns());
	receive_one();
	ck_assert(!progress->engine->delayed_acks.are_many);
	for (int i = 0; i < 4; i++)
		schedule_sent_to(schedule, &peers[i % 2]);
	receive_one();
	ck_assert(progress->engine->delayed_acks.are_many);
	ck_assert_uint_eq(progress->engine->cfg.ack_delay_ns,
			  schedule_ack_hold_ns(schedule, clock_now_ns()));
	schedule_sent_to(schedule, NULL);
}
END_TEST

/* It does not even learn the time. What waits to be done is done by the next one. */
START_TEST(a_poll_with_nothing_to_do_leaves_the_engine_alone)
{
	const struct rxe_engine *engine = progress->engine;
	struct ctl_remote_requests *requests = &dev->attachment.shared->remote_requests;
	struct heap_entry timer;
	uint64_t was_ns;

	receive_one();
	was_ns = engine->now_ns;
	progress_poll_once(progress);
	ck_assert_uint_eq(engine->now_ns, was_ns);
	heap_entry_init(&timer);
	heap_set(&progress->engine->timers, &timer, was_ns + 1);
	ck_assert(progress_lock(progress));
	ck_assert_int_eq(progress_run(progress, was_ns), PROGRESS_IDLE);
	heap_set(&progress->engine->timers, &timer, RXE_NEVER);
	atomic_store(&requests->pending[SLOT].from[0], 1);
	ck_assert_int_eq(progress_run(progress, was_ns), PROGRESS_RAN);
	ck_assert_uint_eq(atomic_load(&requests->pending[SLOT].from[0]), 0);
	ck_assert_int_eq(progress_run(progress, was_ns), PROGRESS_IDLE);
	pthread_mutex_unlock(&progress->lock);
}
END_TEST

START_TEST(a_poll_returns_when_the_engine_is_due)
{
	const uint64_t due_ns = clock_now_ns() + 3600 * 1000 * MS_NS;
	struct heap_entry timer;

	ck_assert_uint_eq(progress_poll_once(progress), RXE_NEVER);
	heap_entry_init(&timer);
	heap_set(&progress->engine->timers, &timer, due_ns);
	ck_assert_uint_eq(progress_poll_once(progress), due_ns);
	ck_assert_uint_eq(receive_one(), 0);
	heap_set(&progress->engine->timers, &timer, RXE_NEVER);
}
END_TEST

/* The background thread steps back for a program that will poll again, and for no other. */
START_TEST(a_program_that_expects_more_stays_a_poller)
{
	const struct schedule_timers none = { .engine_ns = RXE_NEVER, .link_ns = RXE_NEVER };

	schedule_engine_released(&progress->schedule, clock_now_ns(), &none, true);
	progress_polled_found(progress, false);
	ck_assert_uint_gt(atomic_load(&progress->schedule.polled_at_ns), MS_NS);
	schedule_engine_released(&progress->schedule, clock_now_ns(), &none, false);
	progress_polled_found(progress, false);
	ck_assert_uint_lt(atomic_load(&progress->schedule.polled_at_ns), MS_NS);
}
END_TEST

/* It shares a processor with a busy loop, so that its yields take time slices. */
START_TEST(a_poller_that_paid_has_a_short_slice)
{
	const struct schedule_timers none = { .engine_ns = RXE_NEVER, .link_ns = RXE_NEVER };
	const uint64_t own_ns = attributes_now().slice_ns;
	const pid_t parent = getpid();
	cpu_set_t here;
	pid_t loop;

	if (own_ns == 0)
		return;
	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(here), &here), 0);
	loop = fork();
	while (loop == 0 && getppid() == parent)
		;
	if (loop == 0)
		_exit(0);
	while (attributes_now().slice_ns == own_ns)
		progress_poll_cq(progress, &cq, &polls);
	ck_assert_uint_eq(attributes_now().slice_ns, SHORT_NS);
	schedule_engine_released(&progress->schedule, clock_now_ns(), &none, true);
	progress_polled_found(progress, false);
	ck_assert_uint_eq(attributes_now().slice_ns, SHORT_NS);
	schedule_engine_released(&progress->schedule, clock_now_ns(), &none, false);
	progress_polled_found(progress, false);
	ck_assert_uint_eq(attributes_now().slice_ns, own_ns);
	kill(loop, SIGKILL);
	waitpid(loop, NULL, 0);
}
END_TEST

/* The last poll found nothing. */
static void found_nothing(void)
{
	const struct schedule_decision before = { .action = SCHEDULE_NOTHING };

	schedule_polled(&progress->schedule, clock_now_ns(), 0);
	schedule_looked(&progress->schedule, &before, 0, RXE_NEVER);
}

/* Polls on a machine where a yield lasts for 10 ms, and sleeps. */
static void sleep_as_poller(void)
{
	const struct schedule_decision yielded = { .action = SCHEDULE_YIELD };
	const uint64_t now_ns = clock_now_ns();

	found_nothing();
	schedule_yield_returned(&progress->schedule, &yielded, now_ns - 10 * MS_NS, now_ns);
	progress_poll_cq(progress, &cq, &polls);
	ck_assert_uint_eq(atomic_load(&progress->schedule.sleepers), 0);
}

static bool socket_is_asked(void)
{
	return arrivals_are_expected(progress, 0);
}

static void quiet_socket(void)
{
	arrivals_received(progress, NULL, 0, false, 0);
	progress->arrivals.look_ns = RXE_NEVER;
	ck_assert(!socket_is_asked());
}

START_TEST(a_poller_sleeps_until_its_time_is_over)
{
	quiet_socket();
	sleep_as_poller();
	ck_assert_uint_eq(waits, 1);
	ck_assert_uint_eq(ended_quiet, 1);
	ck_assert_uint_eq(ended_readable, 0);
	ck_assert_uint_eq(receives, 0);
}
END_TEST

/* The poll asks the socket although no process has announced a packet. */
START_TEST(a_packet_wakes_a_poller)
{
	quiet_socket();
	ck_assert_int_eq(eventfd_write(phy.wait_fd, 1), 0);
	sleep_as_poller();
	ck_assert_uint_eq(waits, 1);
	ck_assert_uint_eq(ended_quiet, 0);
	ck_assert_uint_eq(ended_readable, 1);
	ck_assert_uint_eq(receives, 1);
}
END_TEST

START_TEST(a_link_with_work_lets_no_poller_sleep)
{
	quiet_socket();
	has_work = true;
	sleep_as_poller();
	ck_assert_uint_eq(ended_quiet, 0);
	ck_assert_uint_eq(ended_readable, 1);
	ck_assert_uint_eq(receives, 1);
}
END_TEST

/* The background thread took the packet between the poll and the sleep. */
START_TEST(a_completion_that_has_come_lets_no_poller_sleep)
{
	ck_assert_int_eq(eventfd_write(phy.wait_fd, 1), 0);
	atomic_store(&cq.visible, 1);
	sleep_as_poller();
	ck_assert_uint_eq(ended_readable, 0);
	atomic_store(&cq.visible, 0);
	sleep_as_poller();
	ck_assert_uint_eq(ended_readable, 1);
}
END_TEST

/* The schedule's unit of time is measured beside the first yield. */
START_TEST(a_poller_that_yields_measures_a_system_call)
{
	found_nothing();
	ck_assert_uint_eq(atomic_load(&progress->schedule.cost.ns), 0);
	progress_poll_cq(progress, &cq, &polls);
	ck_assert_uint_ne(atomic_load(&progress->schedule.cost.ns), 0);
}
END_TEST

/* A device on an interface: a poll that found no frame may yield or sleep. */
START_TEST(a_raw_port_without_frames_is_no_arrival)
{
	uint8_t frame[60] = { [12] = 0x88, [13] = 0xb5 };
	const struct wire_train train = {
		.buf = frame,
		.len = sizeof(frame),
		.seg_len = sizeof(frame),
		.segs = 1,
		.bare = true,
	};
	struct device_link *link = &progress->link;
	const uint64_t until_ns = clock_now_ns() + 20000 * MS_NS;
	uint64_t errors = 0;
	struct raw_port *sender;

	/* In one block: a build without raw packets has none of these functions. */
	if (RXE_RAW_SUPPORTED && private_network() && raw_port_may_open() == 0) {
		bool arrived = false;

		dev->info.link = CTL_LINK_ETHERNET;
		init_engine();
		ck_assert_int_eq(raw_port_open(&link->raw_port, "lo"), 0);
		ck_assert_int_eq(raw_port_open(&sender, "lo"), 0);
		ck_assert(!device_link_receive_raw(link, clock_now_ns()));
		ck_assert_int_eq(raw_port_send(sender, &train, &errors), 0);
		while (!arrived && clock_now_ns() < until_ns)
			arrived = device_link_receive_raw(link, clock_now_ns());
		ck_assert(arrived);
		raw_port_close(sender);
		raw_port_close(link->raw_port);
		link->raw_port = NULL;
	}
}
END_TEST

static void start_thread(void)
{
	ck_assert(progress_lock(progress));
	progress->arrivals.look_ns = UINT64_MAX;
	ck_assert_int_eq(progress_thread_start(progress), 0);
	pthread_mutex_unlock(&progress->lock);
}

/* Waits until the counter is at least this high. */
static bool reaches(const _Atomic uint32_t *counter, uint32_t value)
{
	const uint64_t until_ns = clock_now_ns() + 20000 * MS_NS;

	while (atomic_load(counter) < value && clock_now_ns() < until_ns)
		sched_yield();
	return atomic_load(counter) >= value;
}

/* As a poller: the socket is asked although no process has announced a packet. */
START_TEST(a_packet_wakes_the_background_thread)
{
	start_thread();
	ck_assert(reaches(&waits, 1));
	ck_assert_int_eq(eventfd_write(phy.wait_fd, 1), 0);
	ck_assert(reaches(&receives, 1));
	progress_thread_stop(progress);
}
END_TEST

/* The program polled until lately: the thread steps back, and looks at the link when no poll
 * followed. It waits on the link afterwards. */
START_TEST(after_a_step_back_the_link_is_looked_at)
{
	const bool readable = _i;

	schedule_polled(&progress->schedule, clock_now_ns() + 50 * MS_NS, 0);
	for (int i = 0; i < 8; i++)
		(void)schedule_packet_arrived(&progress->schedule);
	if (readable)
		ck_assert_int_eq(eventfd_write(phy.wait_fd, 1), 0);
	start_thread();
	ck_assert(reaches(&waits, 2));
	progress_thread_stop(progress);
	ck_assert_int_eq(first_readable, readable);
}
END_TEST

/* Its timers are exact to 1 ns, where others may be 50 us late. Needs CAP_SYS_NICE to see that. */
START_TEST(the_background_thread_has_exact_timers)
{
	unsigned long slack_ns = 1;
	char path[64];
	FILE *file;

	start_thread();
	ck_assert(reaches(&waits, 1));
	ck_assert_int_ne(thread_named("rxe_dm"), 0);
	snprintf(path, sizeof(path), "/proc/%d/timerslack_ns", thread_named("rxe_dm"));
	file = fopen(path, "re");
	if (file && fscanf(file, "%lu", &slack_ns) == 1)
		ck_assert_uint_eq(slack_ns, 1);
	if (file)
		fclose(file);
	progress_thread_stop(progress);
}
END_TEST

/* The program's signals go to its own threads; faults are those of the thread that makes them. */
START_TEST(the_background_thread_blocks_signals)
{
	static const int blocked[] = { SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGUSR2 };
	unsigned long long mask = 0;
	char path[64], line[128];
	FILE *file;

	start_thread();
	ck_assert(reaches(&waits, 1));
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread_named("rxe_dm"));
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (!mask && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "SigBlk:", 7) == 0)
			mask = strtoull(line + 7, NULL, 16);
	}
	fclose(file);
	for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++)
		ck_assert_msg(mask & 1ull << (blocked[i] - 1), "signal %d", blocked[i]);
	ck_assert(!(mask & (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1))));
	progress_thread_stop(progress);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { no_memory_for_complete_arrivals,
				       descriptors_are_checked_each_10_ms,
				       closed_descriptors_are_reported_once,
				       an_announced_datagram_is_read_for_at_once,
				       a_dry_run_leaves_nothing_in_the_socket,
				       a_poll_lets_the_engine_hold_acks_for_as_long_as_pays,
				       a_server_of_many_holds_many_acks,
				       a_poll_with_nothing_to_do_leaves_the_engine_alone,
				       a_poll_returns_when_the_engine_is_due,
				       a_program_that_expects_more_stays_a_poller,
				       a_poller_that_paid_has_a_short_slice,
				       a_poller_sleeps_until_its_time_is_over,
				       a_packet_wakes_a_poller,
				       a_link_with_work_lets_no_poller_sleep,
				       a_completion_that_has_come_lets_no_poller_sleep,
				       a_poller_that_yields_measures_a_system_call,
				       a_raw_port_without_frames_is_no_arrival,
				       a_packet_wakes_the_background_thread,
				       the_background_thread_has_exact_timers,
				       the_background_thread_blocks_signals };
	Suite *suite = suite_create("progress");
	TCase *tcase = tcase_create("progress");

	tcase_add_checked_fixture(tcase, setup, teardown);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	tcase_add_loop_test(tcase, after_a_step_back_the_link_is_looked_at, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
