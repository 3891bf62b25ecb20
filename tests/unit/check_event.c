// SPDX-License-Identifier: MIT
/* lib/check/event.c: asynchronous events that a program reads, in one thread or in several. */
#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/abi/newer.h"
#include "lib/check/event.h"
#include "lib/check/object.h"
#include "lib/check/report.h"
#include "tests/suite.h"

static uint32_t found[CHECK_END];

void check_report(enum check check, const struct check_where *where, size_t n, const char *format,
		  ...)
{
	ck_assert_ptr_nonnull(where);
	ck_assert_uint_gt(n, 0);
	ck_assert_ptr_nonnull(format);
	found[check]++;
}

static struct ibv_qp qp;
static const struct ibv_async_event event = { .element.qp = &qp, .event_type = IBV_EVENT_COMM_EST };

static struct check_object *make(void)
{
	struct check_object *object = object_made(&qp, VB_KIND_QP, NULL);

	ck_assert_ptr_nonnull(object);
	return object;
}

static void *read_one(void *arg)
{
	(void)arg;
	event_async(&event, false);
	return NULL;
}

static void end(struct check_object *object, uint32_t findings)
{
	event_async_ending(object, "ibv_destroy_qp");
	ck_assert_uint_eq(found[CHECK_EVENT_ASYNC_NOT_ACKED], findings);
}

START_TEST(not_acknowledged)
{
	struct check_object *object = make();

	event_async(&event, false);
	end(object, 1);
}
END_TEST

START_TEST(acknowledged)
{
	struct check_object *object = make();

	event_async(&event, false);
	event_async(&event, true);
	end(object, 0);
}
END_TEST

/* The thread that read it is about to acknowledge it, and the end waits for that. */
START_TEST(another_thread_has_it)
{
	struct check_object *object = make();
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, read_one, NULL), 0);
	pthread_join(thread, NULL);
	end(object, 0);
	event_async(&event, false);
	end(object, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("check_event");
	TCase *tcase = tcase_create("event");

	tcase_add_test(tcase, not_acknowledged);
	tcase_add_test(tcase, acknowledged);
	tcase_add_test(tcase, another_thread_has_it);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
