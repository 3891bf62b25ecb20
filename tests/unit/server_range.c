// SPDX-License-Identifier: MIT
/* The arena's allocator against a model of one byte for each granule: what is granted is free,
 * aligned and inside; a refusal means that nothing fits; an empty arena is one range again. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "rxe_dm/server/range.h"
#include "tests/suite.h"

#define GRANULE	 4096u
#define GRANULES 1024u
#define ARENA	 ((uint64_t)GRANULE * GRANULES)
#define STEPS	 100000
#define MAX_LIVE 512

static struct range_map map;
static uint8_t model[GRANULES]; /* 1: granted */
static uint64_t state;

static uint32_t roll(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % below);
}

static void setup(void)
{
	ck_assert(range_map_init(&map, ARENA, GRANULE));
	memset(model, 0, sizeof(model));
	state = 1;
}

static void teardown(void)
{
	range_map_fini(&map);
}

static void mark(const struct range *range, uint8_t from, uint8_t to)
{
	for (uint64_t i = range->offset / GRANULE; i < (range->offset + range->len) / GRANULE;
	     i++) {
		ck_assert_uint_eq(model[i], from);
		model[i] = to;
	}
}

/* Whether an aligned run of n granules fits. */
static bool model_fits(uint32_t granules, uint32_t align)
{
	for (uint32_t at = 0; at + granules <= GRANULES; at += align) {
		if (!memchr(model + at, 1, granules))
			return true;
	}
	return false;
}

/* Adjacent free ranges are merged, and the list is ordered by address, without a gap. */
static void check_list(void)
{
	uint64_t at = 0, used = 0;
	bool free_before = false;

	for (const struct range *r = map.all; r; r = r->next) {
		ck_assert_uint_eq(r->offset, at);
		ck_assert_uint_gt(r->len, 0);
		ck_assert(r->used || !free_before);
		free_before = !r->used;
		at += r->len;
		used += r->used ? r->len : 0;
	}
	ck_assert_uint_eq(at, ARENA);
	ck_assert_uint_eq(used, map.used);
}

static struct range *random_alloc(void)
{
	uint64_t len = roll(8) ? 1 + roll(16 * GRANULE) : 1 + roll(256 * GRANULE);
	uint32_t granules = (uint32_t)((len + GRANULE - 1) / GRANULE);
	uint32_t log_align = roll(4) ? 0 : roll(20);
	uint32_t align = log_align > 12 ? 1u << (log_align - 12) : 1;
	struct range *range = range_alloc(&map, len, log_align);

	if (!range) {
		ck_assert_msg(!model_fits(granules, align), "%u granules at %u", granules, align);
		return NULL;
	}
	ck_assert_uint_eq(range->len, (uint64_t)granules * GRANULE);
	ck_assert_uint_eq(range->offset % ((uint64_t)align * GRANULE), 0);
	mark(range, 0, 1);
	return range;
}

START_TEST(random_against_model)
{
	struct range *live[MAX_LIVE];
	uint32_t num = 0, refused = 0;

	for (int step = 0; step < STEPS; step++) {
		if (num < MAX_LIVE && (num == 0 || roll(2))) {
			struct range *range = random_alloc();

			refused += !range;
			if (range)
				live[num++] = range;
		} else {
			uint32_t i = roll(num);

			mark(live[i], 1, 0);
			range_release(&map, live[i]);
			live[i] = live[--num];
		}
		if (step % 100 == 0)
			check_list();
	}
	ck_assert_uint_gt(refused, 0); /* else the arena was never full */
	while (num)
		range_release(&map, live[--num]);
	check_list();
	ck_assert(map.all->len == ARENA && !map.all->used && !map.all->next);
}
END_TEST

START_TEST(whole_arena_again_and_again)
{
	for (int i = 0; i < 3; i++) {
		struct range *whole = range_alloc(&map, ARENA, 0);

		ck_assert_ptr_nonnull(whole);
		ck_assert_ptr_null(range_alloc(&map, 1, 0));
		range_release(&map, whole);
	}
	ck_assert_ptr_null(range_alloc(&map, ARENA + 1, 0));
	ck_assert_ptr_null(range_alloc(&map, UINT64_MAX, 0));
	ck_assert_ptr_null(range_alloc(&map, 1, 64));
}
END_TEST

START_TEST(alignment_beyond_the_arena)
{
	struct range *first = range_alloc(&map, 1, 63), *second;

	ck_assert_ptr_nonnull(first); /* offset 0 is aligned to everything */
	ck_assert_uint_eq(first->offset, 0);
	second = range_alloc(&map, 1, 63);
	ck_assert_ptr_null(second);
	range_release(&map, first);
	check_list();
}
END_TEST

/* The header's bound, for pieces of 1 to 16 granules: while at most arena / (1 + log2(16)) is live,
 * nothing is refused. */
START_TEST(stated_bound)
{
	struct range *live[GRANULES];
	uint64_t bytes = 0, limit = ARENA / 5;
	uint32_t num = 0;

	for (int step = 0; step < STEPS; step++) {
		uint64_t len = (1 + roll(16)) * (uint64_t)GRANULE;

		if (bytes + len <= limit && roll(3)) {
			live[num] = range_alloc(&map, len, 0);
			ck_assert_ptr_nonnull(live[num++]);
			bytes += len;
		} else if (num) {
			uint32_t i = roll(num);

			bytes -= live[i]->len;
			range_release(&map, live[i]);
			live[i] = live[--num];
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("server_range");
	TCase *tcase = tcase_create("range");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, random_against_model);
	tcase_add_test(tcase, whole_arena_again_and_again);
	tcase_add_test(tcase, alignment_beyond_the_arena);
	tcase_add_test(tcase, stated_bound);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
