/* SPDX-License-Identifier: MIT */
/* Flow rules: a table says where each header is, the rest is a comparison under a mask. */
#include "emu/raw/rule.h"

#include <string.h>

struct place {
	size_t offset; /* in struct raw_level */
	uint32_t len;
	uint32_t excludes; /* headers that no packet has beside it at one level */
};

#define AT(member) offsetof(struct raw_level, member), sizeof(((struct raw_level *)0)->member)
#define L3	   (1u << RAW_IPV4 | 1u << RAW_IPV6)
#define L4	   (1u << RAW_TCP | 1u << RAW_UDP | 1u << RAW_ESP)
#define TUNNEL	   (1u << RAW_VXLAN | 1u << RAW_GRE | 1u << RAW_MPLS)

/* clang-format off */
static const struct place places[RAW_HEADERS] = {
	[RAW_ETH]   = { AT(eth),   1u << RAW_ETH },
	[RAW_IPV4]  = { AT(ipv4),  L3 },
	[RAW_IPV6]  = { AT(ipv6),  L3 },
	[RAW_TCP]   = { AT(ports), L4 },
	[RAW_UDP]   = { AT(ports), L4 },
	[RAW_ESP]   = { AT(esp),   L4 },
	[RAW_VXLAN] = { AT(vxlan), 1u << RAW_VXLAN | 1u << RAW_GRE },
	[RAW_GRE]   = { AT(gre),   1u << RAW_VXLAN | 1u << RAW_GRE },
	[RAW_MPLS]  = { AT(mpls),  1u << RAW_MPLS | 1u << RAW_VXLAN },
};
/* clang-format on */

uint32_t raw_match_len(enum raw_header header)
{
	assert(header < RAW_HEADERS);
	return places[header].len;
}

bool raw_rule_add(struct raw_rule *rule, enum raw_header header, bool inner, const void *value,
		  const void *mask)
{
	struct raw_match *match = &rule->match[rule->num_matches];

	if (inner && (TUNNEL & 1u << header))
		return false;
	for (uint32_t i = 0; i < rule->num_matches; i++) {
		if (rule->match[i].inner == inner &&
		    (places[header].excludes & 1u << rule->match[i].header))
			return false;
	}
	assert(rule->num_matches < RAW_MAX_MATCHES);
	*match = (struct raw_match){ .header = (uint8_t)header, .inner = inner };
	memcpy(match->value, value, raw_match_len(header));
	memcpy(match->mask, mask, raw_match_len(header));
	rule->num_matches++;
	return true;
}

static bool matches(const struct raw_match *match, const struct raw_frame *frame)
{
	const struct raw_level *level = &frame->level[match->inner];
	const struct place *place = &places[match->header];
	const uint8_t *bytes = (const uint8_t *)level + place->offset;

	if (!raw_level_has(level, (enum raw_header)match->header))
		return false;
	for (uint32_t i = 0; i < place->len; i++) {
		if ((bytes[i] ^ match->value[i]) & match->mask[i])
			return false;
	}
	return true;
}

bool raw_rule_matches(const struct raw_rule *rule, const struct raw_frame *frame)
{
	for (uint32_t i = 0; i < rule->num_matches; i++) {
		if (!matches(&rule->match[i], frame))
			return false;
	}
	return true;
}

/* The same header under the same mask, with the same bits under it. */
static bool match_equal(const struct raw_match *a, const struct raw_match *b)
{
	if (a->header != b->header || a->inner != b->inner)
		return false;
	for (uint32_t i = 0; i < RAW_MAX_MATCH_LEN; i++) {
		if (a->mask[i] != b->mask[i] || ((a->value[i] ^ b->value[i]) & a->mask[i]))
			return false;
	}
	return true;
}

static bool has_equal(const struct raw_rule *rule, const struct raw_match *match)
{
	for (uint32_t i = 0; i < rule->num_matches; i++) {
		if (match_equal(&rule->match[i], match))
			return true;
	}
	return false;
}

/* A rule has each header once at most, so equal counts and one direction suffice. */
bool raw_rule_equal(const struct raw_rule *a, const struct raw_rule *b)
{
	if (a->num_matches != b->num_matches)
		return false;
	for (uint32_t i = 0; i < a->num_matches; i++) {
		if (!has_equal(b, &a->match[i]))
			return false;
	}
	return true;
}
