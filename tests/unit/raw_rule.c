/* SPDX-License-Identifier: MIT */
/* Flow rules: each field of each header decides, only under its mask, and only at its level. */
#include <check.h>

#include "emu/raw/flow.h"
#include "net/wire/packet.h"
#include "tests/raw_frame.h"
#include "tests/raw_level.h"
#include "tests/suite.h"

static struct raw_frame parsed(const struct raw_build *b)
{
	struct raw_frame frame;

	ck_assert(raw_frame_parse(&frame, b->p, b->len));
	return frame;
}

/* A frame with every header of one level, and the rule's value that it has. */
static struct raw_frame full(void)
{
	struct raw_frame frame = { 0 };

	for (uint32_t i = 0; i < 2; i++) {
		struct raw_level *level = &frame.level[i];
		uint8_t *bytes = (uint8_t *)level;

		for (size_t k = sizeof(level->has); k < sizeof(*level); k++)
			bytes[k] = (uint8_t)(k * 7 + i);
		level->has = (1u << RAW_HEADERS) - 1;
	}
	return frame;
}

static bool is_tunnel(enum raw_header header)
{
	return header == RAW_VXLAN || header == RAW_GRE || header == RAW_MPLS;
}

/* Each bit of each header, inside its mask and outside of it. */
static void each_bit(enum raw_header header, bool inner)
{
	const struct raw_frame frame = full();
	const uint32_t len = raw_match_len(header);
	uint8_t value[RAW_MAX_MATCH_LEN], mask[RAW_MAX_MATCH_LEN];

	for (uint32_t bit = 0; bit < 8 * len; bit++) {
		const uint8_t one = (uint8_t)(1u << bit % 8);
		struct raw_rule in = { 0 }, out = { 0 };

		memcpy(value, raw_level_bytes(&frame.level[inner], header), len);
		value[bit / 8] ^= one;
		memset(mask, 0, len);
		mask[bit / 8] = one;
		ck_assert(raw_rule_add(&in, header, inner, value, mask));
		ck_assert(!raw_rule_matches(&in, &frame));
		memset(mask, 0xff, len);
		mask[bit / 8] ^= one;
		ck_assert(raw_rule_add(&out, header, inner, value, mask));
		ck_assert(raw_rule_matches(&out, &frame));
	}
}

START_TEST(every_bit_under_its_mask)
{
	for (enum raw_header header = 0; header < RAW_HEADERS; header++) {
		each_bit(header, false);
		if (!is_tunnel(header))
			each_bit(header, true);
	}
}
END_TEST

/* A mask without a bit still asks for the header, at its level. */
START_TEST(the_header_must_be_there)
{
	static const uint8_t zero[RAW_MAX_MATCH_LEN];

	for (enum raw_header header = 0; header < RAW_HEADERS; header++) {
		for (int inner = 0; inner < (is_tunnel(header) ? 1 : 2); inner++) {
			struct raw_frame frame = full();
			struct raw_rule rule = { 0 };

			ck_assert(raw_rule_add(&rule, header, inner, zero, zero));
			frame.level[!inner].has = 0;
			ck_assert(raw_rule_matches(&rule, &frame));
			frame.level[inner].has &= ~(1u << header);
			frame.level[!inner].has = UINT32_MAX;
			ck_assert(!raw_rule_matches(&rule, &frame));
		}
	}
}
END_TEST

START_TEST(all_must_match)
{
	const struct raw_build b = raw_build_datagram(1234, 5678, 20);
	const struct raw_frame frame = parsed(&b);
	const struct raw_ports ports = { .dst = { 5678 >> 8, 5678 & 0xff } };
	const struct raw_ports exact = { .dst = { 0xff, 0xff } };
	const struct raw_ipv4 address = { .src = { 10, 0, 0, 1 } };
	const struct raw_ipv4 wrong = { .src = { 10, 0, 0, 3 } };
	const struct raw_ipv4 whole = { .src = { 0xff, 0xff, 0xff, 0xff } };
	const struct raw_ipv4 net = { .src = { 0xff, 0xff, 0xff, 0 } };
	struct raw_rule none = { 0 }, good = { 0 }, bad = { 0 }, subnet = { 0 };

	ck_assert(raw_rule_matches(&none, &frame));
	ck_assert(raw_rule_add(&good, RAW_UDP, false, &ports, &exact));
	ck_assert(raw_rule_add(&good, RAW_IPV4, false, &address, &whole));
	ck_assert(raw_rule_matches(&good, &frame));
	ck_assert(raw_rule_add(&bad, RAW_UDP, false, &ports, &exact));
	ck_assert(raw_rule_add(&bad, RAW_IPV4, false, &wrong, &whole));
	ck_assert(!raw_rule_matches(&bad, &frame));
	ck_assert(raw_rule_add(&subnet, RAW_IPV4, false, &wrong, &net));
	ck_assert(raw_rule_matches(&subnet, &frame));
}
END_TEST

