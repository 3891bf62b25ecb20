/* SPDX-License-Identifier: MIT */
/* ARP and neighbor discovery: frames as Linux sends them, each field wrong in turn, answers that a
 * second device understands; and the neighbor table in simulated time. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/ethernet/neighbor.h"
#include "net/wire/ip.h"
#include "net/wire/packet.h"
#include "tests/suite.h"

static const struct neighbor_self v4_a = { { { [10] = 0xff, 0xff, 10, 9, 0, 1 } },
					   { 2, 0, 0, 0, 0, 0xa } };
static const struct neighbor_self v4_b = { { { [10] = 0xff, 0xff, 10, 9, 0, 2 } },
					   { 2, 0, 0, 0, 0, 0xb } };
static const struct neighbor_self v6_a = { { { 0xfd, 0x77, [13] = 0x12, 0x34, 0x01 } },
					   { 2, 0, 0, 0, 0, 0xa } };
static const struct neighbor_self v6_b = { { { 0xfd, 0x77, [13] = 0x56, 0x78, 0x02 } },
					   { 2, 0, 0, 0, 0, 0xb } };

static enum neighbor_kind parse_copy(struct neighbor_message *ret, const uint8_t *p, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	enum neighbor_kind kind;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, p, len);
	kind = neighbor_parse(ret, copy, len);
	free(copy);
	return kind;
}

/* An ARP request as Linux sends it. */
START_TEST(arp_of_linux)
{
	static const uint8_t frame[42] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x0b, 0x08, 0x06,
		0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x0b,
		0x0a, 0x09, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x09, 0x00, 0x01,
	};
	struct neighbor_message message;
	uint8_t p[NEIGHBOR_FRAME_MAX];

	ck_assert_int_eq(parse_copy(&message, frame, sizeof(frame)), NEIGHBOR_SOLICITATION);
	ck_assert(gid_equal(&message.target, &v4_a.gid));
	ck_assert(gid_equal(&message.sender, &v4_b.gid));
	ck_assert(message.has_sender);
	ck_assert_mem_eq(message.mac, v4_b.mac, 6);
	ck_assert_uint_eq(neighbor_emit_solicitation(p, &v4_b, &v4_a.gid, NULL), sizeof(frame));
	ck_assert_mem_eq(p, frame, sizeof(frame));
}
END_TEST

/* A probe (RFC 5227 section 2.1.1) has no sender address, and any target MAC address. */
START_TEST(arp_probe)
{
	static const uint8_t frame[42] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x0b, 0x08, 0x06,
		0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x0b,
		0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0a, 0x09, 0x00, 0x01,
	};
	struct neighbor_message message;

	ck_assert_int_eq(parse_copy(&message, frame, sizeof(frame)), NEIGHBOR_SOLICITATION);
	ck_assert(gid_equal(&message.target, &v4_a.gid));
	ck_assert(!message.has_sender);
}
END_TEST

/* Solicitation and advertisement between two devices, and the fields of their frames. */
static void converse(const struct neighbor_self *a, const struct neighbor_self *b)
{
	uint8_t question[NEIGHBOR_FRAME_MAX], answer[NEIGHBOR_FRAME_MAX];
	struct neighbor_message solicited, answered;
	size_t n = neighbor_emit_solicitation(question, a, &b->gid, NULL);

	ck_assert_uint_le(n, NEIGHBOR_FRAME_MAX);
	ck_assert_uint_eq(question[0] & 1, 1); /* multicast */
	ck_assert_int_eq(parse_copy(&solicited, question, n), NEIGHBOR_SOLICITATION);
	ck_assert(gid_equal(&solicited.target, &b->gid) && gid_equal(&solicited.sender, &a->gid));
	ck_assert(solicited.has_sender);
	ck_assert_mem_eq(solicited.mac, a->mac, 6);

	n = neighbor_emit_advertisement(answer, b, &solicited);
	ck_assert_mem_eq(answer, a->mac, 6);
	ck_assert_mem_eq(answer + 6, b->mac, 6);
	ck_assert_int_eq(parse_copy(&answered, answer, n), NEIGHBOR_ADVERTISEMENT);
	ck_assert(gid_equal(&answered.sender, &b->gid));
	ck_assert_mem_eq(answered.mac, b->mac, 6);

	n = neighbor_emit_solicitation(question, a, &b->gid, b->mac);
	ck_assert_mem_eq(question, b->mac, 6);
	ck_assert_int_eq(parse_copy(&solicited, question, n), NEIGHBOR_SOLICITATION);
}

START_TEST(conversations)
{
	converse(&v4_a, &v4_b);
	converse(&v6_a, &v6_b);
}
END_TEST

