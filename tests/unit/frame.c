/* SPDX-License-Identifier: MIT */
/* Ethernet framing against the frames of rdma_rxe (tests/wire): parsed and written again they are
 * the same bytes. Then each malformed field, one at a time, truncated frames and flipped bits. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/ethernet/frame.h"
#include "net/wire/ip.h"
#include "net/wire/packet.h"
#include "tests/suite.h"
#include "wire_vectors.h"

#define IP  14u
#define UDP (IP + 20u)

static const struct vector *vectors;
static size_t num_vectors;
static const struct vector *a_v4, *a_v6;

static enum frame_result parse_copy(struct frame *ret, const uint8_t *p, size_t len)
{
	uint8_t *copy = exact_copy(p, len);
	const enum frame_result result = frame_parse(ret, copy, len);

	if (result == FRAME_OK) {
		ck_assert(ret->payload >= copy);
		ck_assert(ret->payload + ret->payload_len <= copy + len);
	}
	free(copy);
	return result;
}

START_TEST(parse_and_emit)
{
	for (size_t i = 0; i < num_vectors; i++) {
		const struct vector *v = &vectors[i];
		uint8_t again[FRAME_MAX_HEADERS];
		struct frame frame;

		ck_assert_int_eq(frame_parse(&frame, v->frame, v->frame_len), FRAME_OK);
		ck_assert(gid_equal(&frame.src, &v->flow.src));
		ck_assert(gid_equal(&frame.dst, &v->flow.dst));
		ck_assert_uint_eq(frame.src_port, v->flow.src_port);
		ck_assert_uint_eq(frame.ip_id, v->ip_id);
		ck_assert_uint_eq(frame.traffic_class, v->traffic_class);
		ck_assert_uint_eq(frame.hop_limit, v->hop_limit);
		ck_assert_uint_eq(frame.flow_label, v->flow_label);
		ck_assert_ptr_eq(frame.payload, v->p);
		ck_assert_uint_eq(frame.payload_len, v->len);
		ck_assert_uint_eq(frame_emit_headers(again, &frame), v->frame_len - v->len);
		ck_assert_uint_eq(frame_header_len(&frame.dst), v->frame_len - v->len);
		ck_assert_msg(memcmp(again, v->frame, v->frame_len - v->len) == 0,
			      "%s packet %u has other headers when written again", v->file,
			      v->number);
	}
}
END_TEST

/* Computes the IPv4 checksum again after a change. */
static void mend(uint8_t *frame)
{
	put_be16(frame + IP + 10, 0);
	put_be16(frame + IP + 10, wire_checksum(0, frame + IP, 20));
}

/* Returns the result for a frame of which one byte was set. */
static enum frame_result with(const struct vector *v, size_t at, uint8_t value, bool mended)
{
	uint8_t *p = exact_copy(v->frame, v->frame_len);
	enum frame_result result;
	struct frame frame;

	p[at] = value;
	if (mended)
		mend(p);
	result = frame_parse(&frame, p, v->frame_len);
	free(p);
	return result;
}

START_TEST(v4_one_thing_wrong)
{
	const struct vector *v = a_v4;
	const uint8_t len_low = v->frame[IP + 3];

	ck_assert_int_eq(with(v, IP + 8, 1, true), FRAME_OK);
	ck_assert_int_eq(with(v, IP + 8, 1, false), FRAME_BAD_CHECKSUM);
	ck_assert_int_eq(with(v, IP, 0x46, true), FRAME_BAD_IP);
	ck_assert_int_eq(with(v, IP, 0x65, true), FRAME_BAD_IP);
	ck_assert_int_eq(with(v, IP, 0x44, true), FRAME_BAD_IP);
	ck_assert_int_eq(with(v, IP + 9, 6, true), FRAME_NOT_ROCE);
	ck_assert_int_eq(with(v, IP + 6, 0x60, true), FRAME_FRAGMENT);
	ck_assert_int_eq(with(v, IP + 6, 0x20, true), FRAME_FRAGMENT);
	ck_assert_int_eq(with(v, IP + 7, 1, true), FRAME_FRAGMENT);
	ck_assert_int_eq(with(v, IP + 6, 0, true), FRAME_BAD_IP);
	ck_assert_int_eq(with(v, IP + 6, 0xc0, true), FRAME_BAD_IP);
	ck_assert_int_eq(with(v, IP + 3, (uint8_t)(len_low + 1), true), FRAME_RUNT);
	ck_assert_int_eq(with(v, IP + 3, (uint8_t)(len_low - 1), true), FRAME_BAD_UDP);
	ck_assert_int_eq(with(v, IP + 3, 27, true), FRAME_RUNT);
	ck_assert_int_eq(with(v, IP + 3, 19, true), FRAME_RUNT);
	ck_assert_int_eq(with(v, IP + 2, 0xff, true), FRAME_RUNT);
	ck_assert_int_eq(with(v, 12, 0x81, false), FRAME_NOT_ROCE); /* VLAN */
	ck_assert_int_eq(with(v, 13, 0x06, false), FRAME_NOT_ROCE); /* ARP */
	ck_assert_int_eq(with(v, UDP + 2, 0x13, false), FRAME_NOT_ROCE);
	ck_assert_int_eq(with(v, UDP + 5, (uint8_t)(v->frame[UDP + 5] + 4), false), FRAME_BAD_UDP);
	ck_assert_int_eq(with(v, UDP + 5, (uint8_t)(v->frame[UDP + 5] - 4), false), FRAME_BAD_UDP);
	/* The local kernel may leave the UDP checksum incomplete: it is ignored. */
	ck_assert_int_eq(with(v, UDP + 6, 0x77, false), FRAME_OK);
}
END_TEST

