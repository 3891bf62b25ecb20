// SPDX-License-Identifier: MIT
/* Gather and scatter: any offset after any other, lists with empty elements, keys that fail, and
 * remote keys. */
#include <stdlib.h>
#include <string.h>

#include "emu_fixture.h"
#include "tests/suite.h"

#define MESSAGE 300u

static struct end *end;
static struct rxe_send_wqe *wqe;
static uint8_t model[MESSAGE];

/* 100 bytes from 0, nothing, 50 from 500, nothing, 150 from 2000. */
static const struct {
	uint32_t offset, len;
} pieces[] = { { 0, 100 }, { 7, 0 }, { 500, 50 }, { 9, 0 }, { 2000, 150 } };

static void setup(void)
{
	struct rxe_sge sge[5];
	uint32_t i, done = 0;

	end = end_new(1, 1);
	for (i = 0; i < 4096; i++)
		end->mem[i] = (uint8_t)(7 * i + i / 256);
	for (i = 0; i < 5; i++) {
		/* The key of an empty element is not checked. */
		sge[i] = sge_at(pieces[i].offset, pieces[i].len, pieces[i].len ? KEY_ALL : 0xbad);
		memcpy(model + done, end->mem + pieces[i].offset, pieces[i].len);
		done += pieces[i].len;
	}
	wqe = calloc(1, sizeof(*wqe) + sizeof(sge));
	ck_assert_ptr_nonnull(wqe);
	wqe->num_sge = 5;
	wqe->len = MESSAGE;
	memcpy(wqe->tail, sge, sizeof(sge));
}

static void teardown(void)
{
	free(wqe);
	end_free(end);
}

START_TEST(gather_any_order)
{
	struct rxe_cursor cursor = { 0 };
	uint32_t seed = 12345, i;
	uint8_t got[MESSAGE];

	for (i = 0; i < 5000; i++) {
		uint32_t offset, len;

		seed = seed * 1664525u + 1013904223u;
		offset = (seed >> 8) % MESSAGE;
		len = (seed >> 20) % (MESSAGE - offset + 1);
		memset(got, 0xee, sizeof(got));
		ck_assert_int_eq(
			rxe_gather(&end->engine, FIXTURE_PD, wqe, &cursor, offset, got, len),
			MR_OK);
		ck_assert_mem_eq(got, model + offset, len);
	}
}
END_TEST

START_TEST(scatter_any_order)
{
	struct rxe_cursor cursor = { 0 };
	uint32_t offset;
	uint8_t before[4096];

	memcpy(before, end->mem, sizeof(before));
	memset(end->mem, 0, 4096);
	for (offset = 0; offset < MESSAGE; offset += 60)
		ck_assert_int_eq(rxe_scatter(&end->engine, FIXTURE_PD, rxe_wqe_sges(wqe), 5,
					     &cursor, MESSAGE - 60 - offset,
					     model + MESSAGE - 60 - offset, 60),
				 MR_OK);
	ck_assert_mem_eq(end->mem, before, 100);
	ck_assert_mem_eq(end->mem + 500, before + 500, 50);
	ck_assert_mem_eq(end->mem + 2000, before + 2000, 150);
	for (offset = 0; offset < 4096; offset++) {
		if (offset < 100 || (offset >= 500 && offset < 550) ||
		    (offset >= 2000 && offset < 2150))
			continue;
		ck_assert_uint_eq(end->mem[offset], 0);
	}
}
END_TEST

START_TEST(list_too_short)
{
	struct rxe_cursor cursor = { 0 };
	uint8_t bytes[8] = { 0 };

	ck_assert_int_eq(rxe_scatter(&end->engine, FIXTURE_PD, rxe_wqe_sges(wqe), 5, &cursor,
				     MESSAGE - 4, bytes, 8),
			 MR_BAD_RANGE);
	ck_assert_int_eq(rxe_scatter(&end->engine, FIXTURE_PD, rxe_wqe_sges(wqe), 5, &cursor,
				     MESSAGE, bytes, 0),
			 MR_OK);
	ck_assert_int_eq(rxe_scatter(&end->engine, FIXTURE_PD, NULL, 0, &cursor, 0, bytes, 1),
			 MR_BAD_RANGE);
}
END_TEST