START_TEST(announcements)
{
	struct neighbor_message message;
	uint8_t p[NEIGHBOR_FRAME_MAX];
	size_t n = neighbor_emit_announcement(p, &v4_a);

	ck_assert_int_eq(parse_copy(&message, p, n), NEIGHBOR_SOLICITATION);
	ck_assert(gid_equal(&message.target, &v4_a.gid) && gid_equal(&message.sender, &v4_a.gid));
	n = neighbor_emit_announcement(p, &v6_a);
	ck_assert_mem_eq(p, "\x33\x33\x00\x00\x00\x01", 6);
	ck_assert_int_eq(parse_copy(&message, p, n), NEIGHBOR_ADVERTISEMENT);
	ck_assert(gid_equal(&message.sender, &v6_a.gid));
}
END_TEST

static void mend(uint8_t *p, size_t len)
{
	uint32_t sum = (uint32_t)len - 54 + 58;

	put_be16(p + 56, 0);
	for (size_t i = 22; i < 54; i += 2)
		sum += get_be16(p + i);
	put_be16(p + 56, wire_checksum(sum, p + 54, len - 54));
}

/* Duplicate address detection: the sender has no address yet. */
START_TEST(nameless)
{
	struct neighbor_message message;
	uint8_t p[NEIGHBOR_FRAME_MAX], answer[NEIGHBOR_FRAME_MAX];
	size_t n = neighbor_emit_solicitation(p, &v6_a, &v6_b.gid, NULL);

	memset(p + 22, 0, 16);
	n -= 8; /* without the option of its MAC */
	put_be16(p + 18, (uint16_t)(n - 54));
	mend(p, n);
	ck_assert_int_eq(parse_copy(&message, p, n), NEIGHBOR_SOLICITATION);
	ck_assert(!message.has_sender);
	n = neighbor_emit_advertisement(answer, &v6_b, &message);
	ck_assert_mem_eq(answer, "\x33\x33\x00\x00\x00\x01", 6);
	ck_assert_uint_eq(answer[58], 0x20);
	ck_assert_int_eq(parse_copy(&message, answer, n), NEIGHBOR_ADVERTISEMENT);

	n = neighbor_emit_solicitation(p, &v4_a, &v4_b.gid, NULL);
	memset(p + 28, 0, 4);
	ck_assert_int_eq(parse_copy(&message, p, n), NEIGHBOR_SOLICITATION);
	ck_assert(!message.has_sender);
	n = neighbor_emit_advertisement(answer, &v4_b, &message);
	ck_assert_int_eq(parse_copy(&message, answer, n), NEIGHBOR_ADVERTISEMENT);
}
END_TEST

/* An advertisement without a MAC option has the frame's source. */
START_TEST(mac_of_the_frame)
{
	struct neighbor_message message = { .mac = { 2, 0, 0, 0, 0, 0xa }, .has_sender = true };
	uint8_t p[NEIGHBOR_FRAME_MAX];
	size_t n;

	message.sender = v6_a.gid;
	n = neighbor_emit_advertisement(p, &v6_b, &message) - 8;
	put_be16(p + 18, (uint16_t)(n - 54));
	mend(p, n);
	ck_assert_int_eq(parse_copy(&message, p, n), NEIGHBOR_ADVERTISEMENT);
	ck_assert_mem_eq(message.mac, v6_b.mac, 6);
}
END_TEST

/* Sets one byte; mended: with the right checksum. */
static enum neighbor_kind with(const struct neighbor_self *self, const struct gid *target,
			       size_t at, uint8_t value, bool mended)
{
	uint8_t p[NEIGHBOR_FRAME_MAX];
	const size_t n = neighbor_emit_solicitation(p, self, target, NULL);
	struct neighbor_message message;

	p[at] = value;
	if (mended)
		mend(p, n);
	return parse_copy(&message, p, n);
}

