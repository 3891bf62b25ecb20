// SPDX-License-Identifier: MIT
/* The event loop: each call handles every source that is ready once, and none that has left. A
 * listener without a free descriptor neither spins nor is lost. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/container_of.h"
#include "lib/control/socket.h"
#include "rxe_dm/server/listener.h"
#include "rxe_dm/server/loop.h"
#include "tests/suite.h"

#define SOURCES (2 * LOOP_BATCH)

/* A source that stays ready, and what its handler does. */
struct probe {
	struct loop_source source;
	int handled;
	struct probe *ends; /* NULL: none. Leaves the loop */
};

static struct loop loop;
static struct probe probes[SOURCES];

static void ready(struct loop_source *source, uint32_t events)
{
	struct probe *probe = container_of(source, struct probe, source);

	ck_assert_uint_eq(events, EPOLLIN);
	probe->handled++;
	if (probe->ends)
		loop_del(&loop, &probe->ends->source);
}

static void setup(void)
{
	ck_assert_int_eq(loop_init(&loop), 0);
	for (uint32_t i = 0; i < SOURCES; i++) {
		probes[i] = (struct probe){
			.source = { .fd = eventfd(1, EFD_CLOEXEC), .ready = ready },
		};
		ck_assert_int_ge(probes[i].source.fd, 0);
	}
}

static void teardown(void)
{
	for (uint32_t i = 0; i < SOURCES; i++)
		close(probes[i].source.fd);
	close(loop.epoll_fd);
}

static void add(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ck_assert_int_eq(loop_add(&loop, &probes[i].source, EPOLLIN), 0);
}

START_TEST(all_that_are_ready)
{
	add(3);
	ck_assert_int_eq(loop_once(&loop, -1), 3);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(probes[i].handled, 1);
	loop_del(&loop, &probes[1].source);
	ck_assert_int_eq(loop_once(&loop, -1), 2);
	ck_assert_int_eq(probes[1].handled, 1);
	ck_assert_int_eq(probes[2].handled, 2);
}
END_TEST

START_TEST(nothing_is_ready)
{
	ck_assert_int_eq(loop_once(&loop, 0), 0);
}
END_TEST

/* More than a batch: two calls handle each once. */
START_TEST(none_starves)
{
	add(SOURCES);
	ck_assert_int_eq(loop_once(&loop, -1), LOOP_BATCH);
	ck_assert_int_eq(loop_once(&loop, -1), LOOP_BATCH);
	for (uint32_t i = 0; i < SOURCES; i++)
		ck_assert_int_eq(probes[i].handled, 1);
}
END_TEST

/* Each handler ends the other's source, so one of the two is handled. */
START_TEST(ended_by_another_handler)
{
	probes[0].ends = &probes[1];
	probes[1].ends = &probes[0];
	add(2);
	ck_assert_int_eq(loop_once(&loop, -1), 2);
	ck_assert_int_eq(probes[0].handled + probes[1].handled, 1);
}
END_TEST

START_TEST(ended_by_itself)
{
	probes[0].ends = &probes[0];
	add(1);
	ck_assert_int_eq(loop_once(&loop, -1), 1);
	ck_assert_int_eq(loop_once(&loop, 0), 0);
	ck_assert_int_eq(probes[0].handled, 1);
}
END_TEST