/* Priority bits of the tag may be masked off; an untagged frame never matches a tag, not even 0. */
START_TEST(vlan)
{
	struct raw_build b = raw_build_datagram(1, 2, 20);
	struct raw_frame untagged = parsed(&b), tagged;
	struct raw_eth value = { .tagged = 0xff },
		       mask = { .vlan = { 0x0f, 0xff }, .tagged = 0xff };
	struct raw_rule rule = { 0 }, zero = { 0 };

	raw_build_tag(&b, 5u << 13 | 0x123);
	tagged = parsed(&b);
	ck_assert(raw_rule_add(&zero, RAW_ETH, false, &value, &mask));
	put_be16(value.vlan, 0x123);
	ck_assert(raw_rule_add(&rule, RAW_ETH, false, &value, &mask));
	ck_assert(raw_rule_matches(&rule, &tagged));
	ck_assert(!raw_rule_matches(&rule, &untagged));
	ck_assert(!raw_rule_matches(&zero, &tagged));
	ck_assert(!raw_rule_matches(&zero, &untagged));
}
END_TEST

START_TEST(what_cannot_be_together)
{
	static const uint8_t zero[RAW_MAX_MATCH_LEN];
	static const enum raw_header pairs[][2] = {
		{ RAW_ETH, RAW_ETH },	  { RAW_IPV4, RAW_IPV6 }, { RAW_IPV4, RAW_IPV4 },
		{ RAW_TCP, RAW_UDP },	  { RAW_UDP, RAW_ESP },	  { RAW_TCP, RAW_TCP },
		{ RAW_VXLAN, RAW_VXLAN }, { RAW_GRE, RAW_VXLAN },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct raw_rule rule = { 0 };

		ck_assert(raw_rule_add(&rule, pairs[i][0], false, zero, zero));
		ck_assert(!raw_rule_add(&rule, pairs[i][1], false, zero, zero));
		/* at the other level they can */
		ck_assert_int_eq(raw_rule_add(&rule, pairs[i][1], true, zero, zero),
				 !is_tunnel(pairs[i][1]));
	}
}
END_TEST

START_TEST(equal_rules)
{
	const struct raw_ports port = { .dst = { 1, 2 } }, other = { .dst = { 1, 3 } };
	const struct raw_ports mask = { .dst = { 0xff, 0xff } }, half = { .dst = { 0xff, 0 } };
	static const struct raw_ipv4 any;
	struct raw_rule a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

	raw_rule_add(&a, RAW_UDP, false, &port, &mask);
	raw_rule_add(&a, RAW_IPV4, false, &any, &any);
	raw_rule_add(&b, RAW_IPV4, false, &any, &any);
	ck_assert(!raw_rule_equal(&a, &b));
	raw_rule_add(&b, RAW_UDP, false, &port, &mask);
	ck_assert(raw_rule_equal(&a, &b));
	raw_rule_add(&c, RAW_IPV4, false, &any, &any);
	raw_rule_add(&c, RAW_UDP, false, &port, &half);
	ck_assert(!raw_rule_equal(&a, &c));
	/* bits outside the mask do not count */
	raw_rule_add(&d, RAW_IPV4, false, &any, &any);
	raw_rule_add(&d, RAW_UDP, false, &other, &half);
	ck_assert(raw_rule_equal(&c, &d));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("raw_rule");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, every_bit_under_its_mask);
	tcase_add_test(tc, the_header_must_be_there);
	tcase_add_test(tc, all_must_match);
	tcase_add_test(tc, vlan);
	tcase_add_test(tc, what_cannot_be_together);
	tcase_add_test(tc, equal_rules);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