START_TEST(one_thing_wrong)
{
	const struct neighbor_self *s = &v4_a;
	const struct gid *t = &v4_b.gid;

	for (size_t at = 14; at < 20; at++)
		ck_assert_int_eq(with(s, t, at, 99, false), NEIGHBOR_OTHER);
	ck_assert_int_eq(with(s, t, 21, 3, false), NEIGHBOR_OTHER);
	/* A group's MAC as the sender. */
	ck_assert_int_eq(with(s, t, 22, 0xff, false), NEIGHBOR_OTHER);
	ck_assert_int_eq(with(s, t, 13, 0x00, false), NEIGHBOR_OTHER);

	s = &v6_a;
	t = &v6_b.gid;
	ck_assert_int_eq(with(s, t, 14, 0x45, true), NEIGHBOR_OTHER);
	ck_assert_int_eq(with(s, t, 19, 23, true), NEIGHBOR_OTHER);
	ck_assert_int_eq(with(s, t, 19, 33, true), NEIGHBOR_OTHER);
	ck_assert_int_eq(with(s, t, 20, 17, true), NEIGHBOR_OTHER);
	/* Hop limit of a routed packet. */
	ck_assert_int_eq(with(s, t, 21, 254, true), NEIGHBOR_OTHER);
	ck_assert_int_eq(with(s, t, 54, 134, true), NEIGHBOR_OTHER);
	ck_assert_int_eq(with(s, t, 55, 1, true), NEIGHBOR_OTHER);
	ck_assert_int_eq(with(s, t, 62, 0xff, true), NEIGHBOR_OTHER); /* the target is a group */
	ck_assert_int_eq(with(s, t, 79, 0, true), NEIGHBOR_OTHER);    /* an option of length 0 */
	ck_assert_int_eq(with(s, t, 79, 2, true), NEIGHBOR_OTHER);
	ck_assert_int_eq(with(s, t, 80, 4, false), NEIGHBOR_OTHER); /* checksum */
	ck_assert_int_eq(with(s, t, 80, 4, true), NEIGHBOR_SOLICITATION);
}
END_TEST