START_TEST(timeouts)
{
	const uint64_t now_ns = 5000000000ull, ms = 1000000, most = (uint64_t)INT_MAX * ms;
	const struct {
		uint64_t due_ns;
		int expected;
	} rows[] = {
		{ UINT64_MAX, -1 },
		{ 0, 0 },
		{ now_ns, 0 },
		{ now_ns + 1, 1 },
		{ now_ns + ms, 1 },
		{ now_ns + ms + 1, 2 },
		{ now_ns + 1000000000 * ms, 1000000000 },
		{ now_ns + 1000000001 * ms, 1000000001 },
		{ now_ns + most, INT_MAX },
		{ now_ns + most + 1, INT_MAX },
		{ UINT64_MAX - 1, INT_MAX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_int_eq(loop_timeout_ms(rows[i].due_ns, now_ns), rows[i].expected);
}
END_TEST

static struct listeners listeners;
static struct listener listener;
static int accepted, client;

static void take(struct listener *of, int fd)
{
	ck_assert_ptr_eq(of, &listener);
	close(fd);
	accepted++;
}

static void limit_descriptors(rlim_t n)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = n;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A connection waits to be accepted. */
static void setup_listener(void)
{
	struct ctl_name name = { .addr.sun_family = AF_UNIX };

	ck_assert_int_eq(loop_init(&loop), 0);
	name.len = (socklen_t)(sizeof(sa_family_t) + 1 +
			       (size_t)snprintf(name.addr.sun_path + 1, 60, "rxe_dm/test/%d",
						(int)getpid()));
	listeners_init(&listeners);
	listener = (struct listener){
		.all = &listeners,
		.loop = &loop,
		.source.fd = listener_bind(&name, SOCK_SEQPACKET),
		.accepted = take,
	};
	ck_assert_int_ge(listener.source.fd, 0);
	ck_assert_int_eq(listener_bind(&name, SOCK_SEQPACKET), -EADDRINUSE);
	ck_assert_int_eq(listener_watch(&listener), 0);
	client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(client, (const struct sockaddr *)&name.addr, name.len), 0);
}

static void teardown_listener(void)
{
	listener_close(&listener);
	listeners_fini(&listeners);
	close(client);
	close(loop.epoll_fd);
}

/* Not even the spare descriptor helps. */
START_TEST(a_listener_waits_for_descriptors)
{
	limit_descriptors(0);
	ck_assert_int_eq(loop_once(&loop, 0), 1);
	ck_assert_int_eq(loop_once(&loop, 0), 0);
	ck_assert_uint_ne(listeners_resume(&listeners, 0), UINT64_MAX);
	ck_assert_int_eq(loop_once(&loop, 0), 0);
	limit_descriptors(64);
	ck_assert_uint_eq(listeners_resume(&listeners, UINT64_MAX - 1), UINT64_MAX);
	ck_assert_int_eq(loop_once(&loop, 0), 1);
	ck_assert_int_eq(accepted, 1);
}
END_TEST

static void use_all_descriptors(void)
{
	limit_descriptors(64);
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
}

START_TEST(a_connection_is_refused)
{
	char byte;

	use_all_descriptors();
	ck_assert_int_eq(loop_once(&loop, 0), 1);
	ck_assert_int_eq(loop_once(&loop, 0), 0);
	ck_assert_int_eq(recv(client, &byte, 1, 0), 0);
	ck_assert_uint_eq(listeners_resume(&listeners, 0), UINT64_MAX);
}
END_TEST

START_TEST(a_connection_waits)
{
	char byte;

	listener.is_patient = true;
	use_all_descriptors();
	ck_assert_int_eq(loop_once(&loop, 0), 1);
	ck_assert_int_eq(loop_once(&loop, 0), 0);
	ck_assert_int_eq(recv(client, &byte, 1, 0), -1);
	limit_descriptors(65);
	ck_assert_uint_eq(listeners_resume(&listeners, UINT64_MAX - 1), UINT64_MAX);
	ck_assert_int_eq(loop_once(&loop, 0), 1);
	ck_assert_int_eq(accepted, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("server_loop");
	TCase *tc = tcase_create("server_loop");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, all_that_are_ready);
	tcase_add_test(tc, nothing_is_ready);
	tcase_add_test(tc, none_starves);
	tcase_add_test(tc, ended_by_another_handler);
	tcase_add_test(tc, ended_by_itself);
	tcase_add_test(tc, timeouts);
	suite_add_tcase(suite, tc);
	tc = tcase_create("listener");
	tcase_add_checked_fixture(tc, setup_listener, teardown_listener);
	tcase_add_test(tc, a_listener_waits_for_descriptors);
	tcase_add_test(tc, a_connection_is_refused);
	tcase_add_test(tc, a_connection_waits);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
