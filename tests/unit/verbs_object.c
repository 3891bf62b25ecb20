// SPDX-License-Identifier: MIT
/* The table of live objects: what was destroyed is a stranger, and one context's end takes along only its own. */
#include <check.h>
#include <stdlib.h>

#include "emu/limits.h"
#include "lib/verbs/live.h"

struct ibv_context {
	int nothing;
};

struct thing {
	struct ibv_context *context;
	int more;
};

START_TEST(lives_until_taken)
{
	struct thing a = { 0 };

	ck_assert(!dm_object_is(&a, DM_KIND_PD));
	ck_assert(!dm_object_is(NULL, DM_KIND_PD));
	ck_assert(!dm_object_take(NULL, DM_KIND_PD));
	ck_assert(dm_object_add(&a, DM_KIND_PD));
	ck_assert(dm_object_is(&a, DM_KIND_PD));
	ck_assert(!dm_object_is(&a, DM_KIND_MR));
	ck_assert(!dm_object_take(&a, DM_KIND_MR));
	ck_assert(dm_object_take(&a, DM_KIND_PD));
	ck_assert(!dm_object_take(&a, DM_KIND_PD));
	/* The allocator gives the same address out again. */
	ck_assert(dm_object_add(&a, DM_KIND_MR));
	ck_assert(!dm_object_is(&a, DM_KIND_PD));
	ck_assert(dm_object_take(&a, DM_KIND_MR));
}
END_TEST

START_TEST(thousands_come_and_go)
{
	enum { N = 5000 };
	static struct thing things[N];

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < N; i++)
			ck_assert(dm_object_add(&things[i], DM_KIND_AH));
		for (int i = 0; i < N; i += 2)
			ck_assert(dm_object_take(&things[i], DM_KIND_AH));
		for (int i = 0; i < N; i++)
			ck_assert(dm_object_is(&things[i], DM_KIND_AH) == (i & 1));
		for (int i = 1; i < N; i += 2)
			ck_assert(dm_object_take(&things[i], DM_KIND_AH));
	}
}
END_TEST

START_TEST(a_context_takes_its_own_along)
{
	struct ibv_context one, two;
	struct thing a = { &one, 0 }, b = { &one, 0 }, c = { &two, 0 };

	dm_object_add(&a, DM_KIND_QP);
	dm_object_add(&b, DM_KIND_PD);
	dm_object_add(&c, DM_KIND_QP);
	ck_assert_ptr_eq(dm_object_of(&one, DM_KIND_QP), &a);
	ck_assert(dm_object_take(&a, DM_KIND_QP));
	ck_assert_ptr_null(dm_object_of(&one, DM_KIND_QP));
	dm_object_forget(&one);
	ck_assert(!dm_object_is(&b, DM_KIND_PD));
	ck_assert(dm_object_take(&c, DM_KIND_QP));
}
END_TEST

/* One more than ibv_query_device(3) reports is refused, until one goes. */
START_TEST(limits_are_kept)
{
	static const struct {
		enum dm_kind kind;
		int most;
	} rows[] = { { DM_KIND_AH, RXE_MAX_AH },
		     { DM_KIND_CQ, RXE_MAX_CQ },
		     { DM_KIND_SRQ, RXE_MAX_SRQ } };
	const enum dm_kind kind = rows[_i].kind;
	const int most = rows[_i].most;
	struct ibv_context context;
	struct thing *things = calloc((size_t)most + 1, sizeof(*things));

	ck_assert_ptr_nonnull(things);
	for (int i = 0; i <= most; i++) {
		things[i].context = &context;
		ck_assert(dm_object_add(&things[i], kind) == (i < most));
	}
	ck_assert(dm_object_take(&things[7], kind));
	ck_assert(dm_object_add(&things[most], kind));
	ck_assert(!dm_object_add(&things[7], kind));
	dm_object_forget(&context);
	ck_assert(dm_object_add(&things[7], kind));
	ck_assert(dm_object_take(&things[7], kind));
	free(things);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs_object");
	TCase *tcase = tcase_create("object");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, lives_until_taken);
	tcase_add_test(tcase, thousands_come_and_go);
	tcase_add_loop_test(tcase, limits_are_kept, 0, 3);
	tcase_add_test(tcase, a_context_takes_its_own_along);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
