// SPDX-License-Identifier: MIT
/* Fault rules and raw packets of the private wire: which actions there are for frames, what each
 * does, and what none does. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw_fixture.h"
#include "rules.h"

#define RAW "opcode=RAW_SEND_ONLY"

static struct ibv_context *context;
static struct raw_end a, b;
static struct ibv_flow *all;

static void setup(void)
{
	context = fixture_open();
	raw_open(&a, context, NULL);
	raw_open(&b, context, NULL);
	all = raw_take_all(&b);
	for (uint64_t i = 0; i < 16; i++)
		raw_post(&b, i);
}

static void teardown(void)
{
	fault("clear");
	if (all)
		ck_assert_int_eq(ibv_destroy_flow(all), 0);
	raw_close(&a);
	raw_close(&b);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

/* A multiple of 4 bytes: a rule that changes a bit could change one of the padding. */
static struct raw_build frame(uint16_t number)
{
	return raw_build_datagram(1, number, 102);
}

/* Sends frames 0 to count - 1. */
static void send_frames(uint16_t count)
{
	for (uint16_t i = 0; i < count; i++) {
		const struct raw_build f = frame(i);

		raw_send(&a, &f);
	}
}

/* The frames that arrive, by number, ended by -1. */
static void expect_order(const int *numbers)
{
	for (uint64_t i = 0; numbers[i] >= 0; i++) {
		const struct raw_build f = frame((uint16_t)numbers[i]);

		raw_expect(&b, i, &f);
	}
}

START_TEST(dropped)
{
	fault("add drop dir=out " RAW " nth=2");
	fault("add drop dir=in " RAW " nth=3");
	send_frames(6);
	expect_order((const int[]){ 0, 2, 4, 5, -1 });
	ck_assert_uint_eq(fired("dir=out"), 1);
	ck_assert_uint_eq(fired("dir=in"), 1);
}
END_TEST

/* By the number of the queue pair that sends: as its own on the way out, as the peer's on the way
 * in. */
START_TEST(chosen_by_sender)
{
	char rule[128];

	snprintf(rule, sizeof(rule), "add drop dir=out qp=%u nth=1", a.qp->qp_num);
	fault(rule);
	snprintf(rule, sizeof(rule), "add drop dir=in peer_qp=%u nth=2", a.qp->qp_num);
	fault(rule);
	snprintf(rule, sizeof(rule), "add drop qp=%u", b.qp->qp_num);
	fault(rule);
	send_frames(5);
	expect_order((const int[]){ 1, 3, 4, -1 });
}
END_TEST

START_TEST(duplicated)
{
	fault("add duplicate dir=out " RAW " nth=2 copies=2");
	send_frames(3);
	expect_order((const int[]){ 0, 1, 1, 1, 2, -1 });
}
END_TEST

START_TEST(reordered)
{
	fault("add reorder dir=out " RAW " nth=1 behind=2 within=60s");
	send_frames(4);
	expect_order((const int[]){ 1, 2, 0, 3, -1 });
	fault("clear");
	fault("add delay dir=in " RAW " nth=1 time=1ms");
	send_frames(1);
	ck_assert_int_eq(raw_wait(&b).status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(fired("delay"), 1);
}
END_TEST

/* A frame with a wrong ICRC, or cut, is no frame. With an ICRC that fits, one bit of it is
 * another. */
START_TEST(damaged)
{
	const struct raw_build sent = frame(2);
	uint32_t wrong = 0;
	struct raw_wc wc;

	fault("add corrupt part=payload dir=out " RAW " nth=1");
	fault("add truncate dir=out " RAW " nth=2");
	fault("add corrupt part=payload icrc=good dir=out " RAW " nth=3");
	send_frames(4);
	wc = raw_wait(&b);
	ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, sent.len);
	for (uint32_t i = 0; i < sent.len; i++)
		wrong += (uint32_t)__builtin_popcount((unsigned int)(sent.p[i] ^ b.memory[i]));
	ck_assert_uint_eq(wrong, 1);
	wc = raw_wait(&b);
	ck_assert_uint_eq(wc.wr_id, 1);
	ck_assert_mem_eq(b.memory + RAW_SLOT, frame(3).p, sent.len);
	ck_assert_uint_eq(fired("corrupt"), 2);
	ck_assert_uint_eq(fired("truncate"), 1);
}
END_TEST

