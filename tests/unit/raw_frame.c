/* SPDX-License-Identifier: MIT */
/* Reading frames: each header where it is, tags, extension headers, tunnels, frames cut at every
 * byte; and the checksums of what was read. */
#include <check.h>
#include <stdlib.h>

#include "emu/raw/frame.h"
#include "net/wire/packet.h"
#include "tests/raw_frame.h"
#include "tests/suite.h"

/* From a copy of exactly len bytes, so that sanitizers see a read beyond. */
static struct raw_frame parse(const struct raw_build *b, uint32_t len)
{
	uint8_t *copy = malloc(len);
	struct raw_frame frame;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, b->p, len);
	ck_assert_int_eq(raw_frame_parse(&frame, copy, len), len >= RAW_ETH_LEN);
	free(copy);
	return frame;
}

static uint32_t bits(uint32_t a, uint32_t b, uint32_t c)
{
	return 1u << a | 1u << b | 1u << c;
}

/* A datagram to port 53, written by hand: both checksums are 0. */
static const uint8_t to_port_53[] = {
	0x52, 0x54, 0x00, 0x12, 0x35, 0x02, 0x08, 0x00, 0x27, 0x4c, 0x6d, 0x1e, 0x08, 0x00, 0x45,
	0x00, 0x00, 0x1f, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0x0a, 0x00, 0x02, 0x0f,
	0x0a, 0x00, 0x02, 0x03, 0xd2, 0x1c, 0x00, 0x35, 0x00, 0x0b, 0x00, 0x00, 0x61, 0x62, 0x63,
};

START_TEST(udp_over_ipv4)
{
	struct raw_build b = { .len = sizeof(to_port_53) };
	struct raw_frame f;

	memcpy(b.p, to_port_53, sizeof(to_port_53));
	f = parse(&b, b.len);
	ck_assert_uint_eq(f.level[0].has, bits(RAW_ETH, RAW_IPV4, RAW_UDP));
	ck_assert_uint_eq(f.level[1].has, 0);
	ck_assert_mem_eq(f.level[0].eth.dst, "\x52\x54\x00\x12\x35\x02", 6);
	ck_assert_mem_eq(f.level[0].eth.src, "\x08\x00\x27\x4c\x6d\x1e", 6);
	ck_assert_mem_eq(f.level[0].eth.type, "\x08\x00", 2);
	ck_assert_uint_eq(f.level[0].eth.tagged, 0);
	ck_assert_mem_eq(f.level[0].ipv4.src, "\x0a\0\x02\x0f", 4);
	ck_assert_mem_eq(f.level[0].ipv4.dst, "\x0a\0\x02\x03", 4);
	ck_assert_uint_eq(f.level[0].ipv4.proto, 17);
	ck_assert_uint_eq(f.level[0].ipv4.ttl, 64);
	ck_assert_uint_eq(f.level[0].ipv4.flags, 2);
	ck_assert_uint_eq(get_be16(f.level[0].ports.src), 53788);
	ck_assert_uint_eq(get_be16(f.level[0].ports.dst), 53);
	ck_assert_uint_eq(f.l3_at, 14);
	ck_assert_uint_eq(f.l4_at, 34);
	ck_assert_uint_eq(f.l4_len, 11);
}
END_TEST

START_TEST(tags)
{
	struct raw_build b = raw_build_datagram(1, 2, 30);
	struct raw_frame f;

	raw_build_tag(&b, 5u << 13 | 1u << 12 | 0xc0c);
	f = parse(&b, b.len);
	ck_assert_uint_eq(f.level[0].has, bits(RAW_ETH, RAW_IPV4, RAW_UDP));
	ck_assert_uint_eq(get_be16(f.level[0].eth.vlan), 5u << 13 | 1u << 12 | 0xc0c);
	ck_assert_uint_eq(f.level[0].eth.tagged, 0xff);
	ck_assert_mem_eq(f.level[0].eth.type, "\x08\x00", 2);
	/* two: the first one counts, and the type after the last */
	raw_build_tag(&b, 7);
	f = parse(&b, b.len);
	ck_assert_uint_eq(get_be16(f.level[0].eth.vlan), 7);
	ck_assert_mem_eq(f.level[0].eth.type, "\x08\x00", 2);
	ck_assert(raw_level_has(&f.level[0], RAW_UDP));
}
END_TEST

