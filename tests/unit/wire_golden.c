/* SPDX-License-Identifier: MIT */
/* Packets of Linux's rdma_rxe (tests/wire): each parses, is emitted again byte for byte, and agrees
 * with its ICRC. No bit that the ICRC covers may change, and no byte beyond its end is read. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "tests/suite.h"
#include "wire_vectors.h"

#define PACKETS	     763u /* counts of tests/wire/README.md */
#define RESV8A	     4u	  /* the byte of FECN and BECN, which the ICRC does not cover */
#define BITS_CHECKED 90u  /* a packet's first and last bytes; the rest is payload */

static const struct vector *vectors;
static size_t num_vectors;

static enum icrc_result check_with(const struct vector *v, enum ip_id_rule rule, uint16_t ip_id)
{
	return icrc_check(&v->flow, rule, ip_id, v->p, v->len);
}

START_TEST(all_there)
{
	ck_assert_uint_eq(num_vectors, PACKETS);
}
END_TEST

/* Every operation of the three services: what docs/INTEROP.md states for each rests on these
 * files. FLUSH and ATOMIC_WRITE are newer than the kernel that sent them, and RAW is ours:
 * unit/wire.c has their bytes. */
START_TEST(every_operation_is_there)
{
	bool seen[256] = { false };

	for (size_t i = 0; i < num_vectors; i++)
		seen[vectors[i].p[0]] = true;
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		const enum wire_service service = opcode_service((uint8_t)opcode);

		if (!wire_shape((uint8_t)opcode) || service == WIRE_XRC || service == WIRE_CNP ||
		    service == WIRE_RAW)
			continue;
		if (wire_shape((uint8_t)opcode) & (SHAPE_FLUSH | SHAPE_ATOMIC_WRITE))
			continue;
		ck_assert_msg(seen[opcode], "no packet of %s %s", wire_service_str((uint8_t)opcode),
			      wire_op_str((uint8_t)opcode));
	}
}
END_TEST

START_TEST(parse_and_emit)
{
	for (size_t i = 0; i < num_vectors; i++) {
		const struct vector *v = &vectors[i];
		uint8_t again[WIRE_MAX_PACKET];
		struct wire_packet packet;
		size_t n;

		ck_assert_msg(wire_parse(&packet, v->p, v->len) == WIRE_OK, "%s packet %u", v->file,
			      v->number);
		n = wire_emit_headers(again, &packet);
		ck_assert_uint_eq(n, wire_header_len(packet.bth.opcode));
		memcpy(again + n, packet.payload, packet.payload_len);
		n += packet.payload_len;
		memset(again + n, 0, packet.bth.pad);
		n += packet.bth.pad;
		icrc_store(again + n, icrc_compute(&v->flow, v->ip_id, again, n));
		ck_assert_msg(n + ICRC_LEN == v->len && memcmp(again, v->p, v->len) == 0,
			      "%s packet %u differs when emitted again", v->file, v->number);
	}
}
END_TEST

/* The identification of the frame is the only one that fits. */
START_TEST(icrc_agrees)
{
	for (size_t i = 0; i < num_vectors; i++) {
		const struct vector *v = &vectors[i];
		const bool v4 = gid_is_v4(&v->flow.dst);
		const uint16_t other = (uint16_t)(v->ip_id + 1 + i);

		ck_assert_msg(check_with(v, IP_ID_EXACT, v->ip_id) == ICRC_OK, "%s packet %u",
			      v->file, v->number);
		ck_assert_int_eq(check_with(v, IP_ID_RULED, v->ip_id), ICRC_OK);
		ck_assert_int_eq(check_with(v, IP_ID_ANY, v->ip_id), ICRC_OK);
		if (!v4 || other == v->ip_id)
			continue;
		ck_assert_int_eq(check_with(v, IP_ID_EXACT, other), ICRC_BAD);
		ck_assert_int_eq(check_with(v, IP_ID_RULED, other),
				 v->ip_id == 0 ? ICRC_OK : ICRC_BAD);
		ck_assert_int_eq(check_with(v, IP_ID_ANY, other),
				 v->ip_id == 0 ? ICRC_OK : ICRC_OK_ANY);
	}
}
END_TEST

