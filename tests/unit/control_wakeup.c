// SPDX-License-Identifier: MIT
/* The policy of a thread that lets others go on when it wakes up. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <unistd.h>

#include "lib/control/time_slice.h"
#include "lib/control/wakeup.h"
#include "tests/suite.h"
#include "tests/unit/attributes.h"

static void set_policy(int policy)
{
	const struct sched_param none = { 0 };

	ck_assert_int_eq(sched_setscheduler(0, policy, &none), 0);
}

static void expect_policy(int policy)
{
	ck_assert_int_eq(sched_getscheduler(0), policy);
}

START_TEST(deferred_and_restored)
{
	ctl_wakeup_restore();
	expect_policy(SCHED_OTHER);
	for (int i = 0; i < 2; i++) {
		ctl_wakeup_defer();
		ctl_wakeup_defer();
		expect_policy(SCHED_BATCH);
		ctl_wakeup_restore();
		expect_policy(SCHED_OTHER);
	}
}
END_TEST

START_TEST(the_rest_stays)
{
	struct attributes before, after;

	errno = 0;
	ck_assert(nice(5) != -1 || errno == 0);
	ctl_slice_shorten();
	before = attributes_now();
	ctl_wakeup_defer();
	after = attributes_now();
	ck_assert_uint_eq(after.policy, SCHED_BATCH);
	ck_assert_int_eq(after.nice, before.nice);
	ck_assert_uint_eq(after.slice_ns, before.slice_ns);
	ck_assert_uint_eq(after.flags, before.flags);
	ctl_wakeup_restore();
	after = attributes_now();
	ck_assert_mem_eq(&after, &before, sizeof(after));
}
END_TEST

START_TEST(a_slice_is_restored_meanwhile)
{
	const uint64_t before_ns = attributes_now().slice_ns;

	ctl_slice_shorten();
	ctl_wakeup_defer();
	ctl_slice_restore();
	ck_assert_uint_eq(attributes_now().slice_ns, before_ns);
	expect_policy(SCHED_BATCH);
}
END_TEST

START_TEST(other_policies_stay)
{
	set_policy(SCHED_BATCH);
	ctl_wakeup_defer();
	ctl_wakeup_restore();
	expect_policy(SCHED_BATCH);
	set_policy(SCHED_OTHER);
	ctl_wakeup_defer();
	/* The program chooses one itself. */
	set_policy(SCHED_IDLE);
	ctl_wakeup_restore();
	expect_policy(SCHED_IDLE);
	ctl_wakeup_defer();
	expect_policy(SCHED_IDLE);
}
END_TEST

/* sched_setscheduler(2) fails with EPERM if the flag is left out. */
START_TEST(reset_on_fork_stays)
{
	set_policy(SCHED_OTHER | SCHED_RESET_ON_FORK);
	ctl_wakeup_defer();
	expect_policy(SCHED_BATCH | SCHED_RESET_ON_FORK);
	ctl_wakeup_restore();
	expect_policy(SCHED_OTHER | SCHED_RESET_ON_FORK);
}
END_TEST

static void *read_policy(void *ret)
{
	ctl_wakeup_restore();
	*(int *)ret = sched_getscheduler(0);
	return NULL;
}

/* A new thread inherits the policy, and has not deferred its wake-ups itself. */
START_TEST(each_thread_restores_its_own)
{
	pthread_t other;
	int policy;

	ctl_wakeup_defer();
	ck_assert_int_eq(pthread_create(&other, NULL, read_policy, &policy), 0);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
	ck_assert_int_eq(policy, SCHED_BATCH);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		deferred_and_restored, the_rest_stays,	    a_slice_is_restored_meanwhile,
		other_policies_stay,   reset_on_fork_stays, each_thread_restores_its_own
	};
	Suite *suite = suite_create("control_wakeup");
	TCase *tcase = tcase_create("wakeup");

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
