// SPDX-License-Identifier: MIT
/* The matching list of a tag-matching SRQ: order, masks, handles, unexpected messages; and random
 * operations against a model that is an array. */
#include <stdlib.h>
#include <string.h>

#include "emu/limits.h"
#include "emu/tag_list.h"
#include "net/wire/packet.h"
#include "tests/suite.h"

#define MAX 16u
#define ALL UINT64_MAX

static struct rxe_tag_list list;
static void *memory;

static void setup(void)
{
	memory = malloc(rxe_tag_list_bytes(MAX, 2));
	rxe_tag_list_init(&list, memory, MAX, 2);
}

static void teardown(void)
{
	free(memory);
}

static uint32_t add(uint64_t tag, uint64_t mask, uint64_t wr_id)
{
	const struct rxe_sge sges[] = { { .addr = wr_id, .length = 10 }, { .length = 20 } };
	const struct rxe_recv_wr wr = { .wr_id = wr_id, .num_sge = 2, .sges = sges };
	uint32_t handle = 0;

	ck_assert_int_eq(rxe_tag_list_add(&list, tag, mask, &wr, &handle), POST_OK);
	return handle;
}

/* Takes what matches: its wr_id, 0 for none. */
static uint64_t take(uint64_t tag)
{
	struct rxe_tag_entry *entry = rxe_tag_list_match(&list, tag);

	if (!entry)
		return 0;
	ck_assert_uint_eq(entry->len, 30);
	ck_assert_uint_eq(entry->sge[0].addr, entry->wr_id);
	rxe_tag_list_remove(&list, entry);
	return entry->wr_id;
}

START_TEST(oldest_that_matches)
{
	add(0x10, 0xf0, 1);
	add(0x12, ALL, 2);
	add(0x10, 0xf0, 3);
	add(0, 0, 4); /* takes any */
	ck_assert_uint_eq(take(0x12), 1);
	ck_assert_uint_eq(take(0x12), 2);
	ck_assert_uint_eq(take(0x35), 4);
	ck_assert_uint_eq(take(0x35), 0);
	ck_assert_uint_eq(take(0x12), 3);
	ck_assert_uint_eq(list.num, 0);
	/* A tag with bits outside of its mask matches nothing. */
	add(0x13, 0xf0, 5);
	ck_assert_uint_eq(take(0x13), 0);
}
END_TEST

START_TEST(handles)
{
	const uint32_t first = add(1, ALL, 1);
	uint32_t again;

	ck_assert_ptr_nonnull(rxe_tag_list_find(&list, first));
	ck_assert_ptr_null(rxe_tag_list_find(&list, first + 1));
	ck_assert_ptr_null(rxe_tag_list_find(&list, first + MAX));
	ck_assert_ptr_null(rxe_tag_list_find(&list, UINT32_MAX));
	rxe_tag_list_remove(&list, rxe_tag_list_find(&list, first));
	ck_assert_ptr_null(rxe_tag_list_find(&list, first));
	again = add(1, ALL, 2);
	ck_assert_uint_ne(again, first); /* the same place */
	ck_assert_ptr_null(rxe_tag_list_find(&list, first));
	ck_assert_uint_eq(rxe_tag_list_find(&list, again)->wr_id, 2);
}
END_TEST

START_TEST(bounds)
{
	struct rxe_sge sges[3] = { { .length = UINT32_MAX }, { .length = 2 }, { .length = 0 } };
	struct rxe_recv_wr wr = { .num_sge = 3, .sges = sges };
	uint32_t handle = 7;

	ck_assert_int_eq(rxe_tag_list_add(&list, 1, 1, &wr, &handle), POST_BAD_SGE);
	wr.num_sge = 1;
	wr.sges = NULL;
	ck_assert_int_eq(rxe_tag_list_add(&list, 1, 1, &wr, &handle), POST_BAD_SGE);
	ck_assert_uint_eq(list.num, 0);
	wr.num_sge = 2;
	wr.sges = sges;
	ck_assert_int_eq(rxe_tag_list_add(&list, 1, 1, &wr, &handle), POST_OK);
	ck_assert_uint_eq(rxe_tag_list_find(&list, handle)->len, UINT32_MAX);
	while (list.num < MAX)
		add(9, ALL, 9);
	ck_assert_int_eq(rxe_tag_list_add(&list, 1, 1, &wr, &handle), POST_FULL);
	ck_assert_uint_eq(list.num, MAX);
}
END_TEST

/* What was there before an unexpected message stays enabled, what is added after it waits until
 * the program has handled all of them. */
