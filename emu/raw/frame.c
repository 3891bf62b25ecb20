/* SPDX-License-Identifier: MIT */
/* Reads the headers of a frame: a walk from header to header over what is left of the bytes. Then
 * checksums, by the places of headers that the walk has found. */
#include "emu/raw/frame.h"

#include <string.h>

#include "net/wire/ip.h"
#include "net/wire/packet.h"

#define TYPE_IPV4   0x0800u
#define TYPE_IPV6   0x86ddu
#define TYPE_VLAN   0x8100u
#define TYPE_QINQ   0x88a8u
#define TYPE_MPLS   0x8847u
#define TYPE_MPLS_M 0x8848u
#define TYPE_TEB    0x6558u /* Ethernet in GRE */

#define PROTO_HOP_BY_HOP 0u
#define PROTO_TCP	 6u
#define PROTO_UDP	 17u
#define PROTO_ROUTING	 43u
#define PROTO_FRAGMENT	 44u
#define PROTO_GRE	 47u
#define PROTO_ESP	 50u
#define PROTO_OPTIONS	 60u
#define PROTO_NONE	 0x100u /* what follows is not looked at */

#define IPV4_MF	    0x2000u
#define IPV4_OFFSET 0x1fffu

#define PORT_VXLAN 4789u
#define PORT_MPLS  6635u

#define GRE_CHECKSUM 0x8000u
#define GRE_KEY	     0x2000u
#define GRE_SEQUENCE 0x1000u

#define MAX_TAGS       2
#define MAX_LABELS     8
#define MAX_EXTENSIONS 8

/* The bytes that are left. */
struct rest {
	const uint8_t *p;
	size_t len;
	bool is_cut; /* an IP header announced more */
};

/* What a header announces. */
enum next {
	NEXT_NOTHING,
	NEXT_ETH,
	NEXT_IPV4,
	NEXT_IPV6,
	NEXT_MPLS,
};

static void skip(struct rest *rest, size_t n)
{
	assert(n <= rest->len);
	rest->p += n;
	rest->len -= n;
}

/* As adapters do, headers are read also where the packet is shorter than it says. */
static void limit(struct rest *rest, size_t len)
{
	rest->is_cut |= len > rest->len;
	rest->len = len < rest->len ? len : rest->len;
}

static void found(struct raw_level *level, enum raw_header header)
{
	level->has |= 1u << header;
}

static enum next next_of_type(uint32_t type)
{
	switch (type) {
	case TYPE_IPV4: return NEXT_IPV4;
	case TYPE_IPV6: return NEXT_IPV6;
	case TYPE_MPLS:
	case TYPE_MPLS_M: return NEXT_MPLS;
	case TYPE_TEB: return NEXT_ETH;
	default: return NEXT_NOTHING;
	}
}

static enum next parse_eth(struct raw_level *level, struct rest *rest)
{
	struct raw_eth *eth = &level->eth;
	uint32_t type;

	if (rest->len < RAW_ETH_LEN)
		return NEXT_NOTHING;
	memcpy(eth->dst, rest->p, 6);
	memcpy(eth->src, rest->p + 6, 6);
	type = get_be16(rest->p + 12);
	skip(rest, RAW_ETH_LEN);
	for (int i = 0; (type == TYPE_VLAN || type == TYPE_QINQ) && i < MAX_TAGS; i++) {
		if (rest->len < RAW_VLAN_LEN)
			return NEXT_NOTHING;
		if (i == 0) {
			memcpy(eth->vlan, rest->p, 2);
			eth->tagged = 0xff;
		}
		type = get_be16(rest->p + 2);
		skip(rest, RAW_VLAN_LEN);
	}
	put_be16(eth->type, (uint16_t)type);
	found(level, RAW_ETH);
	/* Ethernet in Ethernet does not exist: the type is GRE's. */
	return type == TYPE_TEB ? NEXT_NOTHING : next_of_type(type);
}