/* Counts the one-bit changes of a packet that this rule accepts. Reverts each. */
static uint32_t flips_passed(const struct vector *v, enum ip_id_rule rule, uint16_t ip_id)
{
	uint8_t *p = exact_copy(v->p, v->len);
	uint32_t passed = 0;

	for (size_t at = 0; at < v->len; at++) {
		if (at == RESV8A || (at > BITS_CHECKED && at + BITS_CHECKED < v->len))
			continue;
		for (unsigned bit = 0; bit < 8; bit++) {
			p[at] ^= (uint8_t)(1u << bit);
			passed += icrc_check(&v->flow, rule, ip_id, p, v->len) != ICRC_BAD;
			p[at] ^= (uint8_t)(1u << bit);
		}
	}
	free(p);
	return passed;
}

/* Any guess finds the packet's identification; for a corrupted packet the guess stays. */
START_TEST(identification_is_found)
{
	for (size_t i = 0; i < num_vectors; i++) {
		const struct vector *v = &vectors[i];
		uint8_t spoiled[WIRE_MAX_PACKET];
		uint16_t id = (uint16_t)(v->ip_id + 77 * i);

		icrc_find_id(&v->flow, &id, v->p, v->len);
		if (gid_is_v4(&v->flow.dst))
			ck_assert_uint_eq(id, v->ip_id);
		memcpy(spoiled, v->p, v->len);
		spoiled[v->len - 1] ^= 0x10;
		id = v->ip_id;
		icrc_find_id(&v->flow, &id, spoiled, v->len);
		ck_assert_uint_eq(id, v->ip_id);
		icrc_find_id(&v->flow, &id, v->p, 7);
		ck_assert_uint_eq(id, v->ip_id);
	}
}
END_TEST

START_TEST(every_bit_counts)
{
	for (size_t i = 0; i < num_vectors; i++)
		ck_assert_uint_eq(flips_passed(&vectors[i], IP_ID_EXACT, vectors[i].ip_id), 0);
}
END_TEST

/* A 16-bit check misses one change in 65,536: the last resort is weaker, not void. */
START_TEST(any_is_sixteen_bits_weaker)
{
	uint32_t passed = 0;

	for (size_t i = 0; i < num_vectors; i += 8)
		passed += flips_passed(&vectors[i], IP_ID_ANY, (uint16_t)(vectors[i].ip_id + 1));
	ck_assert_uint_le(passed, 8);
}
END_TEST

/* A router may change these. */
START_TEST(what_the_icrc_leaves_out)
{
	for (size_t i = 0; i < num_vectors; i++) {
		const struct vector *v = &vectors[i];
		uint8_t *p = exact_copy(v->p, v->len);

		p[RESV8A] ^= 0xc0; /* FECN and BECN */
		ck_assert_int_eq(icrc_check(&v->flow, IP_ID_EXACT, v->ip_id, p, v->len), ICRC_OK);
		free(p);
	}
}
END_TEST

/* The ICRC covers addresses and port. */
START_TEST(flow_counts)
{
	for (size_t i = 0; i < num_vectors; i += 3) {
		struct vector v = vectors[i];

		v.flow.src.raw[15] ^= 1;
		ck_assert_int_eq(check_with(&v, IP_ID_EXACT, v.ip_id), ICRC_BAD);
		v.flow.src.raw[15] ^= 1;
		v.flow.dst.raw[13] ^= 1;
		ck_assert_int_eq(check_with(&v, IP_ID_EXACT, v.ip_id), ICRC_BAD);
		v.flow.dst.raw[13] ^= 1;
		v.flow.src_port ^= 1;
		ck_assert_int_eq(check_with(&v, IP_ID_EXACT, v.ip_id), ICRC_BAD);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wire_golden");
	TCase *tc = tcase_create("packets of rdma_rxe");

	num_vectors = vectors_load(&vectors);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, all_there);
	tcase_add_test(tc, every_operation_is_there);
	tcase_add_test(tc, parse_and_emit);
	tcase_add_test(tc, icrc_agrees);
	tcase_add_test(tc, identification_is_found);
	tcase_add_test(tc, every_bit_counts);
	tcase_add_test(tc, any_is_sixteen_bits_weaker);
	tcase_add_test(tc, what_the_icrc_leaves_out);
	tcase_add_test(tc, flow_counts);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
