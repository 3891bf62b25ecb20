// SPDX-License-Identifier: MIT
/* The table of live objects: destroyed objects are unknown, used ones do not end, and the end of a
 * context removes its own objects only. */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "emu/limits.h"
#include "lib/abi/newer.h"
#include "lib/verbs/context.h"
#include "lib/verbs/object.h"
#include "tests/suite.h"

/* As large as any object of the verbs: the table reads their handles. */
struct thing {
	struct ibv_context *context;
	uint64_t more[31];
};

START_TEST(lives_until_taken)
{
	struct thing a = { 0 };

	ck_assert(!vb_object_is_live(&a, VB_KIND_PD));
	ck_assert(!vb_object_is_live(NULL, VB_KIND_PD));
	ck_assert(!vb_object_take(NULL, VB_KIND_PD));
	ck_assert(vb_object_add(&a, VB_KIND_PD));
	ck_assert(vb_object_is_live(&a, VB_KIND_PD));
	ck_assert(!vb_object_is_live(&a, VB_KIND_MR));
	ck_assert(!vb_object_take(&a, VB_KIND_MR));
	ck_assert(vb_object_take(&a, VB_KIND_PD));
	ck_assert(!vb_object_take(&a, VB_KIND_PD));
	/* The allocator returns the same address again. */
	ck_assert(vb_object_add(&a, VB_KIND_MR));
	ck_assert(!vb_object_is_live(&a, VB_KIND_PD));
	ck_assert(vb_object_take(&a, VB_KIND_MR));
}
END_TEST

START_TEST(thousands_come_and_go)
{
	enum { N = 5000 };
	static struct thing things[N];

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < N; i++)
			ck_assert(vb_object_add(&things[i], VB_KIND_AH));
		for (int i = 0; i < N; i += 2)
			ck_assert(vb_object_take(&things[i], VB_KIND_AH));
		for (int i = 0; i < N; i++)
			ck_assert(vb_object_is_live(&things[i], VB_KIND_AH) == (i & 1));
		for (int i = 1; i < N; i += 2)
			ck_assert(vb_object_take(&things[i], VB_KIND_AH));
	}
}
END_TEST

static void take_all(const struct ibv_context *context, enum vb_kind kind)
{
	const void *object;

	while ((object = vb_object_any(context, kind)))
		ck_assert(vb_object_take(object, kind));
}

START_TEST(a_context_takes_its_own_along)
{
	struct ibv_context one, two;
	struct thing a = { &one, { 0 } }, b = { &one, { 0 } }, c = { &two, { 0 } };

	vb_object_add(&a, VB_KIND_QP);
	vb_object_add(&b, VB_KIND_PD);
	vb_object_add(&c, VB_KIND_QP);
	ck_assert_ptr_eq(vb_object_any(&one, VB_KIND_QP), &a);
	ck_assert(vb_object_take(&a, VB_KIND_QP));
	ck_assert_ptr_null(vb_object_any(&one, VB_KIND_QP));
	take_all(&one, VB_KIND_PD);
	ck_assert(!vb_object_is_live(&b, VB_KIND_PD));
	ck_assert(vb_object_take(&c, VB_KIND_QP));
}
END_TEST

/* One more than ibv_query_device(3) reports is refused until another is destroyed. */
START_TEST(limits_are_kept)
{
	static const struct {
		enum vb_kind kind;
		int most;
	} rows[] = { { VB_KIND_AH, RXE_MAX_AH },
		     { VB_KIND_CQ, RXE_MAX_CQ },
		     { VB_KIND_SRQ, RXE_MAX_SRQ } };
	const enum vb_kind kind = rows[_i].kind;
	const int most = rows[_i].most;
	struct ibv_context context;
	struct thing *things = calloc((size_t)most + 1, sizeof(*things));

	ck_assert_ptr_nonnull(things);
	for (int i = 0; i <= most; i++) {
		things[i].context = &context;
		ck_assert(vb_object_add(&things[i], kind) == (i < most));
	}
	ck_assert(vb_object_take(&things[7], kind));
	ck_assert(vb_object_add(&things[most], kind));
	ck_assert(!vb_object_add(&things[7], kind));
	take_all(&context, kind);
	ck_assert(vb_object_add(&things[7], kind));
	ck_assert(vb_object_take(&things[7], kind));
	free(things);
}
END_TEST

/* The process has made objects before. */
static struct vb_device device = { .progress.has_thread = true };
static struct vb_context open_context = { .dev = &device };
#define CONTEXT (&open_context.verbs.base.context)

START_TEST(a_used_object_does_not_end)
{
	struct thing *cq = vb_object_new(CONTEXT, VB_KIND_CQ, sizeof(*cq));

	ck_assert_ptr_nonnull(cq);
	ck_assert_ptr_eq(cq->context, CONTEXT);
	vb_object_use(cq);
	vb_object_use(cq);
	ck_assert_int_eq(vb_end_take(cq, VB_KIND_CQ), EBUSY);
	vb_object_unuse(cq);
	ck_assert_int_eq(vb_end_take(cq, VB_KIND_CQ), EBUSY);
	ck_assert(vb_object_is_live(cq, VB_KIND_CQ));
	vb_object_unuse(cq);
	ck_assert_int_eq(vb_end_take(cq, VB_KIND_QP), EINVAL);
	ck_assert_int_eq(vb_end_take(cq, VB_KIND_CQ), 0);
	ck_assert_int_eq(vb_end_take(cq, VB_KIND_CQ), EINVAL);
	/* A context that closes leaves used objects, without their counts. */
	vb_object_unuse(cq);
	free(cq);
}
END_TEST

START_TEST(an_overwritten_handle_is_unknown)
{
	struct ibv_pd *pd = vb_object_new(CONTEXT, VB_KIND_PD, sizeof(*pd));

	ck_assert_ptr_nonnull(pd);
	pd->handle = 7;
	ck_assert(!vb_object_is_live(pd, VB_KIND_PD));
	vb_object_set_handle(pd, 7);
	ck_assert(vb_object_is_live(pd, VB_KIND_PD));
	pd->handle = 8;
	ck_assert(!vb_object_is_live(pd, VB_KIND_PD));
	ck_assert_ptr_eq(vb_object_any(CONTEXT, VB_KIND_PD), pd);
	ck_assert_uint_eq(pd->handle, 7);
	ck_assert_int_eq(vb_object_undo(pd, EIO), EIO);
	ck_assert(!vb_object_is_live(pd, VB_KIND_PD));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs_object");
	TCase *tcase = tcase_create("objects");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, lives_until_taken);
	tcase_add_test(tcase, thousands_come_and_go);
	tcase_add_loop_test(tcase, limits_are_kept, 0, 3);
	tcase_add_test(tcase, a_context_takes_its_own_along);
	tcase_add_test(tcase, a_used_object_does_not_end);
	tcase_add_test(tcase, an_overwritten_handle_is_unknown);
	return suite_run(suite);
}
