// SPDX-License-Identifier: MIT
/* What RXE_DM_WORST and --worst accept, and what a seed decides. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/unkind/plan.h"
#include "tests/suite.h"

static struct unkind_plan plan;
static char why[UNKIND_WHY_MAX];

static void accept(const char *text, uint64_t seed, uint32_t switches)
{
	ck_assert_msg(unkind_plan_parse(&plan, text, why), "%s: %s", text, why);
	ck_assert_uint_eq(plan.seed, seed);
	ck_assert_uint_eq(plan.switches, switches);
}

static void refuse(const char *text, const char *reason)
{
	const struct unkind_plan before = plan;

	ck_assert(!unkind_plan_parse(&plan, text, why));
	ck_assert_msg(strstr(why, reason), "%s: %s", text, why);
	ck_assert_mem_eq(&plan, &before, sizeof(plan));
}

#define ALL	 ((1u << UNKIND_NUM_SWITCHES) - 1)
#define ONE(bit) (1u << UNKIND_##bit)

START_TEST(parses)
{
	accept("0", 0, UNKIND_USUAL);
	accept("7", 7, UNKIND_USUAL);
	accept("0xffffffffffffffff", UINT64_MAX, UNKIND_USUAL);
	accept("7,late_reads", 7, ONE(LATE_READS));
	accept("7,late_reads,fill", 7, ONE(LATE_READS) | ONE(FILL));
	accept("7,-fill", 7, UNKIND_USUAL & ~ONE(FILL));
	accept("7,-fill,-qp_order", 7, UNKIND_USUAL & ~(ONE(FILL) | ONE(QP_ORDER)));
	accept("7,+fill_receives", 7, ALL);
	accept("7,+fill_receives,-fill", 7, ALL & ~ONE(FILL));
	accept("7,fill,+qp_order", 7, ONE(FILL) | ONE(QP_ORDER));
	accept("7,fill,-fill", 7, 0);
	accept("none", 0, 0);
}
END_TEST

START_TEST(refuses)
{
	refuse("", "SEED a number");
	refuse("x", "SEED a number");
	refuse("-1", "SEED a number");
	refuse(" 1", "SEED a number");
	refuse("1x", "SEED a number");
	refuse("18446744073709551616", "SEED a number");
	refuse("1,", "no switch ''");
	refuse("1,fil", "no switch 'fil': there are late_reads");
	refuse("1,fills", "no switch 'fills'");
	refuse("1,fill,,fill", "no switch ''");
	refuse("none,fill", "SEED a number");
	refuse("1,--fill", "no switch '-fill'");
	refuse("1,+", "no switch ''");
}
END_TEST

START_TEST(every_name_is_accepted)
{
	for (uint32_t i = 0; i < UNKIND_NUM_SWITCHES; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "1,%s", unkind_switch_str(i));
		accept(text, 1, 1u << i);
		ck_assert(unkind_has(&plan, i));
	}
}
END_TEST

static uint32_t count(uint64_t seed, uint32_t switches, uint32_t from, uint32_t to)
{
	const struct unkind_plan of = { .seed = seed, .switches = switches };
	uint32_t n = 0;

	for (uint32_t nth = from; nth < to; nth++)
		n += unkind_strikes(&of, UNKIND_FILL, 3, nth, 64);
	return n;
}

/* The first 16 often, later ones seldom, after 256 very seldom; none without the switch. */
START_TEST(first_ones_are_struck_often)
{
	uint32_t first = 0, later = 0;

	for (uint64_t seed = 0; seed < 100; seed++)
		first += count(seed, ALL, 0, 16);
	ck_assert_uint_gt(first, 650);
	ck_assert_uint_lt(first, 950);
	for (uint64_t seed = 0; seed < 100; seed++)
		later += count(seed, ALL, 16, 256);
	ck_assert_uint_gt(later, 250);
	ck_assert_uint_lt(later, 500);
	ck_assert_uint_gt(count(1, ALL, 256, 409856), 60);
	ck_assert_uint_lt(count(1, ALL, 256, 409856), 150);
	ck_assert_uint_eq(count(1, ALL & ~ONE(FILL), 0, 6416), 0);
}
END_TEST

START_TEST(a_seed_repeats_and_seeds_differ)
{
	const struct unkind_plan one = { .seed = 1, .switches = ALL }, two = { 2, ALL };

	ck_assert_uint_eq(unkind_hash(&one, UNKIND_FILL, 5, 6),
			  unkind_hash(&one, UNKIND_FILL, 5, 6));
	ck_assert_uint_ne(unkind_hash(&one, UNKIND_FILL, 5, 6),
			  unkind_hash(&two, UNKIND_FILL, 5, 6));
	ck_assert_uint_ne(unkind_hash(&one, UNKIND_FILL, 5, 6),
			  unkind_hash(&one, UNKIND_QP_ORDER, 5, 6));
	for (uint64_t hash = 0; hash < 1000; hash++) {
		const uint64_t t = unkind_between(hash << 14, 10, 13);

		ck_assert(t >= 10 && t <= 13);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unkind_plan");
	TCase *tcase = tcase_create("plan");

	tcase_add_test(tcase, parses);
	tcase_add_test(tcase, refuses);
	tcase_add_test(tcase, every_name_is_accepted);
	tcase_add_test(tcase, first_ones_are_struck_often);
	tcase_add_test(tcase, a_seed_repeats_and_seeds_differ);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
