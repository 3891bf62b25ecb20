// SPDX-License-Identifier: MIT
/* A layer passes every operation on: one that it forgets would be missing from the host without a
 * word. */
#include <assert.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "emu/host_layer.h"
#include "tests/suite.h"

typedef void (*op_fn)(void);
#define NUM_OPS (sizeof(struct rxe_host_ops) / sizeof(op_fn))

static void some_op(void)
{
}

/* The operations as an array: the structure has nothing else. */
static void to_array(op_fn ret[NUM_OPS], const struct rxe_host_ops *ops)
{
	static_assert(sizeof(struct rxe_host_ops) % sizeof(op_fn) == 0, "only pointers");
	memcpy(ret, ops, sizeof(*ops));
}

START_TEST(passes_all_operations)
{
	struct rxe_host_layer layer;
	struct rxe_host_ops below;
	op_fn ops[NUM_OPS], passed[NUM_OPS];
	int host;

	for (size_t i = 0; i < NUM_OPS; i++)
		ops[i] = some_op;
	memcpy(&below, ops, sizeof(below));
	rxe_host_layer_init(&layer, &below, &host);
	to_array(passed, &layer.ops);
	for (size_t i = 0; i < NUM_OPS; i++) {
		ck_assert_msg(passed[i], "operation %zu of struct rxe_host_ops is not passed on",
			      i);
		ck_assert_msg(passed[i] != some_op, "operation %zu gets the layer as host", i);
	}
	ck_assert_ptr_eq(layer.below_host, &host);
}
END_TEST

START_TEST(what_the_host_lacks_stays_null)
{
	const struct rxe_host_ops none = { 0 };
	struct rxe_host_layer layer;
	op_fn passed[NUM_OPS];

	rxe_host_layer_init(&layer, &none, NULL);
	to_array(passed, &layer.ops);
	for (size_t i = 0; i < NUM_OPS; i++)
		ck_assert_msg(!passed[i], "operation %zu", i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_host_layer");
	TCase *tcase = tcase_create("layer");

	tcase_add_test(tcase, passes_all_operations);
	tcase_add_test(tcase, what_the_host_lacks_stays_null);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
