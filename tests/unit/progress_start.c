// SPDX-License-Identifier: MIT
/* The engine's start and its end, with the background thread, over a real link, in a process
 * without a server. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_fixture.h"
#include "emu/supported.h"
#include "lib/control/client.h"
#include "lib/control/wakeup.h"
#include "lib/progress/progress.h"
#include "lib/progress/unkind.h"
#include "net/link/capture/tail.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "tests/suite.h"

#define SLOT	  3u
#define WAIT_NS	  20000000000ull
#define NO_WAIT	  INT_MIN
#define SECOND_MS 1000

static struct vb_device *dev;
static struct progress *progress;
static uint32_t num_looks; /* times that the owner was asked to read an event of the server */
static bool server_ends;   /* with the next event */

/* The timeout of the last wait that was not a look. */
static _Atomic int waited_ms;

int epoll_wait(int fd, struct epoll_event *ret, int max, int timeout)
{
	if (timeout != 0)
		atomic_store(&waited_ms, timeout);
	return epoll_pwait(fd, ret, max, timeout, NULL);
}

static bool server_event_ready(struct progress *of)
{
	ck_assert_ptr_eq(of, progress);
	num_looks++;
	ck_assert_int_eq(eventfd_read(of->attachment->event_fd, &(eventfd_t){ 0 }), 0);
	return !server_ends;
}

static void setup(void)
{
	static const struct progress_owner owner = { .server_event_ready = server_event_ready };

	dev = device_new_on_udp(SLOT, &owner);
	progress = &dev->progress;
	num_looks = 0;
	server_ends = false;
	atomic_store(&waited_ms, NO_WAIT);
}

static void teardown(void)
{
	device_free_on_udp(dev);
}

static struct ctl_slot *own_slot(void)
{
	return &dev->attachment.shared->slot[SLOT];
}

static uint32_t open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* The background thread may hold the engine meanwhile, and runs it then. */
static bool is_seen_to_run(void)
{
	const uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (!own_slot()->presence.at_ns && clock_now_ns() < until_ns)
		ck_assert_uint_gt(progress_poll_once(progress), 0);
	return own_slot()->presence.at_ns != 0;
}

static void start_thread(void)
{
	ck_assert(progress_lock(progress));
	ck_assert_int_eq(progress_thread_start(progress), 0);
	ck_assert(progress->has_thread);
	progress_unlock(progress);
}

/* Peers read in the slot when the process last ran. Requests and events come from the first moment
 * on, and a stop leaves nothing open: the process may attach again. */
START_TEST(a_device_starts_again_after_its_end)
{
	const uint32_t before = open_descriptors();

	progress_stop(progress);
	for (uint32_t i = 1; i <= 3; i++) {
		own_slot()->presence.at_ns = 0;
		ck_assert_int_eq(progress_start(progress), 0);
		ck_assert(progress->engine && !progress->has_thread);
		/* One device of these never gets a thread. */
		if (i != 2)
			start_thread();
		ck_assert(!atomic_load(&progress->is_changing));
		ck_assert_uint_ne(own_slot()->doorbell[0], 0);
		ck_assert(is_seen_to_run());
		progress_stop(progress);
		ck_assert(!progress->engine && !progress->has_thread);
		ck_assert(!progress->tx_mem && !progress->held);
		ck_assert(!atomic_load(&progress->is_changing));
		ck_assert_int_eq(progress->remote_requests.doorbell_fd, -1);
		ck_assert_uint_eq(open_descriptors(), before);
	}
	ck_assert_uint_eq(progress_poll_once(progress), 0);
	ck_assert(!progress_lock(progress));
}
END_TEST

/* The program has closed the socket that the server sent. */
START_TEST(a_start_that_fails_leaves_nothing_open)
{
	const uint32_t before = open_descriptors();
	const int rx_fd = dev->attachment.rx_fd;

	dev->attachment.rx_fd = -1;
	ck_assert_int_eq(progress_start(progress), -EBADF);
	ck_assert_uint_eq(open_descriptors(), before);
	ck_assert_ptr_null(progress->engine);
	ck_assert_ptr_null(progress->tx_mem);
	ck_assert(!progress->has_thread && !atomic_load(&progress->is_changing));
	dev->attachment.rx_fd = rx_fd;
}
END_TEST

/* Each check has a number, the exit status. descriptors 0: any number may be open. */
static int look_as_child(uint32_t descriptors)
{
	progress_drop_in_child(progress);
	if (progress->engine || progress->tx_mem || progress->held)
		return 1;
	if (progress->has_thread || progress->all_fd != -1 || progress->events_fd != -1)
		return 2;
	if (RXE_PERSISTENCE_SUPPORTED && progress->persist.has_thread)
		return 3;
	if (progress->remote_requests.doorbell_fd != -1 ||
	    (descriptors && open_descriptors() != descriptors))
		return 4;
	if (pthread_mutex_trylock(&progress->lock) != 0)
		return 5;
	pthread_mutex_unlock(&progress->lock);
	if (progress_start(progress) != 0)
		return 6;
	progress_stop(progress);
	return sched_getscheduler(0) == SCHED_OTHER ? 0 : 7;
}

/* fork() while a thread of the parent runs the engine, and another one makes memory persistent. The
 * child may use the device itself; the parent goes on. */