START_TEST(unexpected)
{
	add(1, ALL, 1);
	list.unexpected++;
	list.unexpected++;
	ck_assert(!rxe_tag_list_in_sync(&list));
	add(2, ALL, 2);
	rxe_tag_list_handled(&list, 1);
	ck_assert_uint_eq(take(2), 0);
	ck_assert_uint_eq(take(1), 1);
	rxe_tag_list_handled(&list, 2);
	ck_assert(rxe_tag_list_in_sync(&list));
	ck_assert_uint_eq(take(2), 2);
	add(3, ALL, 3);
	ck_assert_uint_eq(take(3), 3);
	/* The counts wrap. */
	list.unexpected = UINT32_MAX;
	rxe_tag_list_handled(&list, UINT32_MAX);
	list.unexpected++;
	add(4, ALL, 4);
	ck_assert_uint_eq(take(4), 0);
	rxe_tag_list_handled(&list, 0);
	ck_assert_uint_eq(take(4), 4);
}
END_TEST

struct model_entry {
	uint64_t tag, mask, wr_id;
	uint32_t handle;
	bool enabled;
};

static struct model_entry model[MAX];
static uint32_t modelled, arrived, reported;

static void model_remove(uint32_t i)
{
	memmove(&model[i], &model[i + 1], (--modelled - i) * sizeof(model[0]));
}

static uint64_t model_take(uint64_t tag)
{
	uint32_t i;

	for (i = 0; i < modelled; i++) {
		const uint64_t wr_id = model[i].wr_id;

		if (!model[i].enabled || (tag & model[i].mask) != model[i].tag)
			continue;
		model_remove(i);
		return wr_id;
	}
	return 0;
}

static void model_report(uint32_t count)
{
	uint32_t i;

	rxe_tag_list_handled(&list, count);
	reported = count;
	for (i = 0; i < modelled && reported == arrived; i++)
		model[i].enabled = true;
}

static void one_step(unsigned int *seed, uint64_t wr_id)
{
	static const uint64_t masks[] = { ALL, ALL, 6, 0 };
	const uint64_t mask = masks[(unsigned)rand_r(seed) % 4];
	const uint64_t tag = (uint64_t)rand_r(seed) % 8;
	uint32_t i;

	switch ((unsigned)rand_r(seed) % 6) {
	case 0:
	case 1:
		if (modelled == MAX)
			return;
		model[modelled] =
			(struct model_entry){ tag & mask, mask, wr_id, 0, arrived == reported };
		model[modelled++].handle = add(tag & mask, mask, wr_id);
		return;
	case 2:
		if (!modelled)
			return;
		i = (unsigned)rand_r(seed) % modelled;
		rxe_tag_list_remove(&list, rxe_tag_list_find(&list, model[i].handle));
		ck_assert_ptr_null(rxe_tag_list_find(&list, model[i].handle));
		model_remove(i);
		return;
	case 3: model_report(arrived - (unsigned)rand_r(seed) % 2); return;
	default:
		if (rxe_tag_list_match(&list, tag)) {
			ck_assert_uint_eq(take(tag), model_take(tag));
			return;
		}
		ck_assert_uint_eq(model_take(tag), 0);
		list.unexpected++;
		arrived++;
	}
}

START_TEST(as_the_model)
{
	unsigned int seed = (unsigned)_i;
	uint64_t i;

	modelled = arrived = reported = 0;
	for (i = 1; i <= 20000; i++) {
		one_step(&seed, i);
		ck_assert_uint_eq(list.num, modelled);
		ck_assert_uint_eq(rxe_tag_list_in_sync(&list), arrived == reported);
	}
}
END_TEST

START_TEST(headers)
{
	static const uint8_t bytes[TMH_LEN + RVH_LEN] = {
		1, 0, 0, 0, 0, 0, 0, 77, 1, 2, 3, 4, 5, 6, 7, 8,
		9, 8, 7, 6, 5, 4, 3, 2,	 1, 0, 0, 2, 0, 1, 0, 0,
	};
	uint8_t out[TMH_LEN + RVH_LEN];
	struct tmh tmh;
	struct rvh rvh;

	tmh_parse(&tmh, bytes);
	rvh_parse(&rvh, bytes + TMH_LEN);
	ck_assert_uint_eq(tmh.op, TMH_RNDV);
	ck_assert_uint_eq(tmh.app_ctx, 77);
	ck_assert_uint_eq(tmh.tag, 0x0102030405060708u);
	ck_assert_uint_eq(rvh.va, 0x0908070605040302u);
	ck_assert_uint_eq(rvh.rkey, 0x01000002);
	ck_assert_uint_eq(rvh.len, 0x10000);
	memset(out, 0xff, sizeof(out));
	tmh_emit(out, &tmh);
	rvh_emit(out + TMH_LEN, &rvh);
	ck_assert_mem_eq(out, bytes, sizeof(out));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_tag_list");
	TCase *tcase = tcase_create("list");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, oldest_that_matches);
	tcase_add_test(tcase, handles);
	tcase_add_test(tcase, bounds);
	tcase_add_test(tcase, unexpected);
	tcase_add_loop_test(tcase, as_the_model, 0, 20);
	tcase_add_test(tcase, headers);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
