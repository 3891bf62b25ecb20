// SPDX-License-Identifier: MIT
/* The event loop: each call handles every source that is ready once, and none that has left. */
#include <check.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

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
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
