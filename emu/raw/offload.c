/* SPDX-License-Identifier: MIT */
/* Checksums of raw frames (RFC 791, 768, 9293, 8200). */
#include "emu/raw/offload.h"

#include "net/wire/ip.h"
#include "net/wire/packet.h"

#define PROTO_TCP 6u
#define PROTO_UDP 17u

static bool is_tcp(const struct raw_frame *frame)
{
	return raw_level_has(&frame->level[0], RAW_TCP);
}

static uint32_t checksum_at(const struct raw_frame *frame)
{
	return frame->l4_at + (is_tcp(frame) ? 16 : 6);
}

static bool has_l4(const struct raw_frame *frame)
{
	return frame->l4_at && frame->level[0].has & (1u << RAW_TCP | 1u << RAW_UDP);
}

/* The sum over the pseudo header. */
static uint32_t pseudo_sum(const struct raw_frame *frame)
{
	const struct raw_level *level = &frame->level[0];
	const bool v4 = raw_level_has(level, RAW_IPV4);
	const uint8_t *addresses =
		v4 ? (const uint8_t *)&level->ipv4 : (const uint8_t *)&level->ipv6;
	const uint32_t len = v4 ? 8 : 32; /* source and destination come first */
	uint32_t sum = frame->l4_len + (is_tcp(frame) ? PROTO_TCP : PROTO_UDP);
	uint32_t i;

	for (i = 0; i < len; i += 2)
		sum += get_be16(addresses + i);
	return sum;
}

bool raw_checksums_are_good(const struct raw_frame *frame, const uint8_t *p)
{
	if (!raw_level_has(&frame->level[0], RAW_IPV4) || !has_l4(frame) ||
	    wire_checksum(0, p + frame->l3_at, frame->l3_len) != 0)
		return false;
	/* UDP: none was computed. */
	if (!is_tcp(frame) && get_be16(p + checksum_at(frame)) == 0)
		return true;
	return wire_checksum(pseudo_sum(frame), p + frame->l4_at, frame->l4_len) == 0;
}

void raw_checksums_fill(const struct raw_frame *frame, uint8_t *p)
{
	uint16_t sum;

	if (raw_level_has(&frame->level[0], RAW_IPV4)) {
		put_be16(p + frame->l3_at + 10, 0);
		put_be16(p + frame->l3_at + 10, wire_checksum(0, p + frame->l3_at, frame->l3_len));
	}
	if (!has_l4(frame))
		return;
	put_be16(p + checksum_at(frame), 0);
	sum = wire_checksum(pseudo_sum(frame), p + frame->l4_at, frame->l4_len);
	/* 0 would mean that none was computed. */
	put_be16(p + checksum_at(frame), sum || is_tcp(frame) ? sum : 0xffff);
}