START_TEST(a_child_begins_without_the_parent_s_device)
{
	const uint32_t before = open_descriptors();
	int status;
	pid_t child;

	ck_assert_int_eq(progress_start(progress), 0);
	start_thread();
	progress->persist.has_thread = true;
	progress_threads_await_start();
	ctl_wakeup_defer();
	pthread_mutex_lock(&progress->lock);
	child = fork();
	if (child == 0)
		_exit(look_as_child(before));
	pthread_mutex_unlock(&progress->lock);
	ck_assert_int_eq(sched_getscheduler(0), SCHED_BATCH);
	ctl_wakeup_restore();
	progress->persist.has_thread = false;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_gt(progress_poll_once(progress), 0);
	progress_stop(progress);
}
END_TEST

/* All that it has sent; its end comes last, and once. */
START_TEST(what_the_server_has_sent_is_read)
{
	ck_assert_int_eq(progress_start(progress), 0);
	progress_read_server(progress);
	ck_assert_uint_eq(num_looks, 0);
	ck_assert_int_eq(eventfd_write(dev->attachment.event_fd, 3), 0);
	progress_read_server(progress);
	ck_assert_uint_eq(num_looks, 3);
	server_ends = true;
	ck_assert_int_eq(eventfd_write(dev->attachment.event_fd, 2), 0);
	progress_read_server(progress);
	ck_assert_uint_eq(num_looks, 4);
	/* The thread does not look for more either. */
	start_thread();
	ck_assert(is_seen_to_run());
	progress_stop(progress);
	ck_assert_uint_eq(num_looks, 4);
}
END_TEST

/* It signals no thread, and closes no descriptor. */
START_TEST(a_stop_without_a_thread_does_nothing)
{
	eventfd_t count;

	progress->wake_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	progress->all_fd = progress->wake_fd;
	progress_thread_stop(progress);
	ck_assert(descriptor_is_kept(progress->wake_fd));
	ck_assert_int_eq(eventfd_read(progress->wake_fd, &count), -1);
	descriptor_close(progress->wake_fd);
}
END_TEST

/* RXE_DM_WORST. Without a plan, or with one that is none, the device is kind. */
START_TEST(an_unkind_device_is_as_asked_for)
{
	static const struct {
		const char *plan;
		bool fills_dm, fills_receives;
	} rows[] = {
		{ NULL, false, false },	  { "", false, false },
		{ "none", false, false }, { "fill_dm", false, false },
		{ "7", true, false },	  { "7,fill_receives", false, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsetenv("RXE_DM_WORST");
		if (rows[i].plan)
			setenv("RXE_DM_WORST", rows[i].plan, 1);
		ck_assert_int_eq(progress_unkind_asked(UNKIND_FILL_DM), rows[i].fills_dm);
		ck_assert_int_eq(progress_unkind_asked(UNKIND_FILL_RECEIVES),
				 rows[i].fills_receives);
	}
	unsetenv("RXE_DM_WORST");
}
END_TEST

/* A thread that holds the lock when the program calls exit() may never release it. */
START_TEST(an_exit_waits_for_no_thread)
{
	ck_assert_int_eq(progress_start(progress), 0);
	start_thread();
	pthread_mutex_lock(&progress->lock);
	progress_exit(progress);
	pthread_mutex_unlock(&progress->lock);
	progress_exit(progress);
	/* The background thread may hold it for a moment; no thread keeps it. */
	pthread_mutex_lock(&progress->lock);
	pthread_mutex_unlock(&progress->lock);
	progress_stop(progress);
	progress_exit(progress);
	ck_assert(!progress_is_locked(progress));
}
END_TEST

static void refuse_pwait2(uint32_t error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = 4, .filter = filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Linux before 5.11, valgrind, or a filter: the thread waits for milliseconds. Nothing is due: it
 * looks after its descriptors each second. */
START_TEST(the_background_thread_waits_without_epoll_pwait2)
{
	static const uint32_t errors[] = { ENOSYS, EPERM };
	const uint64_t until_ns = clock_now_ns() + WAIT_NS;

	refuse_pwait2(errors[_i]);
	ck_assert_int_eq(progress_start(progress), 0);
	start_thread();
	while (atomic_load(&waited_ms) == NO_WAIT && clock_now_ns() < until_ns)
		sched_yield();
	ck_assert_int_eq(atomic_load(&waited_ms), SECOND_MS);
	progress_stop(progress);
}
END_TEST

/* fork() while another thread closes the device: that thread has freed the tail, and nothing else
 * yet. */
START_TEST(a_child_leaves_what_was_half_done)
{
	int status;
	pid_t child;

	ck_assert_int_eq(progress_start(progress), 0);
	start_thread();
	progress_threads_await_start();
	child = fork();
	if (child == 0) {
		tail_close(progress->link.tail);
		atomic_store(&progress->is_changing, true);
		_exit(look_as_child(0));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	progress_stop(progress);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("progress_start");
	TCase *tcase = tcase_create("progress_start");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_device_starts_again_after_its_end);
	tcase_add_test(tcase, a_start_that_fails_leaves_nothing_open);
	tcase_add_test(tcase, a_child_leaves_what_was_half_done);
	tcase_add_test(tcase, a_child_begins_without_the_parent_s_device);
	tcase_add_test(tcase, what_the_server_has_sent_is_read);
	tcase_add_test(tcase, a_stop_without_a_thread_does_nothing);
	tcase_add_test(tcase, an_unkind_device_is_as_asked_for);
	tcase_add_test(tcase, an_exit_waits_for_no_thread);
	tcase_add_loop_test(tcase, the_background_thread_waits_without_epoll_pwait2, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
