/* SPDX-License-Identifier: MIT */
/* The receive hash against the vectors that Microsoft publishes for receive side scaling, and the
 * choice of fields. */
#include <check.h>

#include "emu/raw/flow.h"
#include "tests/raw_frame.h"
#include "tests/suite.h"

#define IPV4_FIELDS (RSS_SRC_IPV4 | RSS_DST_IPV4)
#define IPV6_FIELDS (RSS_SRC_IPV6 | RSS_DST_IPV6)
#define TCP_FIELDS  (RSS_SRC_PORT_TCP | RSS_DST_PORT_TCP)
#define UDP_FIELDS  (RSS_SRC_PORT_UDP | RSS_DST_PORT_UDP)

/* "Verifying the RSS hash calculation" of the Windows driver documentation. */
static const uint8_t key[RSS_KEY_LEN] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct vector {
	const char *src, *dst;
	uint16_t src_port, dst_port;
	uint32_t addresses, with_ports;
} v4[] = {
	{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178 },
	{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea },
	{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
	{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f },
	{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2 },
}, v6[] = {
	{ "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d },
	{ "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf },
	{ "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024,
	  0x4b61e985, 0x02d1feef },
};

static struct raw_build segment(const struct vector *v, bool is_v6)
{
	struct raw_build b = { .len = 0 };

	raw_build_eth(&b, 2, 1, is_v6 ? 0x86dd : 0x0800);
	if (is_v6)
		raw_build_ipv6(&b, v->src, v->dst, 6, 20);
	else
		raw_build_ipv4(&b, v->src, v->dst, 6, 20);
	raw_build_tcp(&b, v->src_port, v->dst_port);
	return b;
}

static uint32_t hash_of(const struct raw_build *b, uint32_t fields)
{
	struct rxe_rss rss = { .fields = fields };
	struct raw_frame frame;

	memcpy(rss.key, key, sizeof(key));
	ck_assert(raw_frame_parse(&frame, b->p, b->len));
	return rss_hash(&rss, &frame);
}

static void check_vector(const struct vector *v, bool is_v6)
{
	const struct raw_build b = segment(v, is_v6);
	const uint32_t addresses = is_v6 ? IPV6_FIELDS : IPV4_FIELDS;

	ck_assert_uint_eq(hash_of(&b, addresses), v->addresses);
	ck_assert_uint_eq(hash_of(&b, addresses | TCP_FIELDS), v->with_ports);
	/* fields that the frame lacks */
	ck_assert_uint_eq(hash_of(&b, IPV4_FIELDS | IPV6_FIELDS | UDP_FIELDS), v->addresses);
	ck_assert_uint_eq(hash_of(&b, is_v6 ? IPV4_FIELDS : IPV6_FIELDS), 0);
}

START_TEST(published_vectors)
{
	for (size_t i = 0; i < sizeof(v4) / sizeof(v4[0]); i++)
		check_vector(&v4[i], false);
	for (size_t i = 0; i < sizeof(v6) / sizeof(v6[0]); i++)
		check_vector(&v6[i], true);
}
END_TEST

START_TEST(one_field_at_a_time)
{
	static const uint32_t bits[] = { RSS_SRC_IPV4, RSS_DST_IPV4, RSS_SRC_PORT_TCP,
					 RSS_DST_PORT_TCP };
	struct vector v[5] = { v4[0], v4[0], v4[0], v4[0], v4[0] };

	v[1].src = "1.2.3.4";
	v[2].dst = "1.2.3.4";
	v[3].src_port = 1;
	v[4].dst_port = 1;
	for (size_t bit = 0; bit < 4; bit++) {
		const struct raw_build first = segment(&v[0], false);

		for (size_t i = 1; i < 5; i++) {
			const struct raw_build other = segment(&v[i], false);

			ck_assert_int_eq(hash_of(&first, bits[bit]) == hash_of(&other, bits[bit]),
					 bit + 1 != i);
		}
	}
}
END_TEST

/* A VXLAN datagram: the inner packet is hashed on request. */
START_TEST(inner_headers)
{
	struct raw_build inner = segment(&v4[0], false), b = { .len = 0 };

	raw_build_eth(&b, 4, 3, 0x0800);
	raw_build_ipv4(&b, "10.0.0.1", "10.0.0.2", 17, 16 + inner.len);
	raw_build_udp(&b, 999, 4789, 8 + inner.len);
	raw_build_add(&b, 8)[0] = 8;
	memcpy(raw_build_add(&b, inner.len), inner.p, inner.len);
	ck_assert_uint_eq(hash_of(&b, RSS_INNER | IPV4_FIELDS | TCP_FIELDS), v4[0].with_ports);
	ck_assert_uint_ne(hash_of(&b, IPV4_FIELDS), v4[0].addresses);
	ck_assert_uint_eq(hash_of(&b, TCP_FIELDS), 0);
}
END_TEST

/* RSS of a fragment uses addresses alone: its later fragments have no ports. */
START_TEST(fragments)
{
	struct raw_build b = segment(&v4[0], false);

	b.p[14 + 6] = 0x20;
	ck_assert_uint_eq(hash_of(&b, IPV4_FIELDS | TCP_FIELDS), v4[0].addresses);
	b.p[14 + 6] = 0;
	b.p[14 + 7] = 3;
	ck_assert_uint_eq(hash_of(&b, IPV4_FIELDS | TCP_FIELDS), v4[0].addresses);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("raw_rss");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, published_vectors);
	tcase_add_test(tc, one_field_at_a_time);
	tcase_add_test(tc, inner_headers);
	tcase_add_test(tc, fragments);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
