// SPDX-License-Identifier: MIT
/* Sets of ranges of lib/check: what a set finds is what a look at each range finds. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check/span.h"
#include "tests/suite.h"

#define SPANS  300u
#define ROUNDS 2000u

static struct span_set set = SPAN_SET(12);
static struct span spans[SPANS];
static bool present[SPANS];
static uint32_t seen[SPANS];
static uint64_t state = 1;

static uint32_t random_below(uint32_t limit)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % limit;
}

/* Lengths from a byte to some pages, and seldom to 64 MiB, in memory where they overlap. */
static void choose(uintptr_t *ret_start, uintptr_t *ret_end)
{
	const uint32_t bits = random_below(50) ? random_below(14) : random_below(27);

	*ret_start = 0x7f0000000000ull + random_below(1u << 18);
	*ret_end = *ret_start + 1 + random_below(1u << bits);
}

static void flip(uint32_t i)
{
	if (present[i]) {
		span_remove(&set, &spans[i]);
	} else {
		choose(&spans[i].start, &spans[i].end);
		span_add(&set, &spans[i]);
	}
	present[i] = !present[i];
}

static void see(struct span *span, void *arg)
{
	(void)arg;
	seen[span - spans]++;
}

static void compare(uintptr_t start, uintptr_t end)
{
	bool any = false;

	memset(seen, 0, sizeof(seen));
	span_each(&set, start, end, see, NULL);
	for (uint32_t i = 0; i < SPANS; i++) {
		const bool expected = present[i] && span_has(&spans[i], start, end);

		ck_assert_uint_eq(seen[i], expected);
		any |= expected;
	}
	ck_assert_int_eq(span_overlaps(&set, start, end), any);
}

static void remove_all(void)
{
	for (uint32_t i = 0; i < SPANS; i++) {
		if (present[i])
			flip(i);
	}
}

START_TEST(finds_what_overlaps)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uintptr_t start, end;

		flip(random_below(SPANS));
		choose(&start, &end);
		compare(start, end);
	}
	remove_all();
	ck_assert_ptr_null(set.first);
	ck_assert_uint_eq(set.levels, 0);
	compare(0, UINTPTR_MAX);
}
END_TEST

/* What is next to a range, byte by byte. */
START_TEST(ends_are_exact)
{
	for (uint32_t i = 0; i < 4; i++) {
		spans[i].start = 0x10000 + 64 * i;
		spans[i].end = spans[i].start + 64;
		span_add(&set, &spans[i]);
		present[i] = true;
	}
	for (uintptr_t at = 0x10000 - 2; at < 0x10000 + 4 * 64 + 2; at++) {
		compare(at, at + 1);
		compare(at, at + 64);
		compare(at, at + 65);
	}
	remove_all();
}
END_TEST

static void drop(struct span *span, void *arg)
{
	see(span, arg);
	flip((uint32_t)(span - spans));
}

START_TEST(a_visit_may_remove)
{
	for (uint32_t i = 0; i < SPANS; i++)
		flip(i);
	memset(seen, 0, sizeof(seen));
	span_each(&set, 0x7f0000000000ull, 0x7f0010000000ull, drop, NULL);
	for (uint32_t i = 0; i < SPANS; i++) {
		ck_assert_uint_eq(seen[i], 1);
		ck_assert(!present[i]);
	}
	ck_assert_ptr_null(set.first);
}
END_TEST

START_TEST(a_child_begins_with_none)
{
	for (uint32_t i = 0; i < SPANS; i++)
		flip(i);
	span_set_clear(&set);
	memset(present, 0, sizeof(present));
	compare(0x7f0000000000ull, 0x7f0010000000ull);
	ck_assert_uint_eq(atomic_load(&set.count), 0);
	flip(0);
	compare(spans[0].start, spans[0].end);
	remove_all();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("check_span");
	TCase *tcase = tcase_create("span");

	tcase_add_test(tcase, finds_what_overlaps);
	tcase_add_test(tcase, ends_are_exact);
	tcase_add_test(tcase, a_visit_may_remove);
	tcase_add_test(tcase, a_child_begins_with_none);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
