// SPDX-License-Identifier: MIT
/* Time slices of threads. On a kernel without them (before Linux 6.12) all are 0 and stay so. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/control/time_slice.h"
#include "tests/suite.h"

#define SHORT_NS 100000u

/* struct sched_attr (sched_setattr(2)) in its first version. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static struct attributes now(void)
{
	struct attributes ret = { 0 };

	ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &ret, (unsigned int)sizeof(ret), 0u), 0);
	return ret;
}

START_TEST(shortened_and_restored)
{
	const uint64_t before_ns = now().runtime_ns;

	ctl_slice_restore();
	ck_assert_uint_eq(now().runtime_ns, before_ns);
	for (int i = 0; i < 2; i++) {
		ctl_slice_shorten();
		ctl_slice_shorten();
		ck_assert_uint_eq(now().runtime_ns, before_ns ? SHORT_NS : 0);
		ctl_slice_restore();
		ck_assert_uint_eq(now().runtime_ns, before_ns);
	}
}
END_TEST

START_TEST(the_rest_stays)
{
	struct attributes before, after;

	ck_assert_int_ge(nice(5), 0);
	before = now();
	ctl_slice_shorten();
	after = now();
	ck_assert_int_eq(after.nice, before.nice);
	ck_assert_uint_eq(after.policy, SCHED_OTHER);
	ck_assert_uint_eq(after.flags, before.flags);
}
END_TEST

START_TEST(other_policies_stay)
{
	const struct sched_param param = { 0 };
	uint64_t before_ns;

	ck_assert_int_eq(sched_setscheduler(0, SCHED_BATCH, &param), 0);
	before_ns = now().runtime_ns;
	ctl_slice_shorten();
	ck_assert_uint_eq(now().policy, SCHED_BATCH);
	ck_assert_uint_eq(now().runtime_ns, before_ns);
}
END_TEST

/* sched_setattr(2) fails with EPERM if the flag is left out (sched(7)). */
START_TEST(reset_on_fork_stays)
{
	const struct sched_param param = { 0 };
	struct attributes before;

	ck_assert_int_eq(sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &param), 0);
	before = now();
	ctl_slice_shorten();
	ck_assert_uint_eq(now().flags, before.flags);
	ck_assert_uint_eq(now().runtime_ns, before.runtime_ns ? SHORT_NS : 0);
}
END_TEST

static void *read_slice(void *ret_ns)
{
	ctl_slice_restore();
	*(uint64_t *)ret_ns = now().runtime_ns;
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
	ck_assert_uint_eq(other_ns, now().runtime_ns);
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
