/* SPDX-License-Identifier: MIT */
/* Malformed packets: every opcode at every short length, every truncation, flipped bits. What
 * parses is sound (its payload lies inside it) and is emitted again unchanged; nothing is read past
 * the end (each input ends where its allocation ends: run it under a sanitizer or valgrind). */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "tests/suite.h"
#include "wire_vectors.h"

#define SHORT_LENGTHS 64u
#define FLIP_ROUNDS   40u

static const struct vector *vectors;
static size_t num_vectors;
static uint32_t parsed;

/* Reserved bits are not kept: a header is compared after one round, not with the input. */
static void must_survive(const struct wire_packet *packet)
{
	uint8_t once[WIRE_MAX_PACKET] = { 0 }, twice[WIRE_MAX_HEADERS];
	const size_t n = wire_emit_headers(once, packet);
	const size_t len = n + packet->payload_len + packet->bth.pad + ICRC_LEN;
	struct wire_packet again;

	ck_assert_uint_le(n, WIRE_MAX_HEADERS);
	ck_assert_uint_eq(n, wire_header_len(packet->bth.opcode));
	memcpy(once + n, packet->payload, packet->payload_len);
	ck_assert_int_eq(wire_parse(&again, once, len), WIRE_OK);
	ck_assert_uint_eq(again.payload_len, packet->payload_len);
	ck_assert_uint_eq(wire_emit_headers(twice, &again), n);
	ck_assert_mem_eq(once, twice, n);
}

static enum wire_result feed(const uint8_t *bytes, size_t len)
{
	static const struct icrc_flow flow = { 0 };
	uint8_t *p = exact_copy(bytes, len);
	struct wire_packet packet;
	const enum wire_result result = wire_parse(&packet, p, len);

	if (result == WIRE_OK) {
		ck_assert_uint_eq((size_t)(packet.payload - p) + packet.payload_len +
					  packet.bth.pad + ICRC_LEN,
				  len);
		ck_assert_uint_le(packet.payload_len, WIRE_MAX_PAYLOAD);
		must_survive(&packet);
		parsed++;
	}
	(void)icrc_check(&flow, IP_ID_ANY, 1, p, len);
	free(p);
	return result;
}

START_TEST(every_opcode_at_every_length)
{
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		for (unsigned flags = 0; flags < 256; flags++) {
			uint8_t p[SHORT_LENGTHS + 1];

			memset(p, 0x5a, sizeof(p));
			p[0] = (uint8_t)opcode;
			p[1] = (uint8_t)flags;
			for (size_t len = 0; len <= SHORT_LENGTHS; len++) {
				const enum wire_result result = feed(p, len);

				if (len < 16)
					ck_assert_int_eq(result, WIRE_RUNT);
				else if (flags & 0xf)
					ck_assert_int_eq(result, WIRE_BAD_TVER);
				else if (!wire_shape((uint8_t)opcode))
					ck_assert_int_eq(result, WIRE_BAD_OPCODE);
				else if (len & 3)
					ck_assert_int_ne(result, WIRE_OK);
			}
			flags += flags & 0xf ? 14 : 0; /* versions 0 and 1 suffice */
		}
	}
	ck_assert_uint_gt(parsed, 0);
}
END_TEST

START_TEST(every_truncation)
{
	for (size_t i = 0; i < num_vectors; i++) {
		const struct vector *v = &vectors[i];
		const uint32_t header_len = wire_header_len(v->p[0]);

		/* Repeating one packet tests nothing new. */
		if (i > 0 && v->len == vectors[i - 1].len && v->p[0] == vectors[i - 1].p[0])
			continue;
		for (size_t len = 0; len < v->len; len++) {
			const enum wire_result result = feed(v->p, len);

			if (len < header_len + ICRC_LEN)
				ck_assert_int_eq(result, WIRE_RUNT);
			ck_assert_int_ne(icrc_check(&v->flow, IP_ID_EXACT, v->ip_id, v->p, len),
					 ICRC_OK);
		}
	}
}
END_TEST

START_TEST(bits_flipped)
{
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; i < num_vectors; i++) {
		const struct vector *v = &vectors[i];

		for (uint32_t round = 0; round < FLIP_ROUNDS; round++) {
			uint8_t *p = exact_copy(v->p, v->len);

			for (uint32_t flips = round % 4 + 1; flips; flips--) {
				state ^= state << 13;
				state ^= state >> 7;
				state ^= state << 17;
				/* Half of them in the headers. */
				p[state / 16 % (state & 8 ? v->len : 16)] ^=
					(uint8_t)(1u << (state & 7));
			}
			(void)feed(p, v->len);
			free(p);
		}
	}
	ck_assert_uint_gt(parsed, 0);
}
END_TEST

START_TEST(too_long)
{
	static uint8_t p[70000] = { OP_SEND_ONLY };

	ck_assert_int_eq(feed(p, 12 + 4096 + 4), WIRE_OK);
	for (size_t len = 12 + 4096 + 5; len < sizeof(p); len += len < 4200 ? 1 : 997)
		ck_assert_int_ne(feed(p, len), WIRE_OK);
	ck_assert_int_eq(feed(p, 12 + 4096 + 8), WIRE_OVERSIZE);
	p[1] = 3 << 4; /* 4097 bytes and pad */
	ck_assert_int_eq(feed(p, 12 + 4100 + 4), WIRE_OVERSIZE);
}
END_TEST

START_TEST(pad)
{
	uint8_t p[24] = { OP_SEND_ONLY };

	for (unsigned n = 0; n < 4; n++) {
		p[1] = (uint8_t)(n << 4);
		ck_assert_int_eq(feed(p, 16), n == 0 ? WIRE_OK : WIRE_BAD_PAD);
		ck_assert_int_eq(feed(p, 20), WIRE_OK);
		ck_assert_int_eq(feed(p, 21), WIRE_BAD_PAD);
	}
	/* No payload, no pad: an acknowledge that is 4 bytes too long. */
	p[0] = OP_ACKNOWLEDGE;
	p[1] = 0;
	ck_assert_int_eq(feed(p, 20), WIRE_OK);
	ck_assert_int_eq(feed(p, 24), WIRE_BAD_SHAPE);
}
END_TEST

/* A refused packet leaves the caller's struct unchanged. */
START_TEST(untouched_when_refused)
{
	struct wire_packet packet;
	uint8_t before[sizeof(packet)];

	memset(&packet, 0x77, sizeof(packet));
	memcpy(before, &packet, sizeof(before));
	for (size_t i = 0; i < num_vectors; i++)
		ck_assert_int_ne(wire_parse(&packet, vectors[i].p, 15), WIRE_OK);
	ck_assert_mem_eq(&packet, before, sizeof(before));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wire_hostile");
	TCase *tc = tcase_create("hostile");

	num_vectors = vectors_load(&vectors);
	tcase_set_timeout(tc, 250);
	tcase_add_test(tc, every_opcode_at_every_length);
	tcase_add_test(tc, every_truncation);
	tcase_add_test(tc, bits_flipped);
	tcase_add_test(tc, too_long);
	tcase_add_test(tc, pad);
	tcase_add_test(tc, untouched_when_refused);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