/* Returns the protocol of the payload, which rest then is. */
static uint32_t parse_ipv4(struct raw_level *level, struct rest *rest)
{
	const uint8_t *p = rest->p;
	struct raw_ipv4 *ipv4 = &level->ipv4;
	uint32_t fragment, total, header;

	if (rest->len < 20 || p[0] >> 4 != 4)
		return PROTO_NONE;
	header = (p[0] & 0xfu) * 4;
	total = get_be16(p + 2);
	if (header < 20 || header > rest->len || total < header)
		return PROTO_NONE;
	fragment = get_be16(p + 6);
	memcpy(ipv4->src, p + 12, 4);
	memcpy(ipv4->dst, p + 16, 4);
	ipv4->proto = p[9];
	ipv4->tos = p[1];
	ipv4->ttl = p[8];
	/* Numbered from the reserved bit on: DF is 2, MF is 4. */
	ipv4->flags = (uint8_t)((p[6] >> 7 & 1) | (p[6] >> 5 & 2) | (p[6] >> 3 & 4));
	found(level, RAW_IPV4);
	limit(rest, total);
	skip(rest, header);
	return fragment & (IPV4_MF | IPV4_OFFSET) ? PROTO_NONE : ipv4->proto;
}

static bool is_extension(uint32_t proto)
{
	return proto == PROTO_HOP_BY_HOP || proto == PROTO_ROUTING || proto == PROTO_OPTIONS;
}

static uint32_t parse_ipv6(struct raw_level *level, struct rest *rest)
{
	const uint8_t *p = rest->p;
	struct raw_ipv6 *ipv6 = &level->ipv6;
	uint32_t proto;

	if (rest->len < 40 || p[0] >> 4 != 6)
		return PROTO_NONE;
	memcpy(ipv6->src, p + 8, 16);
	memcpy(ipv6->dst, p + 24, 16);
	put_be32(ipv6->flow_label, get_be32(p) & 0xfffff);
	ipv6->traffic_class = (uint8_t)(get_be16(p) >> 4);
	ipv6->hop_limit = p[7];
	proto = p[6];
	limit(rest, 40u + get_be16(p + 4));
	skip(rest, 40);
	for (int i = 0; is_extension(proto) && i < MAX_EXTENSIONS; i++) {
		const size_t n = rest->len < 8 ? 8 : 8u + 8u * rest->p[1];

		if (n > rest->len)
			break;
		proto = rest->p[0];
		skip(rest, n);
	}
	if (proto == PROTO_FRAGMENT && rest->len >= 8)
		ipv6->next_hdr = rest->p[0];
	else
		ipv6->next_hdr = (uint8_t)proto;
	found(level, RAW_IPV6);
	return proto == PROTO_FRAGMENT || is_extension(proto) ? PROTO_NONE : proto;
}

/* Labels up to the bottom of the stack; the first nibble after them names the payload. */
static enum next parse_mpls(struct raw_level *level, struct rest *rest)
{
	for (int i = 0; i < MAX_LABELS && rest->len >= 4; i++) {
		const bool is_bottom = rest->p[2] & 1;

		if (i == 0)
			memcpy(level->mpls, rest->p, 4);
		found(level, RAW_MPLS);
		skip(rest, 4);
		if (!is_bottom)
			continue;
		if (rest->len == 0)
			return NEXT_NOTHING;
		return rest->p[0] >> 4 == 4   ? NEXT_IPV4
		       : rest->p[0] >> 4 == 6 ? NEXT_IPV6
					      : NEXT_NOTHING;
	}
	return NEXT_NOTHING;
}

static enum next parse_gre(struct raw_level *level, struct rest *rest)
{
	uint32_t flags;
	size_t len = 4;
	enum next next;

	if (rest->len < len)
		return NEXT_NOTHING;
	flags = get_be16(rest->p);
	if (flags & GRE_CHECKSUM)
		len += 4;
	if (flags & GRE_KEY)
		len += 4;
	if (flags & GRE_SEQUENCE)
		len += 4;
	if (rest->len < len)
		return NEXT_NOTHING;
	memcpy(level->gre.flags, rest->p, 2);
	memcpy(level->gre.protocol, rest->p + 2, 2);
	if (flags & GRE_KEY)
		memcpy(level->gre.key, rest->p + (flags & GRE_CHECKSUM ? 8 : 4), 4);
	found(level, RAW_GRE);
	skip(rest, len);
	next = next_of_type(get_be16(level->gre.protocol));
	return next == NEXT_MPLS ? parse_mpls(level, rest) : next;
}