START_TEST(v6_one_thing_wrong)
{
	const struct vector *v = a_v6;

	ck_assert_int_eq(with(v, IP + 7, 1, false), FRAME_OK);
	ck_assert_int_eq(with(v, IP, 0x45, false), FRAME_BAD_IP);
	ck_assert_int_eq(with(v, IP + 6, 0, false), FRAME_NOT_ROCE);  /* hop-by-hop options */
	ck_assert_int_eq(with(v, IP + 6, 44, false), FRAME_NOT_ROCE); /* a fragment */
	ck_assert_int_eq(with(v, IP + 4, 0xff, false), FRAME_RUNT);
	ck_assert_int_eq(with(v, IP + 5, (uint8_t)(v->frame[IP + 5] - 4), false), FRAME_BAD_UDP);
	ck_assert_int_eq(with(v, IP + 5, 7, false), FRAME_RUNT);
	ck_assert_int_eq(with(v, IP + 40 + 3, 0, false), FRAME_NOT_ROCE);
}
END_TEST

/* A mapped address over IPv6 would be taken for IPv4. */
START_TEST(v6_with_mapped_address)
{
	static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 10, 9, 0, 2 };
	struct frame frame;

	for (size_t at = IP + 8; at <= IP + 24; at += 16) {
		uint8_t *p = exact_copy(a_v6->frame, a_v6->frame_len);

		memcpy(p + at, mapped, 16);
		ck_assert_int_eq(frame_parse(&frame, p, a_v6->frame_len), FRAME_BAD_IP);
		free(p);
	}
}
END_TEST

START_TEST(ethernet_padding)
{
	uint8_t p[9000] = { 0 };
	struct frame frame;

	memcpy(p, a_v4->frame, a_v4->frame_len);
	ck_assert_int_eq(parse_copy(&frame, p, a_v4->frame_len + 20), FRAME_OK);
	ck_assert_uint_eq(frame.payload_len, a_v4->len);
}
END_TEST

START_TEST(every_truncation)
{
	struct frame frame;

	for (size_t i = 0; i < num_vectors; i++) {
		const struct vector *v = &vectors[i];

		if (i > 0 && v->frame_len == vectors[i - 1].frame_len)
			continue;
		for (size_t len = 0; len < v->frame_len; len++)
			ck_assert_int_eq(parse_copy(&frame, v->frame, len), FRAME_RUNT);
	}
}
END_TEST

START_TEST(bits_flipped)
{
	struct frame frame;

	for (size_t i = 0; i < num_vectors; i += 5) {
		const struct vector *v = &vectors[i];
		uint8_t *p = exact_copy(v->frame, v->frame_len);

		for (size_t bit = 0; bit < 8 * FRAME_MAX_HEADERS; bit++) {
			p[bit / 8] ^= (uint8_t)(1u << bit % 8);
			(void)parse_copy(&frame, p, v->frame_len);
			p[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		free(p);
	}
}
END_TEST

START_TEST(longest)
{
	static uint8_t p[FRAME_MAX_HEADERS + FRAME_MAX_PAYLOAD];
	struct frame frame, again;

	for (int i = 0; i < 2; i++) {
		const struct vector *v = i ? a_v6 : a_v4;
		size_t n;

		ck_assert_int_eq(frame_parse(&frame, v->frame, v->frame_len), FRAME_OK);
		frame.payload_len = FRAME_MAX_PAYLOAD;
		n = frame_emit_headers(p, &frame);
		ck_assert_int_eq(frame_parse(&again, p, n + FRAME_MAX_PAYLOAD), FRAME_OK);
		ck_assert_uint_eq(again.payload_len, FRAME_MAX_PAYLOAD);
	}
}
END_TEST

START_TEST(group_macs)
{
	static const struct gid v4 = { { [10] = 0xff, 0xff, 239, 129, 2, 3 } };
	static const struct gid v6 = { { 0xff, 0x15, [12] = 1, 2, 3, 4 } };
	uint8_t mac[FRAME_MAC_LEN];

	frame_group_mac(mac, &v4);
	ck_assert_mem_eq(mac, "\x01\x00\x5e\x01\x02\x03", 6);
	frame_group_mac(mac, &v6);
	ck_assert_mem_eq(mac, "\x33\x33\x01\x02\x03\x04", 6);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frame");
	TCase *tc = tcase_create("framing");

	num_vectors = vectors_load(&vectors);
	for (size_t i = 0; i < num_vectors; i++) {
		if (gid_is_v4(&vectors[i].flow.dst))
			a_v4 = &vectors[i];
		else
			a_v6 = &vectors[i];
	}
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, parse_and_emit);
	tcase_add_test(tc, v4_one_thing_wrong);
	tcase_add_test(tc, v6_one_thing_wrong);
	tcase_add_test(tc, v6_with_mapped_address);
	tcase_add_test(tc, ethernet_padding);
	tcase_add_test(tc, every_truncation);
	tcase_add_test(tc, bits_flipped);
	tcase_add_test(tc, longest);
	tcase_add_test(tc, group_macs);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