/* Hop-by-hop and destination options in front of TCP; a fragment header hides it. */
START_TEST(ipv6_extensions)
{
	struct raw_build b = { .len = 0 };
	uint8_t *p;
	struct raw_frame f;

	raw_build_eth(&b, 2, 1, 0x86dd);
	raw_build_ipv6(&b, "fe80::1", "fe80::2", 0, 8 + 16 + 20);
	p = raw_build_add(&b, 24);
	p[0] = 60;
	p[8] = 6;
	p[9] = 1;
	raw_build_tcp(&b, 100, 200);
	b.p[14] = 0x6a;
	b.p[15] = 0xbc;
	b.p[16] = 0xde;
	b.p[17] = 0xf0;
	f = parse(&b, b.len);
	ck_assert_uint_eq(f.level[0].has, bits(RAW_ETH, RAW_IPV6, RAW_TCP));
	ck_assert_uint_eq(f.level[0].ipv6.next_hdr, 6);
	ck_assert_uint_eq(f.level[0].ipv6.traffic_class, 0xab);
	ck_assert_uint_eq(get_be32(f.level[0].ipv6.flow_label), 0xcdef0);
	ck_assert_uint_eq(get_be16(f.level[0].ports.dst), 200);
	ck_assert_uint_eq(f.l4_len, 20);
	p[0] = 44;
	p[8] = 17;
	f = parse(&b, b.len);
	ck_assert_uint_eq(f.level[0].has, bits(RAW_ETH, RAW_IPV6, RAW_IPV6));
	ck_assert_uint_eq(f.level[0].ipv6.next_hdr, 17);
	ck_assert_uint_eq(f.l4_at, 0);
}
END_TEST

static struct raw_build vxlan(void)
{
	struct raw_build inner = raw_build_datagram(3, 4, 10), b = { .len = 0 };
	uint8_t *p;

	raw_build_eth(&b, 9, 8, 0x0800);
	raw_build_ipv4(&b, "192.0.2.1", "192.0.2.2", 17, 16 + inner.len);
	raw_build_udp(&b, 1111, 4789, 8 + inner.len);
	p = raw_build_add(&b, 8);
	p[0] = 8;
	put_be24(p + 4, 7777777);
	memcpy(raw_build_add(&b, inner.len), inner.p, inner.len);
	return b;
}

/* GRE with a key, and IPv4 or MPLS in it. */
static struct raw_build gre(uint32_t type)
{
	struct raw_build b = { .len = 0 };
	const uint32_t label = type == 0x8847 ? 4 : 0;
	uint8_t *p;

	raw_build_eth(&b, 9, 8, 0x0800);
	raw_build_ipv4(&b, "192.0.2.1", "192.0.2.2", 47, 8 + label + 48);
	p = raw_build_add(&b, 8);
	raw_build_put16(p, 0x2000);
	raw_build_put16(p + 2, type);
	put_be32(p + 4, 0x01020304);
	if (label)
		put_be32(raw_build_add(&b, 4), 77u << 12 | 1u << 8 | 64);
	raw_build_ipv4(&b, "10.0.0.1", "10.0.0.2", 17, 28);
	raw_build_udp(&b, 3, 4, 20);
	raw_build_bytes(&b, 0, 20);
	return b;
}

START_TEST(tunnels)
{
	struct raw_build b = vxlan();
	struct raw_frame f = parse(&b, b.len);

	ck_assert_uint_eq(f.level[0].has, bits(RAW_ETH, RAW_IPV4, RAW_UDP) | 1u << RAW_VXLAN);
	ck_assert_uint_eq(get_be32(f.level[0].vxlan), 7777777);
	ck_assert_uint_eq(f.level[1].has, bits(RAW_ETH, RAW_IPV4, RAW_UDP));
	ck_assert_uint_eq(get_be16(f.level[1].ports.dst), 4);
	ck_assert_uint_eq(f.level[1].eth.dst[5], 2);
	ck_assert_uint_eq(f.l3_at, 14);
	b = gre(0x0800);
	f = parse(&b, b.len);
	ck_assert_uint_eq(f.level[0].has, bits(RAW_ETH, RAW_IPV4, RAW_GRE));
	ck_assert_mem_eq(f.level[0].gre.flags, "\x20\0\x08\0\x01\x02\x03\x04", 8);
	ck_assert_uint_eq(f.level[1].has, bits(RAW_IPV4, RAW_UDP, RAW_UDP));
	b = gre(0x8847);
	f = parse(&b, b.len);
	ck_assert_uint_eq(f.level[0].has, bits(RAW_ETH, RAW_IPV4, RAW_GRE) | 1u << RAW_MPLS);
	ck_assert_uint_eq(get_be32(f.level[0].mpls) >> 12, 77);
	ck_assert_uint_eq(f.level[1].has, bits(RAW_IPV4, RAW_UDP, RAW_UDP));
}
END_TEST

