/* SPDX-License-Identifier: MIT */
/* Memory links: a process that waits is woken, one that polls is not. */
#include <check.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/link/memory/private.h"
#include "tests/suite.h"
#include "tests/unit/memory_fixture.h"

START_TEST(polling_receiver_is_not_woken)
{
	make_train(A, B, 1, 60, 60);
	send_ok(a);
	expect_packets(b, 1);
	ck_assert(!link_wait_begins(b));
	link_wait_ended(b, is_readable(b));
	expect_packets(b, 0);
	send_ok(a);
	ck_assert(!is_readable(b));
	expect_packets(b, 1);
}
END_TEST

START_TEST(waiting_receiver_is_woken)
{
	make_train(A, B, 1, 60, 60);
	for (int i = 0; i < 3; i++) {
		ck_assert(!link_wait_begins(b));
		ck_assert(!is_readable(b));
		send_ok(a);
		ck_assert(is_readable(b));
		link_wait_ended(b, is_readable(b));
		expect_packets(b, 1);
		ck_assert(!is_readable(b));
	}
	send_ok(a);
	ck_assert(link_wait_begins(b));
	link_wait_ended(b, is_readable(b));
	expect_packets(b, 1);
}
END_TEST

/* A thread that polls must not take the wake-up of one that waits. */
START_TEST(every_waiter_is_woken)
{
	make_train(A, B, 1, 60, 60);
	ck_assert(!link_wait_begins(b));
	ck_assert(!link_wait_begins(b));
	send_ok(a);
	ck_assert(is_readable(b));
	link_wait_ended(b, is_readable(b));
	expect_packets(b, 1);
	ck_assert(is_readable(b));
	link_wait_ended(b, is_readable(b));
	expect_packets(b, 0);
	ck_assert(!is_readable(b));
}
END_TEST

/* A thread that polls takes the packet, and the one that was woken for it waits again. */
START_TEST(answered_doorbell_ends_no_later_wait)
{
	make_train(A, B, 1, 60, 60);
	ck_assert(!link_wait_begins(b));
	send_ok(a);
	expect_packets(b, 1);
	link_wait_ended(b, is_readable(b));
	ck_assert(!link_wait_begins(b));
	ck_assert(!is_readable(b));
	send_ok(a);
	ck_assert(is_readable(b));
	link_wait_ended(b, true);
	expect_packets(b, 1);
}
END_TEST

/* The first packet of a process that attached while the receiver waited. */
START_TEST(newcomer_wakes)
{
	struct link *c;

	expect_packets(b, 0);
	ck_assert(!link_wait_begins(b));
	c = open_slot(C);
	make_train(C, B, 1, 60, 60);
	send_ok(c);
	ck_assert(is_readable(b));
	link_wait_ended(b, is_readable(b));
	expect_packets(b, 1);
	link_close(c);
}
END_TEST

START_TEST(wakes_itself)
{
	make_train(A, B, 1, 60, 60);
	send_ok(a);
	ck_assert(link_wait_begins(b));
	ck_assert(!is_readable(b));
	memory_wake_self(b);
	ck_assert(is_readable(b));
	link_wait_ended(b, is_readable(b));
	expect_packets(b, 1);
	ck_assert(!is_readable(b));
}
END_TEST

/* Only exit_group(2), and reading the clock, which is none of its calls where the kernel has a
 * vDSO: anything else ends the process by SIGSYS. */
static void forbid_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(2);
}

#define EXCHANGES 5000

static void exchange(void)
{
	for (int i = 0; i < EXCHANGES; i++)
		if (link_send(a, &train, 1) != 1 || link_receive(b, got, 256) != 3 ||
		    link_receive(a, got, 256) != 0)
			_exit(3);
	/* Before _exit(2) the address sanitizer makes a call of its own. */
	(void)syscall(SYS_exit_group, 0);
}

/* Runs in a child, whose status is returned. */
static int run_without_calls(void)
{
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		forbid_calls();
		exchange();
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* The processes have met: the first packet has passed. */
static void meet(void)
{
	make_train(A, B, 3, 1000, 1000);
	send_ok(a);
	expect_packets(b, 3);
	expect_packets(a, 0);
}

START_TEST(polling_needs_no_system_call)
{
	int status;

	meet();
	status = run_without_calls();
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
}
END_TEST

START_TEST(waking_needs_one)
{
	int status;

	meet();
	ck_assert(!link_wait_begins(b));
	status = run_without_calls();
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status %#x", status);
	link_wait_ended(b, false);
}
END_TEST

/* Any user may send to an abstract name. */
START_TEST(doorbell_takes_the_cookie_only)
{
	const struct memory_doorbell *to = &hub.page->doorbell[B];
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + to->len);
	uint64_t cookie = hub.page->cookie;

	memcpy(addr.sun_path + 1, to->name, to->len);
	cookie++;
	for (size_t n = 0; n <= sizeof(cookie); n++)
		(void)sendto(fd, &cookie, n, 0, (struct sockaddr *)&addr, len);
	ck_assert(!is_readable(b));
	cookie--;
	ck_assert_int_eq(sendto(fd, &cookie, 8, 0, (struct sockaddr *)&addr, len), 8);
	ck_assert(is_readable(b));
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_wake");
	TCase *tests = tcase_create("memory_wake");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, polling_receiver_is_not_woken);
	tcase_add_test(tests, waiting_receiver_is_woken);
	tcase_add_test(tests, every_waiter_is_woken);
	tcase_add_test(tests, answered_doorbell_ends_no_later_wait);
	tcase_add_test(tests, newcomer_wakes);
	tcase_add_test(tests, wakes_itself);
	tcase_add_test(tests, polling_needs_no_system_call);
	tcase_add_test(tests, waking_needs_one);
	tcase_add_test(tests, doorbell_takes_the_cookie_only);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
