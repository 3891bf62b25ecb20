// SPDX-License-Identifier: MIT
/* A test may kill its children at any time, also while they check: the result of the test stays
 * readable for libcheck (tests/check_children.c). */
#include <check.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite.h"

#define ROUNDS 300

static _Noreturn void check_forever(int ready)
{
	ck_assert_int_eq(write(ready, "", 1), 1);
	for (;;)
		ck_assert_int_ge(ready, 0);
}

START_TEST(children_are_killed)
{
	for (int i = 0; i < ROUNDS; i++) {
		int ready[2], status;
		char byte;
		pid_t pid;

		ck_assert_int_eq(pipe(ready), 0);
		pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			check_forever(ready[1]);
		ck_assert_int_eq(read(ready[0], &byte, 1), 1);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		close(ready[0]);
		close(ready[1]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("killed_checks");
	TCase *tests = tcase_create("children");

	tcase_add_test(tests, children_are_killed);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