/* GRE with every optional field: the key is after the checksum, the inner header after the sequence
 * number. A frame that ends within them has no GRE header. */
START_TEST(gre_with_all_fields)
{
	struct raw_build b = { .len = 0 };
	struct raw_frame f;
	uint8_t *p;

	raw_build_eth(&b, 9, 8, 0x0800);
	raw_build_ipv4(&b, "192.0.2.1", "192.0.2.2", 47, 16 + 48);
	p = raw_build_add(&b, 16);
	raw_build_put16(p, 0xb000);
	raw_build_put16(p + 2, 0x0800);
	put_be32(p + 8, 0x01020304);
	raw_build_ipv4(&b, "10.0.0.1", "10.0.0.2", 17, 28);
	raw_build_udp(&b, 3, 4, 20);
	raw_build_bytes(&b, 0, 20);
	f = parse(&b, b.len);
	ck_assert_mem_eq(f.level[0].gre.flags, "\xb0\0\x08\0\x01\x02\x03\x04", 8);
	ck_assert_uint_eq(f.level[1].has, bits(RAW_IPV4, RAW_UDP, RAW_UDP));
	ck_assert_mem_eq(f.level[1].ipv4.dst, "\x0a\0\0\x02", 4);
	f = parse(&b, 14 + 20 + 15);
	ck_assert(!raw_level_has(&f.level[0], RAW_GRE));
}
END_TEST

/* What follows the last label begins with its IP version. */
START_TEST(ipv6_after_mpls)
{
	struct raw_build b = { .len = 0 };
	struct raw_frame f;

	raw_build_eth(&b, 9, 8, 0x0800);
	raw_build_ipv4(&b, "192.0.2.1", "192.0.2.2", 17, 8 + 4 + 40 + 28);
	raw_build_udp(&b, 1, 6635, 4 + 40 + 28);
	put_be32(raw_build_add(&b, 4), 77u << 12 | 1u << 8 | 64);
	raw_build_ipv6(&b, "2001:db8::1", "2001:db8::2", 17, 28);
	raw_build_udp(&b, 3, 4, 20);
	raw_build_bytes(&b, 0, 20);
	f = parse(&b, b.len);
	ck_assert(raw_level_has(&f.level[0], RAW_MPLS));
	ck_assert_uint_eq(f.level[1].has, bits(RAW_IPV6, RAW_UDP, RAW_UDP));
}
END_TEST

/* A frame has two levels: the inner datagram to the port of MPLS is a datagram. */
START_TEST(no_tunnel_in_a_tunnel)
{
	struct raw_build b = { .len = 0 };
	struct raw_frame f;
	uint8_t *p;

	raw_build_eth(&b, 9, 8, 0x0800);
	raw_build_ipv4(&b, "192.0.2.1", "192.0.2.2", 47, 4 + 20 + 8 + 4 + 28);
	p = raw_build_add(&b, 4);
	raw_build_put16(p + 2, 0x0800);
	raw_build_ipv4(&b, "10.0.0.1", "10.0.0.2", 17, 8 + 4 + 28);
	raw_build_udp(&b, 3, 6635, 4 + 28);
	put_be32(raw_build_add(&b, 4), 77u << 12 | 1u << 8 | 64);
	raw_build_ipv4(&b, "10.0.0.3", "10.0.0.4", 17, 8);
	raw_build_udp(&b, 5, 6, 0);
	f = parse(&b, b.len);
	ck_assert_uint_eq(f.level[1].has, bits(RAW_IPV4, RAW_UDP, RAW_UDP));
}
END_TEST

/* As a frame grows, headers appear one after the other, and none disappears. A frame
 * that is shorter than its IP header says has no checksum. */
