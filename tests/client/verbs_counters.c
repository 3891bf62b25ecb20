// SPDX-License-Identifier: MIT
/* Counters of flows (ibv_create_counters(3), ibv_attach_counters_point_flow(3),
 * ibv_read_counters(3)). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "raw_fixture.h"

/* verbs.h's inline functions follow what they look up without asking. */
#pragma GCC diagnostic ignored "-Wnull-dereference"

#define PORT   7u
#define CACHED IBV_READ_COUNTERS_ATTR_PREFER_CACHED

static struct ibv_context *context;
static struct raw_end a, b;
static struct ibv_counters *counters;

static struct ibv_counters *make_counters(void)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counters *made = ibv_create_counters(context, &init);

	ck_assert_msg(made, "ibv_create_counters: %s", strerror(errno));
	return made;
}

static void setup(void)
{
	context = fixture_open();
	raw_open(&a, context, NULL);
	raw_open(&b, context, NULL);
	counters = make_counters();
}

static void teardown(void)
{
	ck_assert_int_eq(ibv_destroy_counters(counters), 0);
	raw_close(&a);
	raw_close(&b);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

static int attach(enum ibv_counter_description desc, uint32_t index, struct ibv_flow *flow)
{
	struct ibv_counter_attach_attr attr = { .counter_desc = desc, .index = index };

	return ibv_attach_counters_point_flow(counters, &attr, flow);
}

static void count_both(void)
{
	ck_assert_int_eq(attach(IBV_COUNTER_PACKETS, 0, NULL), 0);
	ck_assert_int_eq(attach(IBV_COUNTER_BYTES, 1, NULL), 0);
}

/* A flow for datagrams to a port, which counts. */
static struct raw_flow counting(uint16_t port, struct ibv_counters *by)
{
	const struct ibv_flow_spec_counter_action count = { .type = IBV_FLOW_SPEC_ACTION_COUNT,
							    .size = sizeof(count),
							    .counters = by };
	struct raw_flow flow = raw_port_flow(port);

	raw_spec(&flow, &count, sizeof(count));
	return flow;
}

static struct ibv_flow *make(struct raw_flow flow)
{
	struct ibv_flow *made = raw_create(&b, &flow);

	ck_assert_msg(made, "ibv_create_flow: %s", strerror(errno));
	return made;
}

static void expect_with(uint64_t packets, uint64_t bytes, uint32_t flags)
{
	uint64_t values[3] = { 99, 99, 99 };

	ck_assert_int_eq(ibv_read_counters(counters, values, 3, flags), 0);
	ck_assert_uint_eq(values[0], packets);
	ck_assert_uint_eq(values[1], bytes);
	ck_assert_uint_eq(values[2], 0);
}

static void expect(uint64_t packets, uint64_t bytes)
{
	expect_with(packets, bytes, 0);
	expect_with(packets, bytes, CACHED);
}

/* A frame that a flow of b takes. Returns its length. */
static uint32_t receive(uint16_t port, uint32_t payload)
{
	const struct raw_build frame = raw_build_datagram(1, port, payload);

	raw_post(&b, 0);
	raw_send(&a, &frame);
	raw_expect(&b, 0, &frame);
	return frame.len;
}

START_TEST(packets_and_bytes)
{
	struct ibv_flow *flow, *other;
	uint64_t bytes;

	count_both();
	expect(0, 0);
	flow = make(counting(PORT, counters));
	other = make(raw_port_flow(PORT + 1));
	expect(0, 0);
	bytes = receive(PORT, 64);
	expect(1, bytes);
	receive(PORT + 1, 64);
	expect(1, bytes);
	bytes += receive(PORT, 1000);
	expect(2, bytes);
	ck_assert_int_eq(ibv_destroy_flow(other), 0);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	expect(2, bytes);
}
END_TEST

/* A default read takes what has arrived, though no process polls. */
START_TEST(without_a_receive)
{
	const struct raw_build frame = raw_build_datagram(1, PORT, 64);
	uint64_t values[2] = { 0, 0 };
	struct ibv_flow *flow;

	count_both();
	flow = make(counting(PORT, counters));
	for (uint32_t i = 0; i < 20; i++)
		raw_send(&a, &frame);
	while (values[0] < 20)
		ck_assert_int_eq(ibv_read_counters(counters, values, 2, 0), 0);
	expect(20, 20 * (uint64_t)frame.len);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
}
END_TEST

START_TEST(a_flow_that_drops)
{
	const struct ibv_flow_spec_action_drop drop = { IBV_FLOW_SPEC_ACTION_DROP, sizeof(drop) };
	const struct raw_build frame = raw_build_datagram(1, PORT, 64);
	struct raw_flow dropping = counting(PORT, counters);
	struct ibv_flow *flow, *marker;

	count_both();
	raw_spec(&dropping, &drop, sizeof(drop));
	flow = make(dropping);
	marker = make(raw_port_flow(PORT + 1));
	raw_send(&a, &frame);
	receive(PORT + 1, 20);
	expect(1, frame.len);
	ck_assert_int_eq(ibv_destroy_flow(marker), 0);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
}
END_TEST

/* Several flows, and several points of one index, add up. */
START_TEST(sums)
{
	struct ibv_flow *flow[2];
	uint64_t bytes;

	count_both();
	ck_assert_int_eq(attach(IBV_COUNTER_PACKETS, 1, NULL), 0);
	flow[0] = make(counting(PORT, counters));
	flow[1] = make(counting(PORT + 1, counters));
	bytes = receive(PORT, 64);
	bytes += receive(PORT + 1, 200);
	expect(2, bytes + 2);
	ck_assert_int_eq(ibv_destroy_flow(flow[0]), 0);
	bytes += receive(PORT + 1, 200);
	expect(3, bytes + 3);
	ck_assert_int_eq(ibv_destroy_flow(flow[1]), 0);
	expect(3, bytes + 3);
	/* A point that comes later counts from then on. */
	ck_assert_int_eq(attach(IBV_COUNTER_PACKETS, 0, NULL), 0);
	expect(3, bytes + 3);
	flow[0] = make(counting(PORT, counters));
	bytes += receive(PORT, 64);
	expect(5, bytes + 4);
	ck_assert_int_eq(ibv_destroy_flow(flow[0]), 0);
}
END_TEST

START_TEST(a_point_of_an_existing_flow)
{
	struct ibv_flow *flow = make(raw_port_flow(PORT));
	uint64_t bytes;

	receive(PORT, 64);
	ck_assert_int_eq(attach(IBV_COUNTER_PACKETS, 0, flow), 0);
	expect(0, 0);
	receive(PORT, 64);
	ck_assert_int_eq(attach(IBV_COUNTER_BYTES, 1, flow), 0);
	bytes = receive(PORT, 300);
	expect(2, bytes);
	ck_assert_int_eq(ibv_destroy_counters(counters), EBUSY);
	ck_assert_int_eq(errno, EBUSY);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	expect(2, bytes);
}
END_TEST

START_TEST(in_use)
{
	struct ibv_flow *flow, *second;

	count_both();
	flow = make(counting(PORT, counters));
	second = make(counting(PORT, counters));
	ck_assert_int_eq(attach(IBV_COUNTER_PACKETS, 0, NULL), EBUSY);
	ck_assert_int_eq(errno, EBUSY);
	ck_assert_int_eq(attach(IBV_COUNTER_PACKETS, 0, flow), EBUSY);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	ck_assert_int_eq(ibv_destroy_counters(counters), EBUSY);
	ck_assert_int_eq(ibv_destroy_flow(second), 0);
	ck_assert_int_eq(attach(IBV_COUNTER_PACKETS, 0, NULL), 0);
	/* Without points it is in use all the same. */
	ck_assert_int_eq(ibv_destroy_counters(counters), 0);
	counters = make_counters();
	flow = make(counting(PORT, counters));
	receive(PORT, 64);
	expect(0, 0);
	ck_assert_int_eq(ibv_destroy_counters(counters), EBUSY);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
}
END_TEST

static void expect_refused(struct raw_flow flow)
{
	errno = 0;
	ck_assert_ptr_null(raw_create(&b, &flow));
	ck_assert_int_eq(errno, EINVAL);
}

START_TEST(bad_actions)
{
	struct ibv_flow_spec_counter_action count = { .type = IBV_FLOW_SPEC_ACTION_COUNT,
						      .size = sizeof(count),
						      .counters = counters };
	struct ibv_counters foreign = { .context = context };
	struct raw_flow twice = counting(PORT, counters), flow = raw_port_flow(PORT);

	raw_spec(&twice, &count, sizeof(count));
	expect_refused(twice);
	count.size--;
	raw_spec(&flow, &count, sizeof(count));
	expect_refused(flow);
	expect_refused(counting(PORT, NULL));
	expect_refused(counting(PORT, &foreign));
	/* A flow that was refused uses nothing. */
	flow = counting(PORT, counters);
	flow.attr.port = 2;
	expect_refused(flow);
	flow = counting(PORT, counters);
	raw_spec(&flow, &count, 4);
	expect_refused(flow);
	count_both();
}
END_TEST

START_TEST(bad_arguments)
{
	struct ibv_counter_attach_attr unknown = { .comp_mask = 1 };
	struct ibv_counters_init_attr init = { .comp_mask = 1 };
	struct ibv_flow foreign = { .context = context };
	uint64_t values[3] = { 5, 6, 7 };

	ck_assert_ptr_null(ibv_create_counters(context, &init));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_attach_counters_point_flow(counters, &unknown, NULL), EINVAL);
	ck_assert_int_eq(ibv_attach_counters_point_flow(counters, NULL, NULL), EINVAL);
	ck_assert_int_eq(attach((enum ibv_counter_description)2, 0, NULL), ENOTSUP);
	ck_assert_int_eq(attach(IBV_COUNTER_BYTES, 0, &foreign), EINVAL);
	ck_assert_int_eq(attach(IBV_COUNTER_PACKETS, 2, NULL), 0);
	/* The highest index needs a place. */
	ck_assert_int_eq(ibv_read_counters(counters, values, 2, 0), EINVAL);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_uint_eq(values[0], 5);
	ck_assert_int_eq(ibv_read_counters(counters, NULL, 3, 0), EINVAL);
	ck_assert_int_eq(ibv_read_counters(counters, values, 3, 2), EINVAL);
	ck_assert_int_eq(ibv_read_counters(counters, values, 3, 0), 0);
	ck_assert_uint_eq(values[0], 0);
	for (int err = 0; err != ENOMEM; err = attach(IBV_COUNTER_BYTES, 0, NULL))
		ck_assert_int_eq(err, 0);
}
END_TEST

/* The context frees what the program left. */
START_TEST(left_behind)
{
	struct ibv_context *other = fixture_open();
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr packets = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counters *left = ibv_create_counters(other, &init);
	struct raw_flow flow = counting(PORT, left);
	struct raw_end end;

	ck_assert_ptr_nonnull(left);
	raw_open(&end, other, NULL);
	ck_assert_int_eq(ibv_attach_counters_point_flow(left, &packets, NULL), 0);
	ck_assert_ptr_nonnull(raw_create(&end, &flow));
	ck_assert_int_eq(ibv_close_device(other), 0);
	free(end.memory);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, packets_and_bytes);
	tcase_add_test(tests, without_a_receive);
	tcase_add_test(tests, a_flow_that_drops);
	tcase_add_test(tests, sums);
	tcase_add_test(tests, a_point_of_an_existing_flow);
	tcase_add_test(tests, in_use);
	tcase_add_test(tests, bad_actions);
	tcase_add_test(tests, bad_arguments);
	tcase_add_test(tests, left_behind);
}

int main(void)
{
	return fixture_main("verbs_counters", add);
}
