// SPDX-License-Identifier: MIT
/* The I/O map of streams; the headers of datagram rsockets, byte by byte as rdma-core has them, and
 * their addresses. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/rdmacm/rsocket/message.h"
#include "tests/suite.h"

START_TEST(offsets_in_an_io_map)
{
	static const struct rs_iomap_entry map[] = {
		{ 0, { 0, 1, 0 } }, /* not announced */
		{ 100, { 0x1000, 2, 50 } },
		{ UINT64_MAX - 9, { 0x2000, 3, 10 } },
	};
	static const struct {
		uint64_t offset;
		struct rs_sge sge;
	} rows[] = {
		{ 0, { 0 } },
		{ 99, { 0 } },
		{ 100, { 0x1000, 2, 50 } },
		{ 149, { 0x1031, 2, 1 } },
		{ 150, { 0 } },
		{ UINT64_MAX, { 0x2009, 3, 1 } },
	};
	struct rs_sge got;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		got = rs_iomap_find(map, 3, rows[i].offset);
		ck_assert_mem_eq(&got, &rows[i].sge, sizeof(got));
	}
	ck_assert_uint_eq(rs_iomap_find(map, 1, 100).length, 0);
}
END_TEST

static struct rs_address address(const char *ip, uint16_t port)
{
	uint8_t bytes[16];
	int family = strchr(ip, ':') ? AF_INET6 : AF_INET;

	ck_assert_int_eq(inet_pton(family, ip, bytes), 1);
	return rs_address_make(family, bytes, htons(port));
}

static void expect_address(const struct rs_address *got, const char *ip, uint16_t port)
{
	const struct rs_address wanted = address(ip, port);

	ck_assert(rs_address_is_equal(got, &wanted));
}

START_TEST(header_of_a_ud_message)
{
	static const uint8_t v4[] = { 4, 8, 0x1c, 0x06, 10, 0, 0, 7 };
	static const uint8_t v6[] = { 6, 24, 0x1c, 0x06, 0, 0, 0, 0, 0xfd, 0, 0, 1,
				      0, 0,  0,	   0,	 0, 0, 0, 0, 0,	   0, 0, 9 };
	struct rs_address from = address("10.0.0.7", 7174), got;
	uint8_t bytes[RS_UD_HEADER_MAX];

	ck_assert_uint_eq(rs_ud_header_emit(bytes, &from), sizeof(v4));
	ck_assert_mem_eq(bytes, v4, sizeof(v4));
	ck_assert_uint_eq(rs_ud_header_parse(&got, v4, sizeof(v4)), sizeof(v4));
	expect_address(&got, "10.0.0.7", 7174);
	from = address("fd00:1::9", 7174);
	ck_assert_uint_eq(rs_ud_header_emit(bytes, &from), sizeof(v6));
	ck_assert_mem_eq(bytes, v6, sizeof(v6));
	ck_assert_uint_eq(rs_ud_header_parse(&got, v6, sizeof(v6)), sizeof(v6));
	expect_address(&got, "fd00:1::9", 7174);
}
END_TEST

START_TEST(header_of_a_udp_message)
{
	static const uint8_t v4[] = { 0x55, 0x55, 0x55, 0x55, 4,  7, 16, 0,
				      0,    0x12, 0x34, 0x56, 10, 0, 0,	 7 };
	struct rs_udp_header got, header = { .op = RS_UDP_CONTROL,
					     .qpn = 0xff123456, /* 24 bits count */
					     .from = address("10.0.0.7", 0) };
	uint8_t bytes[RS_UDP_HEADER_MAX];

	ck_assert_uint_eq(rs_udp_header_emit(bytes, &header), sizeof(v4));
	ck_assert_mem_eq(bytes, v4, sizeof(v4));
	ck_assert_uint_eq(rs_udp_header_parse(&got, v4, sizeof(v4)), sizeof(v4));
	ck_assert_uint_eq(got.op, RS_UDP_CONTROL);
	ck_assert_uint_eq(got.qpn, 0x123456);
	expect_address(&got.from, "10.0.0.7", 0);
	header.from = address("fd00:1::9", 0);
	ck_assert_uint_eq(rs_udp_header_emit(bytes, &header), RS_UDP_HEADER_MAX);
	ck_assert_uint_eq(bytes[4], 6);
	ck_assert_uint_eq(bytes[6], RS_UDP_HEADER_MAX);
	ck_assert_uint_eq(rs_udp_header_parse(&got, bytes, RS_UDP_HEADER_MAX), RS_UDP_HEADER_MAX);
	expect_address(&got.from, "fd00:1::9", 0);
}
END_TEST