START_TEST(cut_at_every_byte)
{
	const struct raw_build frames[] = { vxlan(), gre(0x0800), gre(0x8847) };

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		uint32_t had[2] = { 0 };

		for (uint32_t len = 0; len <= frames[i].len; len++) {
			const struct raw_frame f = parse(&frames[i], len);

			for (int k = 0; k < 2; k++) {
				ck_assert_uint_eq(f.level[k].has & had[k], had[k]);
				had[k] = f.level[k].has;
			}
			ck_assert_int_eq(raw_level_has(&f.level[0], RAW_ETH), len >= RAW_ETH_LEN);
			ck_assert_int_eq(raw_level_has(&f.level[0], RAW_IPV4), len >= 34);
			ck_assert(len == frames[i].len || f.l4_at == 0);
		}
		ck_assert(had[1] & 1u << RAW_UDP);
	}
}
END_TEST

/* Any byte may be anything. */
START_TEST(any_byte)
{
	const struct raw_build frames[] = { vxlan(), gre(0x0800), gre(0x8847) };

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		for (uint32_t at = 0; at < frames[i].len; at++) {
			for (uint32_t value = 0; value < 256; value++) {
				struct raw_build b = frames[i];
				struct raw_frame f;

				b.p[at] = (uint8_t)value;
				f = parse(&b, b.len);
				raw_checksums_are_good(&f, b.p);
				raw_checksums_fill(&f, b.p);
				ck_assert(f.l4_at + f.l4_len <= b.len);
			}
		}
	}
}
END_TEST

START_TEST(checksums)
{
	struct raw_build b = raw_build_datagram(1, 2, 31);
	struct raw_frame f = parse(&b, b.len);

	/* UDP without a checksum is good if the IPv4 header is */
	ck_assert(raw_checksums_are_good(&f, b.p));
	raw_checksums_fill(&f, b.p);
	ck_assert_uint_ne(get_be16(b.p + 40), 0);
	ck_assert(raw_checksums_are_good(&f, b.p));
	b.p[50] ^= 1;
	ck_assert(!raw_checksums_are_good(&f, b.p));
	b.p[50] ^= 1;
	b.p[22]--;
	ck_assert(!raw_checksums_are_good(&f, b.p));
	raw_checksums_fill(&f, b.p);
	ck_assert(raw_checksums_are_good(&f, b.p));
	memcpy(b.p, to_port_53, sizeof(to_port_53));
	b.len = sizeof(to_port_53);
	f = parse(&b, b.len);
	raw_checksums_fill(&f, b.p);
	ck_assert(raw_checksums_are_good(&f, b.p));
}
END_TEST

/* The example header of RFC 1071's implementations: 45 00 00 73 ... has the checksum b861. */
START_TEST(known_checksum)
{
	static const uint8_t header[] = { 0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40,
					  0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8,
					  0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7 };
	struct raw_build b = { .len = 0 };
	struct raw_frame f;

	raw_build_eth(&b, 2, 1, 0x0800);
	memcpy(raw_build_add(&b, 0x73), header, sizeof(header));
	f = parse(&b, b.len);
	raw_checksums_fill(&f, b.p);
	ck_assert_uint_eq(get_be16(b.p + 14 + 10), 0xb861);
}
END_TEST

/* IPv6 has no checksum of its own; TCP's over its pseudo header is filled, and nothing is reported
 * as checked. */
START_TEST(ipv6_checksum)
{
	struct raw_build b = { .len = 0 };
	struct raw_frame f;

	raw_build_eth(&b, 2, 1, 0x86dd);
	raw_build_ipv6(&b, "::1", "::1", 6, 20);
	raw_build_tcp(&b, 1, 1);
	f = parse(&b, b.len);
	raw_checksums_fill(&f, b.p);
	/* ~(1 + 1 + 20 + 6 + 1 + 1 + 5000h) */
	ck_assert_uint_eq(get_be16(b.p + 54 + 16), (uint16_t) ~(0x5000u + 30));
	ck_assert(!raw_checksums_are_good(&f, b.p));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("raw_frame");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, udp_over_ipv4);
	tcase_add_test(tc, tags);
	tcase_add_test(tc, ipv6_extensions);
	tcase_add_test(tc, tunnels);
	tcase_add_test(tc, gre_with_all_fields);
	tcase_add_test(tc, ipv6_after_mpls);
	tcase_add_test(tc, no_tunnel_in_a_tunnel);
	tcase_add_test(tc, cut_at_every_byte);
	tcase_add_test(tc, any_byte);
	tcase_add_test(tc, checksums);
	tcase_add_test(tc, known_checksum);
	tcase_add_test(tc, ipv6_checksum);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