/* No process answers a frame: the rule does nothing but count that. */
START_TEST(no_answers)
{
	fault("add nak code=invalid_request " RAW);
	fault("add rnr_nak " RAW);
	send_frames(2);
	expect_order((const int[]){ 0, 1, -1 });
	ck_assert_uint_eq(fired("nak"), 0);
	ck_assert_uint_eq(fired("rnr_nak"), 0);
}
END_TEST

START_TEST(completions)
{
	const struct raw_build f = frame(0);

	fault("add completion status=IBV_WC_LOC_PROT_ERR side=recv nth=2");
	send_frames(2);
	ck_assert_int_eq(raw_wait(&b).status, IBV_WC_SUCCESS);
	ck_assert_int_eq(raw_wait(&b).status, IBV_WC_LOC_PROT_ERR);
	for (uint64_t i = 2; i < 16; i++)
		ck_assert_int_eq(raw_wait(&b).status, IBV_WC_WR_FLUSH_ERR);
	fault("clear");
	fault("add completion status=IBV_WC_LOC_QP_OP_ERR side=send nth=1");
	ck_assert_int_eq(raw_try_send(&a, f.p, f.len, 0), 0);
	ck_assert_int_eq(raw_wait(&a).status, IBV_WC_LOC_QP_OP_ERR);
}
END_TEST

/* While the port is down frames are lost, as those that leave an adapter's. */
START_TEST(port_down)
{
	struct ibv_port_attr port;

	send_frames(1);
	fault("add port_down");
	do
		ck_assert_int_eq(ibv_query_port(context, 1, &port), 0);
	while (port.state != IBV_PORT_DOWN);
	send_frames(3);
	fault("clear");
	do
		ck_assert_int_eq(ibv_query_port(context, 1, &port), 0);
	while (port.state != IBV_PORT_ACTIVE);
	send_frames(2);
	expect_order((const int[]){ 0, 0, 1, -1 });
}
END_TEST

START_TEST(verbs)
{
	const struct {
		const char *verb;
		int err;
	} refused[] = { { "ibv_create_flow", ENOMEM },
			{ "ibv_create_counters", EAGAIN },
			{ "ibv_destroy_flow", EINTR } };
	struct raw_flow flow = raw_flow(IBV_FLOW_ATTR_SNIFFER);
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_flow *made;

	for (int i = 0; i < 3; i++) {
		char rule[128];

		snprintf(rule, sizeof(rule), "add verb name=%s errno=%d nth=1", refused[i].verb,
			 refused[i].err);
		fault(rule);
	}
	ck_assert_ptr_null(raw_create(&b, &flow));
	ck_assert_int_eq(errno, ENOMEM);
	made = raw_create(&b, &flow);
	ck_assert_ptr_nonnull(made);
	ck_assert_ptr_null(ibv_create_counters(context, &init));
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(ibv_destroy_flow(made), EINTR);
	ck_assert_int_eq(ibv_destroy_flow(made), 0);
}
END_TEST

START_TEST(device_dies)
{
	fault("add device_fatal");
	for (uint64_t i = 0; i < 16; i++) {
		const struct raw_wc wc = raw_wait(&b);

		ck_assert_int_eq(wc.status, IBV_WC_WR_FLUSH_ERR);
		ck_assert_uint_eq(wc.wr_id, i);
	}
	ck_assert_int_eq(ibv_destroy_flow(all), EIO);
	fault("clear");
	ck_assert_int_eq(ibv_close_device(context), 0);
	free(a.memory);
	free(b.memory);
	all = NULL;
	context = fixture_open();
	raw_open(&a, context, NULL);
	raw_open(&b, context, NULL);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, dropped);
	tcase_add_test(tests, chosen_by_sender);
	tcase_add_test(tests, duplicated);
	tcase_add_test(tests, reordered);
	tcase_add_test(tests, damaged);
	tcase_add_test(tests, no_answers);
	tcase_add_test(tests, completions);
	tcase_add_test(tests, port_down);
	tcase_add_test(tests, verbs);
	tcase_add_test(tests, device_dies);
}

int main(void)
{
	return fixture_main("verbs_raw_faults", add);
}