/* What is cut, or has a byte of another kind, is no header. */
START_TEST(headers_that_are_none)
{
	static const char *const ips[] = { "10.0.0.7", "fd00:1::9" };
	struct rs_udp_header udp = { .op = RS_UDP_DATA, .qpn = 1 }, got_udp;
	struct rs_address from, got;
	uint8_t bytes[RS_UDP_HEADER_MAX];
	uint32_t i, k, len;

	for (i = 0; i < 2; i++) {
		from = udp.from = address(ips[i], 1);
		len = rs_ud_header_emit(bytes, &from);
		for (k = 0; k < len; k++)
			ck_assert_uint_eq(rs_ud_header_parse(&got, bytes, k), 0);
		for (k = 0; k < 2; k++) { /* version, length */
			bytes[k] ^= 1;
			ck_assert_uint_eq(rs_ud_header_parse(&got, bytes, len), 0);
			bytes[k] ^= 1;
		}
		len = rs_udp_header_emit(bytes, &udp);
		for (k = 0; k < len; k++)
			ck_assert_uint_eq(rs_udp_header_parse(&got_udp, bytes, k), 0);
		for (k = 0; k < 7; k += k == 4 ? 2 : 1) { /* tag, version, length */
			bytes[k] ^= 1;
			ck_assert_uint_eq(rs_udp_header_parse(&got_udp, bytes, len), 0);
			bytes[k] ^= 1;
		}
	}
}
END_TEST

static struct rs_address parse(const void *name, socklen_t len)
{
	struct rs_address got;

	ck_assert_int_eq(rs_address_parse(&got, name, len), 0);
	return got;
}

START_TEST(addresses_of_both_families)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(5) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(5) };
	struct sockaddr_storage name;
	struct rs_address got;

	inet_pton(AF_INET, "10.0.0.7", &in.sin_addr);
	inet_pton(AF_INET6, "::ffff:10.0.0.7", &in6.sin6_addr);
	got = parse(&in, sizeof(in));
	expect_address(&got, "10.0.0.7", 5);
	got = parse(&in6, sizeof(in6));
	expect_address(&got, "10.0.0.7", 5);
	ck_assert_uint_eq(rs_address_emit(&name, &got, AF_INET), sizeof(in));
	ck_assert_mem_eq(&name, &in, sizeof(in));
	ck_assert_uint_eq(rs_address_emit(&name, &got, AF_INET6), sizeof(in6));
	ck_assert_mem_eq(&name, &in6, sizeof(in6));
	/* The scope counts for link-local addresses alone. */
	in6.sin6_scope_id = 3;
	inet_pton(AF_INET6, "fd00:1::9", &in6.sin6_addr);
	ck_assert_uint_eq(parse(&in6, sizeof(in6)).scope_id, 0);
	inet_pton(AF_INET6, "fe80::9", &in6.sin6_addr);
	got = parse(&in6, sizeof(in6));
	ck_assert_uint_eq(got.scope_id, 3);
	ck_assert_uint_eq(rs_address_emit(&name, &got, AF_INET6), sizeof(in6));
	ck_assert_mem_eq(&name, &in6, sizeof(in6));
}
END_TEST

START_TEST(addresses_that_are_none)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6 };
	struct rs_address got = { 0 };

	ck_assert(rs_address_is_any(&got));
	got = parse(&name, sizeof(name));
	ck_assert(rs_address_is_any(&got));
	ck_assert_int_eq(rs_address_parse(&got, (struct sockaddr *)&name, sizeof(name) - 1),
			 EINVAL);
	ck_assert_int_eq(rs_address_parse(&got, (struct sockaddr *)&name, 1), EINVAL);
	ck_assert_int_eq(rs_address_parse(&got, NULL, sizeof(name)), EINVAL);
	name.sin6_family = AF_UNIX;
	ck_assert_int_eq(rs_address_parse(&got, (struct sockaddr *)&name, sizeof(name)),
			 EAFNOSUPPORT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rsocket_message");
	TCase *tests = tcase_create("messages");

	tcase_add_test(tests, offsets_in_an_io_map);
	tcase_add_test(tests, header_of_a_ud_message);
	tcase_add_test(tests, header_of_a_udp_message);
	tcase_add_test(tests, headers_that_are_none);
	tcase_add_test(tests, addresses_of_both_families);
	tcase_add_test(tests, addresses_that_are_none);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
