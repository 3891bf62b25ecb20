// SPDX-License-Identifier: MIT
/* The control socket: whole messages, descriptors that never leak, names that fit. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/control/socket.h"
#include "tests/suite.h"

static int pair[2];

static void setup(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void teardown(void)
{
	close(pair[0]);
	close(pair[1]);
}

static int lowest_free_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

START_TEST(message_with_descriptors)
{
	int out[2] = { pair[0], pair[1] }, in[CTL_MAX_FDS];
	char got[8];
	size_t num;

	ck_assert_int_eq(ctl_send(pair[0], "hello", 5, out, 2, 0), 0);
	ck_assert_int_eq(ctl_recv(pair[1], got, sizeof(got), in, CTL_MAX_FDS, &num, 0), 5);
	ck_assert_uint_eq(num, 2);
	for (size_t i = 0; i < num; i++)
		ck_assert_int_eq(fcntl(in[i], F_GETFD), FD_CLOEXEC);
	ctl_close_fds(in, num);
}
END_TEST

START_TEST(unwanted_descriptors_are_closed)
{
	int out[CTL_MAX_FDS] = { pair[0], pair[0], pair[1], pair[1] }, in[1];
	int free_before = lowest_free_fd();
	char got[2];
	size_t num;

	ck_assert_int_eq(ctl_send(pair[0], "hi", 2, out, CTL_MAX_FDS, 0), 0);
	ck_assert_int_eq(ctl_recv(pair[1], got, sizeof(got), NULL, 0, NULL, 0), 2);
	ck_assert_int_eq(lowest_free_fd(), free_before);

	ck_assert_int_eq(ctl_send(pair[0], "hi", 2, out, CTL_MAX_FDS, 0), 0);
	ck_assert_int_eq(ctl_recv(pair[1], got, sizeof(got), in, 1, &num, 0), 2);
	ck_assert_uint_eq(num, 1);
	close(in[0]);
	ck_assert_int_eq(lowest_free_fd(), free_before);
}
END_TEST

START_TEST(too_long_is_refused_whole)
{
	int out[1] = { pair[0] }, in[1], free_before = lowest_free_fd();
	char got[4];
	size_t num = 7;

	ck_assert_int_eq(ctl_send(pair[0], "too long", 8, out, 1, 0), 0);
	ck_assert_int_eq(ctl_recv(pair[1], got, sizeof(got), in, 1, &num, 0), -EMSGSIZE);
	ck_assert_int_eq(lowest_free_fd(), free_before);
	ck_assert_uint_eq(num, 0);
}
END_TEST

START_TEST(the_other_side_has_closed)
{
	char got[4];

	close(pair[1]);
	ck_assert_int_eq(ctl_send(pair[0], "x", 1, NULL, 0, 0), -EPIPE); /* and no SIGPIPE */
	ck_assert_int_eq(ctl_recv(pair[0], got, sizeof(got), NULL, 0, NULL, 0), 0);
	pair[1] = dup(pair[0]);
}
END_TEST

START_TEST(names_fit)
{
	struct ctl_name name;

	ctl_name_cmd(&name, UINT32_MAX, "12345678901234567890123456789012", 15, UINT32_MAX,
		     UINT64_MAX);
	ck_assert_uint_le(name.len, sizeof(name.addr));
	ck_assert_str_eq(name.addr.sun_path + 1,
			 "rxe_dm/4294967295/12345678901234567890123456789012"
			 "/cmd/f.ffffffff.ffffffffffffffff");
	ctl_name_server(&name, 1000, "default");
	ck_assert_int_eq(name.addr.sun_path[0], '\0');
	ck_assert_str_eq(name.addr.sun_path + 1, "rxe_dm/1000/default");
	ck_assert_uint_eq(name.len, offsetof(struct sockaddr_un, sun_path) + 1 + 19);
}
END_TEST

START_TEST(only_a_cmd_fd_is_a_cmd_fd)
{
	struct ctl_name name;
	int pipe_fds[2];

	ck_assert(!ctl_is_cmd_fd(-1));
	ck_assert(!ctl_is_cmd_fd(pair[0]));
	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	ck_assert(!ctl_is_cmd_fd(pipe_fds[0]));
	ctl_close_fds(pipe_fds, 2);

	ctl_name_cmd(&name, geteuid(), "unit", 0, (uint32_t)getpid(), 1);
	ck_assert_int_eq(bind(pair[1], (const struct sockaddr *)&name.addr, name.len), 0);
	ck_assert(ctl_is_cmd_fd(pair[0]));
	ck_assert(!ctl_is_cmd_fd(pair[1]));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control_socket");
	TCase *tcase = tcase_create("socket");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, message_with_descriptors);
	tcase_add_test(tcase, unwanted_descriptors_are_closed);
	tcase_add_test(tcase, too_long_is_refused_whole);
	tcase_add_test(tcase, the_other_side_has_closed);
	tcase_add_test(tcase, names_fit);
	tcase_add_test(tcase, only_a_cmd_fd_is_a_cmd_fd);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
