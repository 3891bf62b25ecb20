// SPDX-License-Identifier: MIT
/* An instance within the test's process: how its loop ends, and what it frees. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "lib/findings/record.h"
#include "net/wire/cm_msg.h"
#include "net/wire/packet.h"
#include "private_network.h"
#include "rxe_dm/cm/cm.h"
#include "rxe_dm/server/cm/gsi.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/link/address.h"
#include "rxe_dm/server/serve.h"
#include "tests/allocated.h"
#include "tests/suite.h"

#define DESCRIPTORS 1024
#define INTERFACE   "rxe_test"
#define MESSAGES    200u
#define KEPT_BYTES  16384u /* malloc(3) keeps some freed blocks of each size, and counts them */

static struct instance instance;
static struct ctl_settings settings;
static char last_log[600];
static bool is_private;

static void keep_line(enum ctl_log_level level, const char *line)
{
	ck_assert_int_eq(level, CTL_LOG_ERROR);
	snprintf(last_log, sizeof(last_log), "%s", line);
}

/* A start may warn, where little memory may be locked. */
static void keep_error(enum ctl_log_level level, const char *line)
{
	if (level == CTL_LOG_ERROR)
		keep_line(level, line);
}

static void log_to_test(void)
{
	ctl_log_to(keep_error);
}

static void set_up(uint32_t devices)
{
	ctl_settings_init(&settings);
	snprintf(settings.instance, sizeof(settings.instance), "test-%d", (int)getpid());
	settings.devices = devices;
}

static void start(uint32_t devices)
{
	set_up(devices);
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

/* Sets the entry of each open descriptor. */
static void list_open(bool ret[DESCRIPTORS])
{
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		ret[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void expect_open(const bool before[DESCRIPTORS])
{
	bool now[DESCRIPTORS];

	list_open(now);
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		ck_assert_msg(now[fd] == before[fd], "descriptor %d is %s", fd,
			      now[fd] ? "left open" : "closed");
}

/* Gives the instance findings of one program to keep. */
static void keep_findings(void)
{
	struct conn conn = { .instance = &instance };
	struct call call = { .conn = &conn,
			     .in_fd = memfd_create("findings", MFD_CLOEXEC | MFD_ALLOW_SEALING) };

	ck_assert_int_eq(ftruncate(call.in_fd, sizeof(struct findings)), 0);
	ck_assert_int_eq(fcntl(call.in_fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	ck_assert_int_eq(serve_findings(&call), 0);
	ck_assert_int_eq(call.in_fd, -1);
}

/* What it has opened, and nothing else. */
START_TEST(an_end_closes_its_descriptors)
{
	bool before[DESCRIPTORS];

	list_open(before);
	start(2);
	keep_findings();
	instance_fini(&instance);
	expect_open(before);
}
END_TEST

static void expect_failure(enum instance_result expected, const char *why)
{
	static struct instance other;
	bool before[DESCRIPTORS];

	list_open(before);
	last_log[0] = '\0';
	ck_assert_int_eq(instance_init(&other, &settings, true), expected);
	ck_assert_msg(strstr(last_log, why) != NULL, "%s", last_log);
	expect_open(before);
}

/* A start that fails says why, and leaves no descriptor open. */
START_TEST(a_name_is_taken)
{
	start(1);
	expect_failure(INSTANCE_BUSY, "");
	instance_fini(&instance);
}
END_TEST

START_TEST(the_port_is_taken_on_all_addresses)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) };
	int fd;

	if (!is_private)
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
	set_up(1);
	expect_failure(INSTANCE_FAILED, "UDP port 4791 is in use on all addresses");
	close(fd);
}
END_TEST

START_TEST(the_interface_is_down)
{
	if (!is_private || system("ip link add " INTERFACE " type veth 2>/dev/null && "
				  "ip addr add 198.51.100.1/24 dev " INTERFACE " 2>/dev/null"))
		return;
	set_up(1);
	settings.num_addresses = 1;
	ck_assert(ctl_gid_parse(&settings.address[0], "198.51.100.1"));
	expect_failure(INSTANCE_FAILED,
		       "the interface " INTERFACE " is down: 'ip link set " INTERFACE " up'");
}
END_TEST

static void send_datagram(const struct gid *to)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) };
	const uint8_t bytes[64] = { 0 };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&addr.sin_addr, to->raw + 12, sizeof(addr.sin_addr));
	ck_assert_int_eq(
		sendto(fd, bytes, sizeof(bytes), 0, (const struct sockaddr *)&addr, sizeof(addr)),
		sizeof(bytes));
	close(fd);
}

/* A process may hold a duplicate of a socket when the device ends: what arrives there then reaches
 * no handler. */
START_TEST(a_device_that_has_ended_handles_nothing)
{
	struct pollfd held = { .events = POLLIN };

	set_up(1);
	settings.allow_all_users = true;
	ck_assert_int_eq(instance_init(&instance, &settings, true), INSTANCE_UP);
	held.fd = fcntl(instance.devices[0].gsi.strays.fd, F_DUPFD_CLOEXEC, 0);
	address_close(&instance.devices[0]);
	send_datagram(&instance.devices[0].link.gid);
	ck_assert_int_eq(poll(&held, 1, 5000), 1);
	ck_assert_int_eq(loop_once(&instance.loop, 0), 0);
	close(held.fd);
	instance_fini(&instance);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("instance");
	Suite *suite = suite_create("server_instance");

	is_private = private_network();
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_signal_ends_it_in_order);
	tcase_add_test(tcase, a_loop_that_fails_ends_it_with_an_error);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("lives");
	tcase_add_unchecked_fixture(tcase, log_to_test, NULL);
	tcase_add_test(tcase, an_end_frees_what_waited);
	tcase_add_test(tcase, an_end_closes_its_descriptors);
	tcase_add_test(tcase, a_name_is_taken);
	tcase_add_test(tcase, the_port_is_taken_on_all_addresses);
	tcase_add_test(tcase, the_interface_is_down);
	tcase_add_test(tcase, a_device_that_has_ended_handles_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
