// SPDX-License-Identifier: MIT
/* The unkind link over a link that the test plays, in the test's time. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/unkind/link.h"
#include "tests/suite.h"

#define LEN (BTH_LEN + ICRC_LEN)

/* Each packet is its stream, its number, and by how many us it is to be held. */
static struct unkind_link *unkind;
static struct link below, *link_;
static uint64_t now_ns;
static uint8_t wire[512][LEN];
static uint32_t wire_first, wire_end;

static int below_receive(struct link *base, struct wire_arrival *ret, size_t max)
{
	size_t n = 0;

	(void)base;
	while (n < max && wire_first < wire_end)
		ret[n++] = (struct wire_arrival){ .p = wire[wire_first++], .len = LEN };
	return (int)n;
}

static const struct link_ops below_ops = { .receive = below_receive };

static uint64_t hold_ns(void *arg, const struct wire_arrival *arrival, uint64_t *ret_stream)
{
	ck_assert_ptr_eq(arg, &now_ns);
	*ret_stream = arrival->p[0];
	return arrival->p[2] * 1000u;
}

static uint64_t time_ns(void *arg)
{
	(void)arg;
	return now_ns;
}

static void setup(void)
{
	const struct unkind_link_cfg cfg = { hold_ns, time_ns, &now_ns };

	below = (struct link){ .ops = &below_ops };
	now_ns = wire_first = wire_end = 0;
	unkind = unkind_link_open(&cfg);
	ck_assert_ptr_nonnull(unkind);
	link_ = unkind_link_over(unkind, &below);
}

static void teardown(void)
{
	unkind_link_close(unkind);
}

static void arrive(char stream, char number, uint8_t held_us)
{
	uint8_t *p = wire[wire_end++];

	memset(p, 0, LEN);
	p[0] = (uint8_t)stream;
	p[1] = (uint8_t)number;
	p[2] = held_us;
}

/* Receives until nothing comes at this time: "a1b2". */
static void expect_at_us(uint64_t us, const char *want)
{
	struct wire_arrival got[4];
	char text[64] = "";
	int n;

	now_ns = us * 1000;
	while ((n = link_receive(link_, got, 4)) > 0)
		for (int i = 0; i < n; i++)
			strncat(text, (const char *)got[i].p, 2);
	ck_assert_int_eq(n, 0);
	ck_assert_str_eq(text, want);
}

START_TEST(passes_what_is_not_held)
{
	arrive('a', '1', 0);
	arrive('b', '1', 0);
	expect_at_us(0, "a1b1");
	ck_assert_uint_eq(link_deadline(link_), UINT64_MAX);
}
END_TEST

START_TEST(others_pass_a_held_stream)
{
	arrive('a', '1', 10);
	arrive('b', '1', 0);
	arrive('a', '2', 0);
	arrive('b', '2', 0);
	expect_at_us(0, "b1b2");
	ck_assert_uint_eq(link_deadline(link_), 10000);
	arrive('a', '3', 0);
	arrive('b', '3', 0);
	expect_at_us(9, "b3");
	expect_at_us(10, "a1a2a3");
	ck_assert_uint_eq(link_deadline(link_), UINT64_MAX);
}
END_TEST

/* The order of a stream holds, whatever the times. */
START_TEST(a_stream_keeps_its_order)
{
	arrive('a', '1', 30);
	arrive('a', '2', 10);
	arrive('b', '1', 20);
	arrive('a', '3', 40);
	expect_at_us(0, "");
	expect_at_us(25, "b1");
	expect_at_us(30, "a1a2");
	arrive('a', '4', 0);
	expect_at_us(39, "");
	expect_at_us(40, "a3a4");
}
END_TEST

/* The bytes stay those that arrived, although the link below uses its own again. */
START_TEST(bytes_are_copied)
{
	arrive('a', '1', 10);
	expect_at_us(0, "");
	wire[0][1] = '9';
	expect_at_us(10, "a1");
}
END_TEST

/* A full queue loses nothing: the link below waits. */
START_TEST(a_full_queue_loses_nothing)
{
	struct wire_arrival got[8];
	uint32_t total = 0;
	int n;

	for (uint32_t i = 0; i < UNKIND_HELD + 100; i++)
		arrive('a', (char)('0' + i % 10), 10);
	while (link_receive(link_, got, 8) > 0 || wire_first < UNKIND_HELD)
		ck_assert_uint_le(wire_first, UNKIND_HELD);
	ck_assert_uint_eq(wire_first, UNKIND_HELD);
	ck_assert_uint_eq(link_deadline(link_), 10000);
	for (now_ns = 10000; total < UNKIND_HELD + 100; now_ns += 1000) {
		n = link_receive(link_, got, 8);
		for (int i = 0; i < n; i++)
			ck_assert_int_eq(got[i].p[1], '0' + (int)(total++ % 10));
	}
	ck_assert_uint_eq(wire_first, wire_end);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unkind_link");
	TCase *tcase = tcase_create("link");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, passes_what_is_not_held);
	tcase_add_test(tcase, others_pass_a_held_stream);
	tcase_add_test(tcase, a_stream_keeps_its_order);
	tcase_add_test(tcase, bytes_are_copied);
	tcase_add_test(tcase, a_full_queue_loses_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