static enum mr_check scatter_to(struct rxe_sge sge)
{
	struct rxe_cursor cursor = { 0 };
	const uint8_t byte = 0x5a;

	return rxe_scatter(&end->engine, FIXTURE_PD, &sge, 1, &cursor, 0, &byte, 1);
}

START_TEST(keys_are_checked)
{
	const struct rxe_sge readable = sge_at(0, 8, KEY_READ);
	struct rxe_cursor cursor = { 0 };
	uint8_t got[8];

	ck_assert_int_eq(scatter_to(sge_at(0, 8, KEY_ALL)), MR_OK);
	ck_assert_int_eq(scatter_to(sge_at(0, 8, KEY_READ)), MR_BAD_RIGHTS);
	ck_assert_int_eq(scatter_to(sge_at(0, 8, KEY_OTHER)), MR_BAD_PD);
	ck_assert_int_eq(scatter_to(sge_at(0, 8, KEY_UNMAPPED)), MR_FAULT);
	ck_assert_int_eq(scatter_to(sge_at(0, 8, 0xdead0000)), MR_BAD_KEY);
	ck_assert_int_eq(scatter_to(sge_at(FIXTURE_MEM, 8, KEY_ALL)), MR_BAD_RANGE);
	/* reading local memory needs no right */
	memcpy(wqe->tail, &readable, sizeof(readable));
	ck_assert_int_eq(rxe_gather(&end->engine, FIXTURE_PD, wqe, &cursor, 0, got, 8), MR_OK);
}
END_TEST

START_TEST(remote_keys)
{
	struct rxe_engine *engine = &end->engine;
	const struct rxe_key_user user = { FIXTURE_PD, 1 };
	uint64_t word = 0x1122334455667788, orig = 0;
	struct rxe_span at;

	ck_assert_int_eq(rxe_remote_write(engine, user, KEY_ALL, FIXTURE_IOVA + 8, &word, 8),
			 MR_OK);
	word = 0;
	ck_assert_int_eq(rxe_remote_read(engine, user, KEY_ALL, FIXTURE_IOVA + 8, &word, 8), MR_OK);
	ck_assert_uint_eq(word, 0x1122334455667788);
	ck_assert_int_eq(rxe_remote_atomic(engine, user, KEY_ALL, FIXTURE_IOVA + 8, RXE_FETCH_ADD,
					   2, 0, &orig),
			 MR_OK);
	ck_assert_uint_eq(orig, 0x1122334455667788);
	ck_assert_int_eq(rxe_remote_atomic(engine, user, KEY_ALL, FIXTURE_IOVA + 8, RXE_CMP_SWAP,
					   0x112233445566778a, 5, &orig),
			 MR_OK);
	memcpy(&word, end->mem + 8, 8);
	ck_assert_uint_eq(word, 5);
	ck_assert_int_eq(rxe_remote_read(engine, user, KEY_READ, FIXTURE_IOVA, &word, 8),
			 MR_BAD_RIGHTS);
	ck_assert_int_eq(rxe_remote_write(engine, user, KEY_OTHER, FIXTURE_IOVA, &word, 8),
			 MR_BAD_PD);
	ck_assert_int_eq(rxe_remote_atomic(engine, user, KEY_UNMAPPED, FIXTURE_IOVA, RXE_FETCH_ADD,
					   1, 0, &orig),
			 MR_FAULT);
	/* an access of length 0 checks no key */
	ck_assert_int_eq(rxe_reach(engine, user, 0, RXE_REMOTE_READ, 5, 0, &at), MR_OK);
	ck_assert_ptr_null(at.mr);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_sge");
	TCase *tcase = tcase_create("sge");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, gather_any_order);
	tcase_add_test(tcase, scatter_any_order);
	tcase_add_test(tcase, list_too_short);
	tcase_add_test(tcase, keys_are_checked);
	tcase_add_test(tcase, remote_keys);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
