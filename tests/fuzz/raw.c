/* SPDX-License-Identifier: MIT */
/* Fuzz target: any bytes as an Ethernet frame of a raw queue pair. Nothing is read beyond it. A
 * rule made of the headers that were read matches, and with one bit changed does not. Checksums
 * that were filled in are good. The hash depends on nothing but what was read. */
#include "emu/raw/flow.h"
#include "emu/raw/frame.h"
#include "tests/fuzz/target.h"
#include "tests/raw_level.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* Every header of a level, whole. */
static void add_level(struct raw_rule *rule, const struct raw_frame *frame, bool inner)
{
	uint8_t mask[RAW_MAX_MATCH_LEN];

	memset(mask, 0xff, sizeof(mask));
	for (enum raw_header header = 0; header < RAW_HEADERS; header++) {
		if (raw_level_has(&frame->level[inner], header))
			MUST(raw_rule_add(rule, header, inner,
					  raw_level_bytes(&frame->level[inner], header), mask));
	}
}

static void check_rule(const struct raw_frame *frame, uint8_t choice)
{
	struct raw_rule rule = { 0 };
	struct raw_match *match;

	add_level(&rule, frame, false);
	add_level(&rule, frame, true);
	MUST(rule.num_matches > 0);
	MUST(raw_rule_matches(&rule, frame));
	MUST(raw_rule_equal(&rule, &rule));
	match = &rule.match[choice % rule.num_matches];
	match->value[choice % raw_match_len((enum raw_header)match->header)] ^= 1;
	MUST(!raw_rule_matches(&rule, frame));
}

static void check_checksums(const struct raw_frame *frame, uint8_t *p)
{
	const bool has_both = raw_level_has(&frame->level[0], RAW_IPV4) && frame->l4_at &&
			      (frame->level[0].has & (1u << RAW_TCP | 1u << RAW_UDP));

	(void)raw_checksums_are_good(frame, p);
	raw_checksums_fill(frame, p);
	MUST(raw_checksums_are_good(frame, p) == has_both);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rxe_rss rss = { .fields = RSS_FIELDS };
	struct raw_frame frame;
	uint8_t *p;

	if (size < 1)
		return 0;
	p = exact_block(data + 1, size - 1);
	MUST(raw_frame_parse(&frame, p, size - 1) == (size - 1 >= RAW_ETH_LEN));
	if (raw_level_has(&frame.level[0], RAW_ETH))
		check_rule(&frame, data[0]);
	memset(rss.key, data[0], sizeof(rss.key));
	MUST(rss_hash(&rss, &frame) == rss_hash(&rss, &frame));
	rss.fields &= ~(uint32_t)RSS_INNER;
	(void)rss_hash(&rss, &frame);
	check_checksums(&frame, p);
	free(p);
	return 0;
}
