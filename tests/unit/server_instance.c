// SPDX-License-Identifier: MIT
/* An instance within the test's process: how its loop ends, and what it frees. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "net/wire/cm_msg.h"
#include "private_network.h"
#include "rxe_dm/cm/cm.h"
#include "rxe_dm/server/cm/gsi.h"
#include "rxe_dm/server/instance.h"
#include "tests/allocated.h"
#include "tests/suite.h"

#define MESSAGES   200u
#define KEPT_BYTES 16384u /* malloc(3) keeps some freed blocks of each size, and counts them */

static struct instance instance;
static char last_log[600];

static void keep_line(enum ctl_log_level level, const char *line)
{
	ck_assert_int_eq(level, CTL_LOG_ERROR);
	snprintf(last_log, sizeof(last_log), "%s", line);
}

static void start(uint32_t devices)
{
	struct ctl_settings settings;

	ctl_settings_init(&settings);
	snprintf(settings.instance, sizeof(settings.instance), "test-%d", (int)getpid());
	settings.devices = devices;
	ck_assert_int_eq(instance_init(&instance, &settings, true), INSTANCE_UP);
}

static void setup(void)
{
	start(1);
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

/* A device asks another for a connection to a port without a listener. */
static void send_req(struct device *from, const struct device *to)
{
	const struct cm_msg req = { .attr = CM_REQ };
	const struct cm_path path = { .src = from->link.gid, .dst = to->link.gid };
	uint8_t mad[CM_MAD_BYTES];

	cm_msg_emit(mad, &req);
	gsi_send(from, &path, mad);
}

/* Starts and ends an instance while messages wait, for their device and for a listener. */
static void live_with_messages(void)
{
	struct device *a = &instance.devices[0], *b = &instance.devices[1];

	start(2);
	for (uint32_t i = 0; i < MESSAGES; i++)
		send_req(i % 2 ? a : b, i % 3 ? a : b);
	gsi_deliver(&instance); /* these now wait for a listener */
	for (uint32_t i = 0; i < MESSAGES; i++)
		send_req(i % 2 ? a : b, i % 3 ? a : b);
	ck_assert_uint_eq(instance.cm.num_local, MESSAGES);
	instance_fini(&instance);
	ck_assert_ptr_null(instance.cm.local);
	ck_assert_uint_eq(instance.cm.num_local, 0);
	ck_assert(!a->gsi.state && !b->gsi.state);
	ck_assert(!a->gsi.link && !b->gsi.link);
	ck_assert_int_eq(a->gsi.strays.fd, -1);
}

/* The first life pays for what the process keeps. */
START_TEST(an_end_frees_what_waited)
{
	size_t before;

	live_with_messages();
	before = allocated_bytes();
	live_with_messages();
	ck_assert_uint_lt(allocated_bytes(), before + KEPT_BYTES);
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
	tcase = tcase_create("lives");
	tcase_add_test(tcase, an_end_frees_what_waited);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
