// SPDX-License-Identifier: MIT
/* Multicast between links on lo: members receive, others do not, and groups are separate. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "private_network.h"
#include "tests/suite.h"
#include "udp_fixture.h"

#define QPN 0xffffffu

static uint8_t buf[TRAIN_MAX_BYTES];

static void send_group(struct udp_end *from, const struct gid *group, uint32_t segs)
{
	struct wire_train train;

	train_begin(&train, buf, from, group, 0);
	for (uint32_t i = 0; i < segs; i++)
		ck_assert(train_packet(&train, from, QPN, i, 256));
	ck_assert_int_eq(link_send(from->link, &train, 1), 1);
}

static void expect_group(struct link *link, const struct gid *group, uint32_t segs)
{
	struct wire_arrival got[TRAIN_MAX_SEGS];

	for (uint32_t psn = 0; psn < segs;) {
		const int k = await(link, got, TRAIN_MAX_SEGS);

		ck_assert_int_gt(k, 0);
		for (int i = 0; i < k; i++) {
			ck_assert(gid_equal(&got[i].dst, group));
			ck_assert(arrival_good(&got[i], QPN, psn++, 256));
		}
	}
	ck_assert(nothing(link));
}

/* Two processes of two devices and the sender itself, in one group. */
START_TEST(group_v4)
{
	const struct gid group = gid_of("239.77.1.1"), other = gid_of("239.77.1.2");
	struct udp_end a, b;

	ck_assert_int_eq(end_open(&a, "127.77.0.1", 2, 0, true), 0);
	ck_assert_int_eq(end_open(&b, "127.77.0.2", 2, 0, true), 0);
	struct link *c = end_link(&b, 1);

	ck_assert_int_eq(link_join(b.link, &group), 0);
	ck_assert_int_eq(link_join(c, &group), 0);
	ck_assert_int_eq(link_join(c, &other), 0);
	for (uint32_t segs = 1; segs <= 64; segs = segs * 4) {
		send_group(&a, &group, segs);
		expect_group(b.link, &group, segs);
		expect_group(c, &group, segs);
		ck_assert(nothing(a.link));
	}
	send_group(&a, &other, 3);
	expect_group(c, &other, 3);
	ck_assert(nothing(b.link));

	/* A sender that joined receives its own packet once. */
	ck_assert_int_eq(link_join(a.link, &group), 0);
	send_group(&a, &group, 2);
	expect_group(a.link, &group, 2);
	expect_group(b.link, &group, 2);
	expect_group(c, &group, 2);

	link_close(c);
	end_close(&b);
	end_close(&a);
}
END_TEST

/* lo carries no IPv6 groups: joining is refused, and a sender is informed once. */
START_TEST(group_v6)
{
	const struct gid group = gid_of("ff12::77:1");
	struct udp_end a;

	ck_assert_int_eq(end_open(&a, "::1", 1, 0, true), 0);
	ck_assert_int_eq(link_join(a.link, &group), -EOPNOTSUPP);
	send_group(&a, &group, 5);
	send_group(&a, &group, 1);
	ck_assert_uint_eq(a.link->stats.send_errors, 6);
	ck_assert_uint_eq(a.says, 1);
	ck_assert_ptr_nonnull(strstr(a.said, "multicast"));
	end_close(&a);
}
END_TEST

START_TEST(leaving)
{
	const struct gid group = gid_of("239.77.1.1"), v6 = gid_of("ff12::77:1"),
			 plain = gid_of("127.77.0.3");
	struct udp_end a, b;

	ck_assert_int_eq(end_open(&a, "127.77.0.1", 1, 0, true), 0);
	ck_assert_int_eq(end_open(&b, "127.77.0.2", 1, 0, true), 0);
	ck_assert_int_eq(link_leave(b.link, &group), -ENOENT);
	ck_assert_int_eq(link_join(b.link, &plain), -EINVAL);
	ck_assert_int_eq(link_join(b.link, &v6), -EINVAL);

	/* A second join changes nothing: one leave ends both. */
	ck_assert_int_eq(link_join(b.link, &group), 0);
	ck_assert_int_eq(link_join(b.link, &group), 0);
	send_group(&a, &group, 1);
	expect_group(b.link, &group, 1);
	ck_assert_int_eq(link_leave(b.link, &group), 0);
	send_group(&a, &group, 1);
	ck_assert(nothing(b.link));
	ck_assert_int_eq(link_leave(b.link, &group), -ENOENT);

	/* Joining again works, up to the most groups. */
	for (uint32_t i = 0;; i++) {
		struct gid many = gid_of("239.77.2.0");
		int rc;

		many.raw[14] = (uint8_t)(2 + i / 256);
		many.raw[15] = (uint8_t)i;
		rc = link_join(b.link, &many);
		if (rc == -ENOSPC || rc == -ENOBUFS) {
			ck_assert_uint_ge(i, 256);
			break;
		}
		ck_assert_int_eq(rc, 0);
		send_group(&a, &many, 1);
		expect_group(b.link, &many, 1);
	}
	end_close(&b);
	end_close(&a);
}
END_TEST

/* Groups and the slot's own packets together: neither starves the other. */
START_TEST(both_kinds)
{
	const struct gid group = gid_of("239.77.1.1");
	uint32_t unicast = 0, multicast = 0, calls = 0;
	struct wire_arrival got;
	struct udp_end a, b;

	ck_assert_int_eq(end_open(&a, "127.77.0.1", 1, 0, true), 0);
	ck_assert_int_eq(end_open(&b, "127.77.0.2", 1, 0, true), 0);
	ck_assert_int_eq(link_join(b.link, &group), 0);
	for (uint32_t i = 0; i < 60; i++) {
		struct wire_train train;

		train_begin(&train, buf, &a, i % 2 ? &group : &b.group.gid, 0);
		ck_assert(train_packet(&train, &a, 1, 0, 64));
		ck_assert_int_eq(link_send(a.link, &train, 1), 1);
	}
	while (unicast + multicast < 60) {
		ck_assert_int_eq(await(b.link, &got, 1), 1);
		if (gid_equal(&got.dst, &group))
			multicast++;
		else
			unicast++;
		/* Neither waited until the other was empty. */
		if (++calls == 59)
			ck_assert(unicast > 0 && multicast > 0);
	}
	ck_assert_uint_eq(unicast, 30);
	ck_assert_uint_eq(multicast, 30);
	end_close(&b);
	end_close(&a);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("udp_mcast");
	TCase *tc = tcase_create("mcast");

	(void)private_network();
	tcase_add_test(tc, group_v4);
	tcase_add_test(tc, group_v6);
	tcase_add_test(tc, leaving);
	tcase_add_test(tc, both_kinds);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