static enum next parse_vxlan(struct raw_level *level, struct rest *rest)
{
	if (rest->len < 8)
		return NEXT_NOTHING;
	put_be32(level->vxlan, get_be24(rest->p + 4));
	found(level, RAW_VXLAN);
	skip(rest, 8);
	return NEXT_ETH;
}

static enum next parse_udp(struct raw_level *level, struct rest *rest, bool is_outer)
{
	uint32_t port;

	if (rest->len < 8)
		return NEXT_NOTHING;
	port = get_be16(rest->p + 2);
	memcpy(level->ports.src, rest->p, 2);
	memcpy(level->ports.dst, rest->p + 2, 2);
	found(level, RAW_UDP);
	skip(rest, 8);
	if (is_outer && port == PORT_VXLAN)
		return parse_vxlan(level, rest);
	if (is_outer && port == PORT_MPLS)
		return parse_mpls(level, rest);
	return NEXT_NOTHING;
}

static enum next parse_l4(struct raw_level *level, struct rest *rest, uint32_t proto, bool is_outer)
{
	switch (proto) {
	case PROTO_TCP:
		if (rest->len < 20)
			return NEXT_NOTHING;
		memcpy(level->ports.src, rest->p, 2);
		memcpy(level->ports.dst, rest->p + 2, 2);
		found(level, RAW_TCP);
		return NEXT_NOTHING;
	case PROTO_UDP: return parse_udp(level, rest, is_outer);
	case PROTO_ESP:
		if (rest->len < 8)
			return NEXT_NOTHING;
		memcpy(&level->esp, rest->p, 8);
		found(level, RAW_ESP);
		return NEXT_NOTHING;
	case PROTO_GRE: return is_outer ? parse_gre(level, rest) : NEXT_NOTHING;
	default: return NEXT_NOTHING;
	}
}

/* One level, from the header that next names. Returns what its tunnel holds. */
static enum next parse_level(struct raw_frame *frame, struct rest *rest, const uint8_t *start,
			     enum next next, bool is_outer)
{
	struct raw_level *level = &frame->level[is_outer ? 0 : 1];
	const uint8_t *l3;
	uint32_t proto;

	if (next == NEXT_ETH)
		next = parse_eth(level, rest);
	if (next == NEXT_MPLS)
		return is_outer ? parse_mpls(level, rest) : NEXT_NOTHING;
	if (next != NEXT_IPV4 && next != NEXT_IPV6)
		return NEXT_NOTHING;
	l3 = rest->p;
	proto = next == NEXT_IPV4 ? parse_ipv4(level, rest) : parse_ipv6(level, rest);
	if (is_outer && (level->has & (1u << RAW_IPV4 | 1u << RAW_IPV6))) {
		frame->l3_at = (uint32_t)(l3 - start);
		frame->l3_len = (uint32_t)(rest->p - l3);
	}
	if (is_outer && !rest->is_cut && (proto == PROTO_TCP || proto == PROTO_UDP)) {
		frame->l4_at = (uint32_t)(rest->p - start);
		frame->l4_len = (uint32_t)rest->len;
	}
	return parse_l4(level, rest, proto, is_outer);
}

bool raw_frame_parse(struct raw_frame *ret, const uint8_t *p, size_t len)
{
	struct rest rest = { p, len, false };
	enum next inner;

	memset(ret, 0, sizeof(*ret));
	if (len < RAW_ETH_LEN)
		return false;
	inner = parse_level(ret, &rest, p, NEXT_ETH, true);
	if (inner != NEXT_NOTHING)
		parse_level(ret, &rest, p, inner, false);
	return true;
}

/* Checksums of raw frames (RFC 791, 768, 9293, 8200). */

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

	for (uint32_t i = 0; i < len; i += 2)
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
