/* SPDX-License-Identifier: MIT */
/* The fault link over a link that the test plays: what waits, how long, and a port that is down. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inject/rule.h"
#include "net/link/fault/link.h"
#include "net/wire/packet.h"
#include "tests/suite.h"

#define LEN (BTH_LEN + ICRC_LEN)

static struct fault_link *fault;
static struct link below, *link_;
static bool is_full, is_silent;
static uint32_t sent, waiting;
static uint8_t buf[8 * LEN];

static int below_send(struct link *base, const struct wire_train *trains, size_t n)
{
	(void)base, (void)trains;
	if (is_full)
		return -EAGAIN;
	sent += (uint32_t)n;
	return (int)n;
}

static int below_receive(struct link *base, struct wire_arrival *ret, size_t max)
{
	const uint32_t n = waiting < max ? waiting : (uint32_t)max;

	(void)base;
	for (uint32_t i = 0; i < n; i++)
		ret[i] = (struct wire_arrival){ .p = buf, .len = LEN };
	waiting -= n;
	return (int)n;
}

static const struct link_ops below_ops = { .send = below_send, .receive = below_receive };

static bool port_is_down(void *arg)
{
	(void)arg;
	return is_silent;
}

static void setup(void)
{
	const struct fault_link_cfg cfg = { .is_silent = port_is_down };

	below = (struct link){ .ops = &below_ops };
	is_full = is_silent = false;
	sent = waiting = 0;
	memset(buf, 0, sizeof(buf));
	fault = fault_link_open(&cfg, &below);
	ck_assert_ptr_nonnull(fault);
	link_ = fault_link_over(fault, &below);
}

static void teardown(void)
{
	fault_link_close(fault);
}

static void rule(const char *text)
{
	static struct inject_rules rules;
	char why[INJECT_TEXT_MAX];

	rules = (struct inject_rules){ 0 };
	ck_assert_msg(inject_rules_add_text(&rules, text, why), "%s", why);
	inject_packet_rules(fault_link_rules(fault), &rules);
}

static void send_one(void)
{
	const struct wire_train train = { .buf = buf, .len = LEN, .seg_len = LEN, .segs = 1 };

	ck_assert_int_eq(link_send(link_, &train, 1), 1);
}

/* A train that the link below does not take is offered again: the link has a deadline meanwhile. */
START_TEST(offered_again)
{
	struct wire_arrival got;

	rule("drop psn=1");
	ck_assert_uint_eq(link_deadline(link_), UINT64_MAX);
	is_full = true;
	send_one();
	ck_assert_uint_lt(link_deadline(link_), UINT64_MAX);
	ck_assert_int_eq(link_receive(link_, &got, 1), 0);
	ck_assert_uint_lt(link_deadline(link_), UINT64_MAX);
	is_full = false;
	ck_assert_int_eq(link_receive(link_, &got, 1), 0);
	ck_assert_uint_eq(sent, 1);
	ck_assert_uint_eq(link_deadline(link_), UINT64_MAX);
}
END_TEST

/* Arrivals that the caller has no room for wait, and are lost when the port goes down. */
START_TEST(port_down)
{
	struct wire_arrival got[4];

	rule("rnr_nak dir=in psn=1"); /* such a rule gets one arrival in each call */
	waiting = 3;
	ck_assert_int_eq(link_receive(link_, got, 4), 1);
	ck_assert_uint_eq(link_deadline(link_), 0);
	is_silent = true;
	waiting = 2;
	ck_assert_int_eq(link_receive(link_, got, 4), 0);
	ck_assert_uint_eq(fault_link_stats(fault).silent_drops, 4);
	send_one();
	ck_assert_uint_eq(sent, 0);
	ck_assert_uint_eq(fault_link_stats(fault).silent_drops, 5);
	is_silent = false;
	ck_assert_uint_eq(link_deadline(link_), UINT64_MAX);
	ck_assert_int_eq(link_receive(link_, got, 4), 0);
	waiting = 2;
	ck_assert_int_eq(link_receive(link_, got, 4), 1);
	ck_assert_int_eq(link_receive(link_, got, 4), 1);
}
END_TEST

/* An arrival that a rule delays is returned once it is due, by a call in which nothing else
 * arrives. */
START_TEST(due_after_the_others)
{
	struct wire_arrival got;
	int n = 0;

	rule("delay time=1ms dir=in");
	memset(buf, 0x5a, LEN);
	waiting = 1;
	ck_assert_int_eq(link_receive(link_, &got, 1), 0);
	ck_assert_uint_gt(link_deadline(link_), 0);
	memset(buf, 0, LEN);
	while (n == 0)
		n = link_receive(link_, &got, 1);
	ck_assert_int_eq(n, 1);
	ck_assert_uint_eq(got.len, LEN);
	ck_assert_uint_eq(got.p[0], 0x5a);
	ck_assert_uint_eq(link_deadline(link_), UINT64_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fault_link");
	TCase *tc = tcase_create("link");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, offered_again);
	tcase_add_test(tc, port_down);
	tcase_add_test(tc, due_after_the_others);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
