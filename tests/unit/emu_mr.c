// SPDX-License-Identifier: MIT
/* Memory regions: lookup of keys and checks of accesses, up to the edge of the address space. */
#include <stdlib.h>

#include "emu/mr.h"
#include "emu_fixture.h"
#include "tests/suite.h"

static void expect(uint64_t iova, uint64_t region_len, uint64_t at, uint64_t len,
		   enum mr_check want)
{
	const struct rxe_mr mr = { .pd = 1, .iova = iova, .len = region_len, .rights = 0xf };

	ck_assert_int_eq(rxe_mr_check(&mr, 1, RXE_REMOTE_READ, at, len), want);
}

START_TEST(edges_of_a_region)
{
	expect(1000, 100, 1000, 100, MR_OK);
	expect(1000, 100, 1099, 1, MR_OK);
	expect(1000, 100, 1100, 1, MR_BAD_RANGE);
	expect(1000, 100, 999, 1, MR_BAD_RANGE);
	expect(1000, 100, 1000, 101, MR_BAD_RANGE);
	expect(1000, 100, 1050, 51, MR_BAD_RANGE);
	expect(1000, 0, 1000, 1, MR_BAD_RANGE);
}
END_TEST

START_TEST(nothing_wraps)
{
	const uint64_t top = UINT64_MAX;

	/* the last bytes of the address space: [2^64 - 100, 2^64) */
	expect(top - 99, 100, top, 1, MR_OK);
	expect(top - 99, 100, top, 2, MR_BAD_RANGE);
	expect(top - 99, 100, top - 99, 100, MR_OK);
	expect(top - 99, 100, 0, 1, MR_BAD_RANGE);
	expect(top - 99, 100, top - 99, top, MR_BAD_RANGE);
	/* an access whose end wraps into the region */
	expect(1000, 100, top - 10, 1100, MR_BAD_RANGE);
	expect(1000, 100, 1050, top - 40, MR_BAD_RANGE);
	expect(0, top, 0, top, MR_OK);
	expect(0, top, 1, top, MR_BAD_RANGE);
}
END_TEST

START_TEST(rights_and_domains)
{
	const struct rxe_mr mr = { .pd = 1, .iova = 0, .len = 8, .rights = RXE_REMOTE_READ };

	ck_assert_int_eq(rxe_mr_check(&mr, 1, 0, 0, 8), MR_OK);
	ck_assert_int_eq(rxe_mr_check(&mr, 1, RXE_REMOTE_READ, 0, 8), MR_OK);
	ck_assert_int_eq(rxe_mr_check(&mr, 1, RXE_REMOTE_WRITE, 0, 8), MR_BAD_RIGHTS);
	ck_assert_int_eq(rxe_mr_check(&mr, 1, RXE_REMOTE_READ | RXE_REMOTE_WRITE, 0, 8),
			 MR_BAD_RIGHTS);
	ck_assert_int_eq(rxe_mr_check(&mr, 2, RXE_REMOTE_READ, 0, 8), MR_BAD_PD);
}
END_TEST

START_TEST(keys)
{
	struct end *end = end_new(1, 1);
	struct rxe_mr *mr = &end->mrs->entry[1];

	ck_assert_ptr_eq(rxe_mr_find(end->mrs, KEY_ALL), mr);
	ck_assert_ptr_null(rxe_mr_find(end->mrs, KEY_ALL + 1)); /* another tag */
	ck_assert_ptr_null(rxe_mr_find(end->mrs, 0));
	ck_assert_ptr_null(rxe_mr_find(end->mrs, 0x17)); /* entry 0 is unused */
	ck_assert_ptr_null(rxe_mr_find(end->mrs, UINT32_MAX));
	atomic_store(&mr->key, 0);
	ck_assert_ptr_null(rxe_mr_find(end->mrs, KEY_ALL));
	end_free(end);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_mr");
	TCase *tcase = tcase_create("mr");

	tcase_add_test(tcase, edges_of_a_region);
	tcase_add_test(tcase, nothing_wraps);
	tcase_add_test(tcase, rights_and_domains);
	tcase_add_test(tcase, keys);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
