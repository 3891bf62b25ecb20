/* SPDX-License-Identifier: MIT */
/* Kept descriptors: the number that the caller had is free again, and only a kept one counts. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/link/descriptor.h"
#include "tests/suite.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

START_TEST(kept)
{
	const int low = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fd;

	ck_assert_int_ge(low, 0);
	ck_assert(!descriptor_is_kept(low));
	fd = descriptor_keep(low);
	ck_assert_int_gt(fd, low);
	ck_assert(!is_open(low));
	ck_assert(descriptor_is_kept(fd));
	descriptor_close(fd);
	ck_assert(!is_open(fd));
	ck_assert(!descriptor_is_kept(fd));
}
END_TEST

/* The program closed the number and opened a file of its own there: that file stays. */
START_TEST(of_the_program)
{
	const int fd = descriptor_keep(open("/dev/null", O_RDONLY | O_CLOEXEC));
	const int own = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	ck_assert_int_eq(fcntl(own, F_DUPFD_CLOEXEC, fd), fd);
	ck_assert(!descriptor_is_kept(fd));
	descriptor_close(fd);
	ck_assert(is_open(fd));
	(void)close(fd);
	(void)close(own);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("descriptor");
	TCase *tc = tcase_create("descriptor");

	tcase_add_test(tc, kept);
	tcase_add_test(tc, of_the_program);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
