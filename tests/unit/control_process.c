// SPDX-License-Identifier: MIT
/* Processes that a signal, a tracer or the freezer of a cgroup has stopped. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/control/process.h"
#include "net/link/clock.h"
#include "tests/suite.h"

#define PATH_BYTES 512
#define BOUND_NS   60000000000ull

static pid_t child, second;

static void *wait_for_the_end(void *arg)
{
	const pid_t tid = (pid_t)syscall(SYS_gettid);

	if (write(*(int *)arg, &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	for (;;)
		pause();
}

/* A process with two threads. */
static void setup(void)
{
	pthread_t thread;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		if (pthread_create(&thread, NULL, wait_for_the_end, &fds[1]) != 0)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(read(fds[0], &second, sizeof(second)), sizeof(second));
	close(fds[0]);
	close(fds[1]);
}

static void teardown(void)
{
	if (child == 0)
		return;
	kill(child, SIGKILL);
	waitpid(child, NULL, __WALL);
	child = 0;
}

/* A change of state is visible in /proc some time after the call that causes it. */
static bool becomes(bool is_stopped)
{
	const uint64_t until_ns = clock_now_ns() + BOUND_NS;

	while (ctl_process_is_stopped(child) != is_stopped && clock_now_ns() < until_ns)
		sched_yield();
	return ctl_process_is_stopped(child) == is_stopped;
}

START_TEST(by_a_signal)
{
	ck_assert(!ctl_process_is_stopped(child));
	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	ck_assert(becomes(true));
	ck_assert_int_eq(kill(child, SIGCONT), 0);
	ck_assert(becomes(false));
}
END_TEST

static void trace(pid_t tid)
{
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	ck_assert_int_eq(waitpid(tid, NULL, __WALL), tid);
	ck_assert(ctl_process_is_stopped(child));
	ck_assert_int_eq(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
	ck_assert(becomes(false));
}

START_TEST(by_a_tracer)
{
	trace(child);
}
END_TEST

/* A debugger may let the first thread run. */
START_TEST(one_thread_by_a_tracer)
{
	trace(second);
}
END_TEST

static bool becomes_runnable(bool is_runnable)
{
	const uint64_t until_ns = clock_now_ns() + BOUND_NS;

	while (ctl_process_is_runnable(child) != is_runnable && clock_now_ns() < until_ns)
		sched_yield();
	return ctl_process_is_runnable(child) == is_runnable;
}

START_TEST(runnable)
{
	pid_t busy;

	ck_assert(becomes_runnable(false));
	busy = fork();
	if (busy == 0) {
		for (;;)
			atomic_signal_fence(memory_order_seq_cst);
	}
	ck_assert_int_gt(busy, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, __WALL);
	child = busy;
	ck_assert(becomes_runnable(true));
	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	ck_assert(becomes_runnable(false));
}
END_TEST

START_TEST(not_there)
{
	ck_assert(!ctl_process_is_stopped(0));
	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	ck_assert(becomes(true));
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert(becomes(false));
	ck_assert_int_eq(waitpid(child, NULL, __WALL), child);
	ck_assert(!ctl_process_is_stopped(child));
}
END_TEST

static bool put(const char *group, const char *file, const char *text)
{
	char path[PATH_BYTES];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

/* Says so and passes where no such group can be made. Nothing is asserted while the child is
 * frozen, because version 1 would keep it after the test. */
static void freeze(const char *root, const char *file, const char *freezes, const char *thaws)
{
	bool is_frozen, thawed, is_seen;
	char group[PATH_BYTES], pid[16];

	snprintf(group, sizeof(group), "%s/rxe_dm-unit-%d", root, (int)child);
	snprintf(pid, sizeof(pid), "%d", (int)child);
	if (mkdir(group, 0755) != 0 || !put(group, file, thaws)) {
		printf("skipped: %s: %s\n", group, strerror(errno));
		rmdir(group);
		return;
	}
	is_frozen = put(group, "cgroup.procs", pid) && put(group, file, freezes);
	is_seen = becomes(true);
	thawed = put(group, file, thaws) && becomes(false);
	teardown();
	while (rmdir(group) != 0)
		ck_assert_int_eq(errno, EBUSY);
	ck_assert(is_frozen);
	ck_assert(is_seen);
	ck_assert(thawed);
}

START_TEST(by_a_freezer)
{
	freeze("/sys/fs/cgroup", "cgroup.freeze", "1", "0");
}
END_TEST

START_TEST(by_a_freezer_beside_version_1)
{
	freeze("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0");
}
END_TEST

START_TEST(by_a_freezer_of_version_1)
{
	freeze("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		by_a_signal, by_a_tracer,  one_thread_by_a_tracer,	  runnable,
		not_there,   by_a_freezer, by_a_freezer_beside_version_1, by_a_freezer_of_version_1
	};
	Suite *suite = suite_create("control_process");
	TCase *tcase = tcase_create("stopped");

	tcase_set_timeout(tcase, 200);
	tcase_add_checked_fixture(tcase, setup, teardown);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