START_TEST(every_truncation)
{
	static const struct neighbor_self *const selves[] = { &v4_a, &v6_a };

	for (size_t i = 0; i < 2; i++) {
		uint8_t p[NEIGHBOR_FRAME_MAX];
		struct neighbor_message message;
		const size_t n = neighbor_emit_announcement(p, selves[i]);

		for (size_t len = 0; len < n; len++)
			ck_assert_int_eq(parse_copy(&message, p, len), NEIGHBOR_OTHER);
		for (size_t bit = 0; bit < 8 * n; bit++) {
			p[bit / 8] ^= (uint8_t)(1u << bit % 8);
			(void)parse_copy(&message, p, n);
			p[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}
END_TEST

static struct neighbor_table table;
static const uint8_t mac_1[6] = { 2, 0, 0, 0, 0, 1 }, mac_2[6] = { 2, 0, 0, 0, 0, 2 };

static void fresh_table(void)
{
	memset(&table, 0, sizeof(table));
}

static enum neighbor_step due(uint64_t now_ns, const uint8_t **ret_mac)
{
	struct gid gid;

	return neighbor_table_due(&table, now_ns, &gid, ret_mac);
}

START_TEST(ask_and_learn)
{
	bool ask;

	ck_assert_uint_eq(neighbor_table_deadline(&table), UINT64_MAX);
	ck_assert_ptr_null(neighbor_table_find(&table, &v4_b.gid, 1000, &ask));
	ck_assert(ask);
	ck_assert_ptr_null(neighbor_table_find(&table, &v4_b.gid, 2000, &ask));
	ck_assert(neighbor_table_just_solicited(&table, &v4_b.gid, 1000 + NEIGHBOR_SOON_NS - 1));
	ck_assert(!neighbor_table_just_solicited(&table, &v4_b.gid, 1000 + NEIGHBOR_SOON_NS));
	ck_assert(!ask);
	ck_assert_uint_eq(neighbor_table_deadline(&table), 1000 + NEIGHBOR_RETRY_NS);
	ck_assert(neighbor_table_learn(&table, &v4_b.gid, mac_1, SOURCE_ADVERTISEMENT, 3000));
	ck_assert_mem_eq(neighbor_table_find(&table, &v4_b.gid, 4000, &ask), mac_1, 6);
	ck_assert(!ask);
	ck_assert_uint_eq(neighbor_table_deadline(&table), UINT64_MAX);
}
END_TEST

START_TEST(nobody_answers)
{
	const uint8_t *mac;
	uint64_t now = 0;
	bool ask;

	(void)neighbor_table_find(&table, &v4_b.gid, now, &ask);
	for (uint32_t i = 1; i < NEIGHBOR_TRIES; i++) {
		ck_assert_int_eq(due(now + NEIGHBOR_RETRY_NS - 1, &mac), NEIGHBOR_NOTHING);
		now = neighbor_table_deadline(&table);
		ck_assert_int_eq(due(now, &mac), NEIGHBOR_RETRANSMIT);
		ck_assert_ptr_null(mac);
	}
	now = neighbor_table_deadline(&table);
	ck_assert_int_eq(due(now, &mac), NEIGHBOR_UNREACHABLE);
	ck_assert_int_eq(due(now, &mac), NEIGHBOR_NOTHING);
	ck_assert_ptr_null(neighbor_table_find(&table, &v4_b.gid, now, &ask));
	ck_assert(ask);
}
END_TEST

START_TEST(grown_old)
{
	const uint8_t *mac;
	uint64_t now = NEIGHBOR_FRESH_NS;
	bool ask;

	(void)neighbor_table_learn(&table, &v4_b.gid, mac_1, SOURCE_SOLICITATION, 0);
	ck_assert_mem_eq(neighbor_table_find(&table, &v4_b.gid, now - 1, &ask), mac_1, 6);
	ck_assert(!ask);
	ck_assert_mem_eq(neighbor_table_find(&table, &v4_b.gid, now, &ask), mac_1, 6);
	ck_assert(ask);
	/* The neighbor itself is solicited first, then all hosts; then the entry is deleted. */
	for (uint32_t i = 1; i < NEIGHBOR_TRIES; i++) {
		now = neighbor_table_deadline(&table);
		ck_assert_int_eq(due(now, &mac), NEIGHBOR_RETRANSMIT);
		ck_assert_int_eq(mac != NULL, i + 1 < NEIGHBOR_TRIES);
		ck_assert_ptr_nonnull(neighbor_table_find(&table, &v4_b.gid, now, &ask));
	}
	ck_assert_int_eq(due(neighbor_table_deadline(&table), &mac), NEIGHBOR_UNREACHABLE);
}
END_TEST

START_TEST(signs_of_life)
{
	const uint64_t later = NEIGHBOR_FRESH_NS - 1;
	bool ask;

	(void)neighbor_table_learn(&table, &v4_b.gid, mac_1, SOURCE_DATAGRAM, 0);
	(void)neighbor_table_learn(&table, &v4_b.gid, mac_1, SOURCE_DATAGRAM, later);
	ck_assert_ptr_nonnull(neighbor_table_find(&table, &v4_b.gid, 2 * later, &ask));
	ck_assert(!ask);
	/* A datagram does not change a known MAC; an advertisement does. */
	(void)neighbor_table_learn(&table, &v4_b.gid, mac_2, SOURCE_DATAGRAM, later);
	ck_assert_mem_eq(neighbor_table_find(&table, &v4_b.gid, later, &ask), mac_1, 6);
	(void)neighbor_table_learn(&table, &v4_b.gid, mac_2, SOURCE_ADVERTISEMENT, later);
	ck_assert_mem_eq(neighbor_table_find(&table, &v4_b.gid, later, &ask), mac_2, 6);
	/* Advertisements of unknown neighbors create no entry. */
	ck_assert(!neighbor_table_learn(&table, &v6_b.gid, mac_2, SOURCE_ADVERTISEMENT, later));
	ck_assert_ptr_null(neighbor_table_find(&table, &v6_b.gid, later, &ask));
}
END_TEST

/* More neighbors than entries: the newest are known, and the counts stay right. */
START_TEST(crowd)
{
	const uint8_t *mac;
	bool ask;

	for (uint32_t i = 0; i < 5000; i++) {
		struct gid gid = v4_a.gid;

		put_be16(gid.raw + 14, (uint16_t)i);
		if (i % 3)
			(void)neighbor_table_find(&table, &gid, i, &ask);
		else
			(void)neighbor_table_learn(&table, &gid, mac_1, SOURCE_DATAGRAM, i);
		ck_assert(i % 3 || neighbor_table_find(&table, &gid, i, &ask));
		ck_assert_uint_le(table.waiting, NEIGHBOR_SETS * NEIGHBOR_WAYS);
	}
	for (uint64_t now = NEIGHBOR_RETRY_NS; table.waiting > 0; now += NEIGHBOR_RETRY_NS)
		while (due(now + 10000, &mac) != NEIGHBOR_NOTHING)
			;
	ck_assert_uint_eq(neighbor_table_deadline(&table), UINT64_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("neighbor");
	TCase *frames = tcase_create("frames"), *known = tcase_create("table");

	tcase_add_test(frames, arp_of_linux);
	tcase_add_test(frames, arp_probe);
	tcase_add_test(frames, conversations);
	tcase_add_test(frames, announcements);
	tcase_add_test(frames, nameless);
	tcase_add_test(frames, mac_of_the_frame);
	tcase_add_test(frames, one_thing_wrong);
	tcase_add_test(frames, every_truncation);
	tcase_add_checked_fixture(known, fresh_table, NULL);
	tcase_add_test(known, ask_and_learn);
	tcase_add_test(known, nobody_answers);
	tcase_add_test(known, grown_old);
	tcase_add_test(known, signs_of_life);
	tcase_add_test(known, crowd);
	suite_add_tcase(suite, frames);
	suite_add_tcase(suite, known);
	return suite_run(suite);
}
