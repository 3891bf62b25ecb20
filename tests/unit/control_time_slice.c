// SPDX-License-Identifier: MIT
/* Time slices of threads. On a kernel without them (before Linux 6.12) all are 0 and stay so. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <unistd.h>

#include "lib/control/time_slice.h"
#include "tests/suite.h"
#include "tests/unit/attributes.h"

START_TEST(shortened_and_restored)
{
	const uint64_t before_ns = attributes_now().slice_ns;

	ctl_slice_restore();
	ck_assert_uint_eq(attributes_now().slice_ns, before_ns);
	for (int i = 0; i < 2; i++) {
		ctl_slice_shorten();
		ctl_slice_shorten();
		ck_assert_uint_eq(attributes_now().slice_ns, before_ns ? SHORT_NS : 0);
		ctl_slice_restore();
		ck_assert_uint_eq(attributes_now().slice_ns, before_ns);
	}
}
END_TEST

START_TEST(the_rest_stays)
{
	struct attributes before, after;

	errno = 0;
	ck_assert(nice(5) != -1 || errno == 0);
	before = attributes_now();
	ctl_slice_shorten();
	after = attributes_now();
	ck_assert_int_eq(after.nice, before.nice);
	ck_assert_uint_eq(after.policy, before.policy);
	ck_assert_uint_eq(after.flags, before.flags);
}
END_TEST

START_TEST(other_policies_stay)
{
	const struct sched_param param = { 0 };
	uint64_t before_ns;

	ck_assert_int_eq(sched_setscheduler(0, SCHED_BATCH, &param), 0);
	before_ns = attributes_now().slice_ns;
	ctl_slice_shorten();
	ck_assert_uint_eq(attributes_now().policy, SCHED_BATCH);
	ck_assert_uint_eq(attributes_now().slice_ns, before_ns);
}
END_TEST

/* sched_setattr(2) fails with EPERM if the flag is left out (sched(7)). */
START_TEST(reset_on_fork_stays)
{
	const struct sched_param param = { 0 };
	struct attributes before;

	ck_assert_int_eq(sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &param), 0);
	before = attributes_now();
	ctl_slice_shorten();
	ck_assert_uint_eq(attributes_now().flags, before.flags);
	ck_assert_uint_eq(attributes_now().slice_ns, before.slice_ns ? SHORT_NS : 0);
}
END_TEST

static void *read_slice(void *ret_ns)
{
	ctl_slice_restore();
	*(uint64_t *)ret_ns = attributes_now().slice_ns;
	return NULL;
}

/* A new thread inherits the slice, and has not shortened it itself. */
START_TEST(each_thread_restores_its_own)
{
	uint64_t other_ns;
	pthread_t other;

	ctl_slice_shorten();
	ck_assert_int_eq(pthread_create(&other, NULL, read_slice, &other_ns), 0);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
	ck_assert_uint_eq(other_ns, attributes_now().slice_ns);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { shortened_and_restored, the_rest_stays, other_policies_stay,
				       reset_on_fork_stays, each_thread_restores_its_own };
	Suite *suite = suite_create("control_time_slice");
	TCase *tcase = tcase_create("slices");

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
