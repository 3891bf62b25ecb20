// SPDX-License-Identifier: MIT
/* An instance within the test's process: how its loop ends. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "private_network.h"
#include "rxe_dm/server/instance.h"
#include "tests/suite.h"

static struct instance instance;
static char last_log[600];

static void keep_line(enum ctl_log_level level, const char *line)
{
	ck_assert_int_eq(level, CTL_LOG_ERROR);
	snprintf(last_log, sizeof(last_log), "%s", line);
}

static void setup(void)
{
	struct ctl_settings settings;

	ctl_settings_init(&settings);
	snprintf(settings.instance, sizeof(settings.instance), "test-%d", (int)getpid());
	settings.devices = 1;
	ck_assert_int_eq(instance_init(&instance, &settings, true), INSTANCE_UP);
	ctl_log_to(keep_line);
}

static void teardown(void)
{
	instance_fini(&instance);
}

START_TEST(a_signal_ends_it_in_order)
{
	ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
	ck_assert_int_eq(instance_run(&instance), 0);
	ck_assert_str_eq(last_log, "");
	ck_assert_uint_eq(instance.devices[0].shared->ended, 1);
}
END_TEST

/* epoll_wait(2) refuses what is no epoll descriptor. */
START_TEST(a_loop_that_fails_ends_it_with_an_error)
{
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(dup3(null, instance.loop.epoll_fd, O_CLOEXEC), instance.loop.epoll_fd);
	close(null);
	ck_assert_int_eq(instance_run(&instance), -EINVAL);
	ck_assert_ptr_nonnull(strstr(last_log, "the event loop failed"));
	ck_assert_ptr_nonnull(strstr(last_log, strerror(EINVAL)));
	ck_assert_uint_eq(instance.devices[0].shared->ended, 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("instance");
	Suite *suite = suite_create("server_instance");

	private_network();
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_signal_ends_it_in_order);
	tcase_add_test(tcase, a_loop_that_fails_ends_it_with_an_error);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
