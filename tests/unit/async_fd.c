// SPDX-License-Identifier: MIT
/* async_fd: what makes it readable, and the flags that a program sets. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/verbs/async_fd.h"
#include "net/link/descriptor.h"
#include "tests/suite.h"

static struct vb_async_fd fd;

static void setup(void)
{
	ck_assert_int_eq(vb_async_fd_open(&fd), 0);
}

static void teardown(void)
{
	vb_async_fd_close(&fd);
}

static bool is_readable(void)
{
	struct pollfd poll_fd = { .fd = fd.set, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static void cancelled(void *arg)
{
	(void)arg;
}

static bool take(void)
{
	return vb_async_fd_wait(&fd, cancelled, NULL);
}

START_TEST(each_event_is_counted)
{
	ck_assert(!is_readable());
	vb_async_fd_signal(&fd);
	vb_async_fd_signal(&fd);
	ck_assert(is_readable() && take());
	ck_assert(is_readable() && take());
	ck_assert(!is_readable());
}
END_TEST

/* No event, as a socket in the same state reports. */
START_TEST(the_program_s_flags_hold)
{
	ck_assert_int_eq(fcntl(fd.set, F_SETFL, O_NONBLOCK), 0);
	ck_assert(!take());
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(fcntl(fd.set, F_SETFL, 0), 0);
	vb_async_fd_signal(&fd);
	ck_assert(take());
	ck_assert_int_eq(fcntl(fd.count, F_GETFL) & O_NONBLOCK, 0);
}
END_TEST

START_TEST(a_server_is_watched_for_a_while)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pair[0] = descriptor_keep(pair[0]);
	vb_async_fd_watch(&fd, pair[0], true);
	ck_assert(!is_readable());
	ck_assert_int_eq(send(pair[1], "x", 1, 0), 1);
	ck_assert(is_readable());
	vb_async_fd_watch(&fd, pair[0], false);
	ck_assert(!is_readable());
	/* Its end can be read as well. */
	vb_async_fd_watch(&fd, pair[0], true);
	ck_assert_int_eq(recv(pair[0], &(char){ 0 }, 1, 0), 1);
	ck_assert(!is_readable());
	close(pair[1]);
	ck_assert(is_readable());
	descriptor_close(pair[0]);
}
END_TEST

/* The numbers stay; what the parent has not read is not the child's. */
START_TEST(a_child_begins_with_no_event)
{
	int status;
	pid_t child;

	vb_async_fd_signal(&fd);
	child = fork();
	if (child == 0) {
		bool passed;

		vb_async_fd_forked(&fd);
		passed = !is_readable();
		vb_async_fd_signal(&fd);
		_exit(!(passed && is_readable() && take() && !is_readable()));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert(is_readable() && take() && !is_readable());
}
END_TEST

/* closefrom(3), and then a file of its own with the same number. */
START_TEST(a_program_that_closed_it_gets_ebadf)
{
	const int number = fd.set;

	vb_async_fd_signal(&fd);
	close(number);
	ck_assert(!take());
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(dup2(STDIN_FILENO, number), number);
	ck_assert(!take());
	ck_assert_int_eq(errno, EBADF);
	close(number);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("async_fd");
	TCase *tcase = tcase_create("async_fd");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_event_is_counted);
	tcase_add_test(tcase, the_program_s_flags_hold);
	tcase_add_test(tcase, a_server_is_watched_for_a_while);
	tcase_add_test(tcase, a_child_begins_with_no_event);
	tcase_add_test(tcase, a_program_that_closed_it_gets_ebadf);
	return suite_run(suite);
}
