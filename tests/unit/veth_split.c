/* SPDX-License-Identifier: MIT */
/* Uncut trains: their packets are found by the kernel's size or by their ICRCs. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/ethernet/private.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/suite.h"

static const struct icrc_flow flows[2] = {
	{ .src = { { [10] = 0xff, 0xff, 10, 0, 0, 1 } },
	  .dst = { { [10] = 0xff, 0xff, 10, 0, 0, 2 } },
	  .src_port = 49152 },
	{ .src = { { 0xfd, [15] = 1 } }, .dst = { { 0xfd, [15] = 2 } }, .src_port = 49153 },
};
static uint8_t buf[TRAIN_MAX_BYTES];
static uint32_t used;

struct spec {
	const struct icrc_flow *flow;
	uint16_t ip_id, id_step;
	uint8_t fill; /* payload bytes */
};

static uint32_t add(const struct spec *spec, uint32_t i, uint8_t opcode, uint32_t payload_len)
{
	struct wire_packet packet = { .bth = { .opcode = opcode,
					       .pkey = 0xffff,
					       .pad = -payload_len & 3,
					       .dest_qpn = 0x110022,
					       .psn = i } };
	uint8_t *p = buf + used;
	uint32_t n = (uint32_t)wire_emit_headers(p, &packet);

	memset(p + n, spec->fill, payload_len);
	memset(p + n + payload_len, 0, packet.bth.pad);
	n += payload_len + packet.bth.pad;
	icrc_store(p + n,
		   icrc_compute(spec->flow, (uint16_t)(spec->ip_id + i * spec->id_step), p, n));
	used += n + ICRC_LEN;
	return n + ICRC_LEN;
}

/* Makes a train of n packets of the same opcode, the last with less payload. Returns the size of
 * one. */
static uint32_t make(const struct spec *spec, uint8_t opcode, uint32_t n, uint32_t payload_len,
		     uint32_t last_len)
{
	uint32_t size = 0;

	used = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t len = add(spec, i, opcode, i + 1 == n ? last_len : payload_len);

		if (i == 0)
			size = len;
	}
	return size;
}

static struct ethernet_split split(const struct spec *spec, uint32_t gso_size)
{
	uint8_t *p = malloc(used);
	struct ethernet_split s;

	ck_assert_ptr_nonnull(p);
	memcpy(p, buf, used);
	s = ethernet_split(spec->flow, spec->ip_id, p, used, gso_size);
	free(p);
	return s;
}

START_TEST(whole_mtu)
{
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		for (uint32_t n = 1; n * (mtu + 16) < TRAIN_MAX_BYTES && n <= 64; n += 1 + n / 2) {
			const struct spec spec = { &flows[n & 1], (uint16_t)(n * 1000), 1, 0x5a };
			const uint32_t size = make(&spec, OP_SEND_MIDDLE, n, mtu, mtu);

			ck_assert_uint_eq(split(&spec, 0).seg_len, size);
			ck_assert_uint_eq(split(&spec, size).seg_len, size);
		}
	}
}
END_TEST

/* Any size, the last shorter; together smaller than a frame, so that only the ICRC decides. */
START_TEST(small_messages)
{
	for (uint32_t len = 0; len < 600; len++) {
		const struct spec spec = { &flows[len & 1], 7, 1, (uint8_t)len };
		const uint32_t size = make(&spec, OP_SEND_ONLY, 8, len, len / 2);

		ck_assert_uint_eq(split(&spec, 0).seg_len, size);
		ck_assert_uint_eq(split(&spec, 0).id_step, 1);
	}
}
END_TEST

START_TEST(acknowledges)
{
	const struct spec spec = { &flows[0], 0, 1, 0 };

	ck_assert_uint_eq(make(&spec, OP_ACKNOWLEDGE, 64, 0, 0), 20);
	ck_assert_uint_eq(split(&spec, 0).seg_len, 20);
	ck_assert_uint_eq(make(&spec, OP_READ_REQUEST, 3, 0, 0), 32);
	ck_assert_uint_eq(split(&spec, 0).seg_len, 32);
}
END_TEST

/* Cut and merged again, with equal identifications. */
START_TEST(same_identification)
{
	const struct spec spec = { &flows[0], 77, 0, 1 };
	const uint32_t size = make(&spec, OP_SEND_ONLY, 5, 100, 40);

	ck_assert_uint_eq(split(&spec, 0).seg_len, size);
	ck_assert_uint_eq(split(&spec, 0).id_step, 0);
	ck_assert_uint_eq(split(&spec, size).id_step, 0);
}
END_TEST

/* A payload that looks like packets: it stays one packet, and the search ends. */
START_TEST(payload_in_disguise)
{
	const struct spec spec = { &flows[0], 3, 1, 0 };
	uint32_t n;

	used = 0;
	n = add(&spec, 0, OP_SEND_ONLY, 4096);
	for (uint32_t at = BTH_LEN; at + BTH_LEN <= n - ICRC_LEN; at += BTH_LEN)
		memcpy(buf + at, buf, BTH_LEN);
	icrc_store(buf + n - ICRC_LEN, icrc_compute(spec.flow, 3, buf, n - ICRC_LEN));
	ck_assert_uint_eq(split(&spec, 0).seg_len, n);
	buf[50] ^= 1;
	ck_assert_uint_eq(split(&spec, 0).seg_len, n);
}
END_TEST

/* Malformed bytes are one packet, and nothing is read past them. */
START_TEST(nonsense)
{
	uint32_t state = 1;

	for (uint32_t round = 0; round < 3000; round++) {
		const struct spec spec = { &flows[round & 1], 3, 1, 0 };
		struct ethernet_split s;

		used = round % 200 + 1;
		for (uint32_t i = 0; i < used; i++)
			buf[i] = (uint8_t)((state = state * 1664525u + 1013904223u) >> 24);
		if (round & 2)
			buf[0] = (uint8_t)(round % 24), buf[1] = 0;
		ck_assert_uint_eq(split(&spec, 0).seg_len, used);
		s = split(&spec, round % 300 + 1);
		ck_assert(s.seg_len > 0 && s.seg_len <= used);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("veth_split");
	TCase *tc = tcase_create("trains");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, whole_mtu);
	tcase_add_test(tc, small_messages);
	tcase_add_test(tc, acknowledges);
	tcase_add_test(tc, same_identification);
	tcase_add_test(tc, payload_in_disguise);
	tcase_add_test(tc, nonsense);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
