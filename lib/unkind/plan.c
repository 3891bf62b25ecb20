// SPDX-License-Identifier: MIT
/* Parses what is asked for, and decides by hashes. */
#include "lib/unkind/plan.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every second of the first events of a kind happens. Events past MANY are SELDOM times as rare: a
 * program that has come so far is measured, and is to take no more than three times as long. */
#define FIRST  16u
#define MANY   256u
#define SELDOM 64u

static const char *const words[] = {
#define X(name, word) #word,
	UNKIND_SWITCHES(X)
#undef X
};
static_assert(UNKIND_NUM_SWITCHES <= 32, "bits of unkind_plan.switches");

const char *unkind_switch_str(enum unkind_switch which)
{
	assert(which < UNKIND_NUM_SWITCHES);
	return words[which];
}

/* UNKIND_NUM_SWITCHES: there is none of that name. */
static uint32_t find(const char *word, size_t len)
{
	uint32_t i = 0;

	while (i < UNKIND_NUM_SWITCHES &&
	       (strlen(words[i]) != len || memcmp(words[i], word, len) != 0))
		i++;
	return i;
}

static void list_switches(const char *word, size_t len, char why[static UNKIND_WHY_MAX])
{
	int at =
		snprintf(why, UNKIND_WHY_MAX, "no switch '%.*s': there are", (int)(len % 64), word);

	for (uint32_t i = 0; i < UNKIND_NUM_SWITCHES && at > 0 && at < UNKIND_WHY_MAX; i++)
		at += snprintf(why + at, UNKIND_WHY_MAX - (size_t)at, "%s %s", i ? "," : "",
			       words[i]);
}

/* The switches after the seed. False: why. */
static bool parse_switches(const char *text, uint32_t *ret, char why[static UNKIND_WHY_MAX])
{
	uint32_t only = 0, with = 0, without = 0;

	while (*text == ',') {
		const char sign = text[1];
		const char *word = text + 1 + (sign == '-' || sign == '+');
		const size_t len = strcspn(word, ",");
		const uint32_t which = find(word, len);

		if (which == UNKIND_NUM_SWITCHES) {
			list_switches(word, len, why);
			return false;
		}
		*(sign == '-' ? &without : sign == '+' ? &with : &only) |= 1u << which;
		text = word + len;
	}
	*ret = ((only ? only : UNKIND_USUAL) | with) & ~without;
	return true;
}

bool unkind_plan_parse(struct unkind_plan *ret, const char *text, char why[static UNKIND_WHY_MAX])
{
	struct unkind_plan plan;
	char *end;

	if (strcmp(text, "none") == 0) {
		*ret = (struct unkind_plan){ 0 };
		return true;
	}
	errno = 0;
	plan.seed = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || errno || (*end && *end != ',')) {
		snprintf(why, UNKIND_WHY_MAX,
			 "'%.40s' expects SEED[,SWITCH]..., SEED a number: 1, or "
			 "7,late_reads, or 7,-fill; or none",
			 text);
		return false;
	}
	if (!parse_switches(end, &plan.switches, why))
		return false;
	*ret = plan;
	return true;
}

/* splitmix64, a bijection of each value that flips half of the bits. */
uint64_t unkind_mix(uint64_t hash, uint64_t value)
{
	uint64_t x = hash ^ (value + 0x9e3779b97f4a7c15u);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t unkind_hash(const struct unkind_plan *plan, enum unkind_switch which, uint64_t what,
		     uint32_t nth)
{
	return unkind_mix(unkind_mix(unkind_mix(plan->seed, which), what), nth);
}

bool unkind_strikes(const struct unkind_plan *plan, enum unkind_switch which, uint64_t what,
		    uint32_t nth, uint32_t rare)
{
	const uint32_t one_in = nth < FIRST ? 2 : nth < MANY ? rare : rare * SELDOM;

	assert(rare > 0);
	return unkind_has(plan, which) && unkind_hash(plan, which, what, nth) % one_in == 0;
}
