/* SPDX-License-Identifier: MIT */
/* A flow rule: headers that a frame must have, with values under masks. Pure. */
#ifndef RXE_EMU_RAW_RULE_H
#define RXE_EMU_RAW_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/raw/frame.h"

#define RAW_MAX_MATCHES	  (2 * RAW_HEADERS)
#define RAW_MAX_MATCH_LEN sizeof(struct raw_ipv6)

/* One header of a rule. Bytes of value count where mask has bits; the layouts are those of
 * struct raw_level. */
struct raw_match {
	uint8_t header; /* enum raw_header */
	uint8_t inner;	/* 1: behind the tunnel's header */
	uint8_t value[RAW_MAX_MATCH_LEN], mask[RAW_MAX_MATCH_LEN];
};

/* All of them must match; none: every frame matches. */
struct raw_rule {
	uint32_t num_matches;
	struct raw_match match[RAW_MAX_MATCHES];
};

/* Bytes of a header's value and mask. */
uint32_t raw_match_len(enum raw_header header);
/* Adds a header: value and mask have raw_match_len() bytes. False: the rule has this header
 * already, or one that cannot be beside it at its level (IPv4 and IPv6; TCP, UDP and ESP), or a
 * tunnel is asked for behind a tunnel. */
bool raw_rule_add(struct raw_rule *rule, enum raw_header header, bool inner, const void *value,
		  const void *mask);
bool raw_rule_matches(const struct raw_rule *rule, const struct raw_frame *frame);
/* Whether both match the same frames, header by header. */
bool raw_rule_equal(const struct raw_rule *a, const struct raw_rule *b);

#endif
