// SPDX-License-Identifier: MIT
/* Completion queues: order, visibility, overrun, arming, cleaning, resizing. */
#include <stdlib.h>
#include <string.h>

#include "emu/cq.h"
#include "emu_fixture.h"
#include "tests/suite.h"

#define CQE 5u

static struct end *end;
static struct rxe_cq cq;
static struct rxe_cqe ring[8], bigger[16];

static void setup(void)
{
	end = end_new(1, 3);
	rxe_cq_init(&cq, ring, CQE, NULL);
}

static void teardown(void)
{
	rxe_cq_fini(&end->engine, &cq);
	end_free(end);
}

static bool push(uint64_t wr_id, uint32_t qpn)
{
	const struct rxe_cqe cqe = { .wr_id = wr_id, .qpn = qpn };

	return rxe_cq_push(&end->engine, &cq, &cqe);
}

static void push_solicited(uint32_t status, uint8_t solicited)
{
	const struct rxe_cqe cqe = { .status = status, .solicited = solicited };

	ck_assert(rxe_cq_push(&end->engine, &cq, &cqe));
	rxe_engine_settle(&end->engine);
}

static void expect_ids(const char *want)
{
	struct rxe_cqe cqe;

	for (; *want; want++) {
		ck_assert_uint_eq(rxe_cq_poll(&cq, &cqe, 1), 1);
		ck_assert_uint_eq(cqe.wr_id, (uint64_t)(*want - '0'));
	}
	ck_assert_uint_eq(rxe_cq_poll(&cq, &cqe, 1), 0);
}

START_TEST(ring_is_rounded_up)
{
	ck_assert_uint_eq(rxe_cq_ring_bytes(1), 64);
	ck_assert_uint_eq(rxe_cq_ring_bytes(CQE), sizeof(ring));
	ck_assert_uint_eq(rxe_cq_ring_bytes(8), sizeof(ring));
	ck_assert_uint_eq(rxe_cq_ring_bytes(RXE_MAX_CQE), 64u * RXE_MAX_CQE);
}
END_TEST

START_TEST(seen_only_when_settled)
{
	struct rxe_cqe cqe;

	end->engine.now_ns = 77;
	ck_assert(push(1, 0));
	ck_assert(cq_is_empty(&cq));
	ck_assert_uint_eq(rxe_cq_poll(&cq, &cqe, 1), 0);
	rxe_engine_settle(&end->engine);
	ck_assert(!cq_is_empty(&cq));
	ck_assert_uint_eq(rxe_cq_poll(&cq, &cqe, 1), 1);
	ck_assert_uint_eq(cqe.timestamp_ns, 77);
}
END_TEST

START_TEST(order_holds_round_the_ring)
{
	struct rxe_cqe cqe[CQE];
	uint64_t in = 0, out = 0;
	uint32_t i, n;

	cq.tail = UINT32_MAX - 20;
	cq.seen_head = cq.tail;
	atomic_store(&cq.head, cq.tail);
	atomic_store(&cq.visible, cq.tail);
	while (out < 100) {
		for (i = 0; i < in % CQE + 1 && in - out < CQE; i++)
			ck_assert(push(in++, 0));
		rxe_engine_settle(&end->engine);
		n = rxe_cq_poll(&cq, cqe, 3);
		for (i = 0; i < n; i++)
			ck_assert_uint_eq(cqe[i].wr_id, out++);
	}
}
END_TEST

START_TEST(overrun_is_for_good)
{
	uint64_t i;

	for (i = 0; i < CQE; i++)
		ck_assert(push(i, 0));
	ck_assert(!push(9, 0));
	ck_assert_uint_eq(end->num_events, 0);
	rxe_engine_settle(&end->engine);
	ck_assert_uint_eq(end->num_events, 1);
	ck_assert_int_eq(end->event[0].type, RXE_EVENT_CQ_ERR);
	ck_assert_ptr_eq(end->event[0].cq, &cq);
	expect_ids("01234");
	/* the ring has room, but this CQ has not */
	ck_assert(!push(9, 0));
	ck_assert_uint_eq(end->num_events, 1);
}
END_TEST

START_TEST(overrun_fails_its_qps)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct qp_set set, other;
	struct rxe_send_wr wr = send_wr(1, &sge);
	uint32_t i;

	qp_new(end, &set, RXE_QPT_UC, NULL, 2);
	qp_new(end, &other, RXE_QPT_UC, NULL, 2);
	qp_to(end, &set, RXE_QPS_RTS, 1, 9);
	qp_to(end, &other, RXE_QPS_RTS, 1, 9);
	ck_assert_int_eq(post_recv(end, &set, 5, sge), POST_OK);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(rxe_post_send(&end->engine, &set.qp, &wr, 0), POST_OK);
	fixture_run(end, end);
	ck_assert_uint_eq(end->num_events, 2);
	ck_assert_int_eq(end->event[0].type, RXE_EVENT_CQ_ERR);
	ck_assert_int_eq(end->event[1].type, RXE_EVENT_QP_FATAL);
	ck_assert_ptr_eq(end->event[1].qp, &set.qp);
	ck_assert_int_eq(set.qp.state, RXE_QPS_ERR);
	ck_assert_int_eq(other.qp.state, RXE_QPS_RTS);
	/* The other CQ is sound: its receive is flushed into it. */
	ck_assert_uint_eq(poll_one(&set.recv_cq).status, RXE_WC_WR_FLUSH_ERR);
	qp_free(end, &set);
	qp_free(end, &other);
}
END_TEST

START_TEST(armed_once)
{
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
	ck_assert_uint_eq(end->num_notified, 0);
	push_solicited(RXE_WC_SUCCESS, 0);
	ck_assert_uint_eq(end->num_notified, 1);
	ck_assert_ptr_eq(end->notified[0], &cq);
	push_solicited(RXE_WC_SUCCESS, 0);
	ck_assert_uint_eq(end->num_notified, 1);
}
END_TEST

START_TEST(armed_for_solicited)
{
	struct rxe_cqe cqe[2];

	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_SOLICITED));
	push_solicited(RXE_WC_SUCCESS, 0);
	ck_assert_uint_eq(end->num_notified, 0);
	push_solicited(RXE_WC_SUCCESS, 1);
	ck_assert_uint_eq(end->num_notified, 1);
	ck_assert_uint_eq(rxe_cq_poll(&cq, cqe, 2), 2);
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_SOLICITED));
	push_solicited(RXE_WC_WR_FLUSH_ERR, 0);
	ck_assert_uint_eq(end->num_notified, 2);
	ck_assert_uint_eq(rxe_cq_poll(&cq, cqe, 2), 1);
	/* A weaker arming does not cancel a stronger one. */
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_SOLICITED));
	push_solicited(RXE_WC_SUCCESS, 0);
	ck_assert_uint_eq(end->num_notified, 3);
}
END_TEST

/* Arming between push and settle: the completion becomes visible after the arming, so it makes an
 * event. */
START_TEST(armed_before_settling)
{
	ck_assert(push(1, 0));
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
	rxe_engine_settle(&end->engine);
	ck_assert_uint_eq(end->num_notified, 1);
}
END_TEST

/* Arming a CQ with an unread completion makes the event at once, and the CQ stays idle. */
START_TEST(armed_with_unread_completions)
{
	struct rxe_cqe cqe;

	push_solicited(RXE_WC_SUCCESS, 0);
	ck_assert(rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
	ck_assert_int_eq(cq.armed, RXE_CQ_IDLE);
	ck_assert_uint_eq(rxe_cq_poll(&cq, &cqe, 1), 1);
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
	ck_assert_uint_eq(end->num_notified, 0);
	push_solicited(RXE_WC_SUCCESS, 0);
	ck_assert_uint_eq(end->num_notified, 1);
}
END_TEST

/* A program takes the event, arms, and then polls (perftest -e): the completion makes one event,
 * not two. */
START_TEST(armed_before_the_completion_is_read)
{
	struct rxe_cqe cqe;

	for (uint32_t i = 0; i < 3; i++) {
		if (i == 0)
			ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
		push_solicited(RXE_WC_SUCCESS, 0);
		ck_assert_uint_eq(end->num_notified, i + 1);
		ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
		ck_assert_uint_eq(rxe_cq_poll(&cq, &cqe, 1), 1);
	}
	/* An event that arming made counts as well. */
	rxe_cq_init(&cq, ring, 16, NULL);
	push_solicited(RXE_WC_SUCCESS, 0);
	ck_assert(rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
}
END_TEST

START_TEST(armed_for_solicited_with_unread_completions)
{
	struct rxe_cqe cqe[2];

	push_solicited(RXE_WC_SUCCESS, 0);
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_SOLICITED));
	push_solicited(RXE_WC_SUCCESS, 1);
	ck_assert_uint_eq(end->num_notified, 1);
	ck_assert_uint_eq(rxe_cq_poll(&cq, cqe, 2), 2);
	/* The solicited completion is not the oldest one. */
	push_solicited(RXE_WC_SUCCESS, 0);
	push_solicited(RXE_WC_SUCCESS, 1);
	ck_assert(rxe_cq_arm(&cq, RXE_CQ_ARM_SOLICITED));
	ck_assert_uint_eq(rxe_cq_poll(&cq, cqe, 2), 2);
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_SOLICITED));
	push_solicited(RXE_WC_WR_FLUSH_ERR, 0);
	ck_assert_uint_eq(end->num_notified, 2);
	ck_assert_uint_eq(rxe_cq_poll(&cq, cqe, 2), 1);
}
END_TEST

static void arrive(uint32_t n)
{
	while (n-- > 0)
		push_solicited(RXE_WC_SUCCESS, 0);
}

static void read_all(void)
{
	struct rxe_cqe cqe[CQE];

	rxe_cq_poll(&cq, cqe, CQE);
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
}

START_TEST(moderated_by_count)
{
	rxe_cq_moderate(&cq, 3, 10);
	for (uint32_t i = 0; i < 4; i++) {
		read_all();
		arrive(2);
		ck_assert_uint_eq(end->num_notified, i);
		ck_assert_uint_eq(rxe_engine_deadline(&end->engine), end->engine.now_ns + 10000);
		arrive(1);
		ck_assert_uint_eq(end->num_notified, i + 1);
		ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
		arrive(1);
		ck_assert_uint_eq(end->num_notified, i + 1);
	}
}
END_TEST

START_TEST(moderated_by_time)
{
	rxe_cq_moderate(&cq, 3, 10);
	for (uint64_t at_ns = 0; at_ns < 40000; at_ns += 20000) {
		rxe_engine_expire(&end->engine, at_ns);
		read_all();
		arrive(1);
		rxe_engine_expire(&end->engine, at_ns + 5000);
		arrive(1); /* the time begins with the first */
		rxe_engine_expire(&end->engine, at_ns + 9999);
		ck_assert_uint_eq(end->num_notified, at_ns / 20000);
		rxe_engine_expire(&end->engine, at_ns + 10000);
		ck_assert_uint_eq(end->num_notified, at_ns / 20000 + 1);
		ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
	}
}
END_TEST

/* What is not solicited waits for no event, and counts once one that is waits. */
START_TEST(moderated_for_solicited)
{
	rxe_cq_moderate(&cq, 3, 10);
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_SOLICITED));
	arrive(1);
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
	push_solicited(RXE_WC_SUCCESS, 1);
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), 10000);
	ck_assert_uint_eq(end->num_notified, 0);
	arrive(1);
	ck_assert_uint_eq(end->num_notified, 1);
}
END_TEST

/* Arming again with completions unread makes the event at once: one, not another when the time is
 * over. */
START_TEST(armed_while_held)
{
	rxe_cq_moderate(&cq, 3, 10);
	read_all();
	arrive(1);
	ck_assert(rxe_cq_arm(&cq, RXE_CQ_ARM_ANY));
	rxe_engine_expire(&end->engine, 10000);
	ck_assert_uint_eq(end->num_notified, 0);
	read_all();
	arrive(1);
	rxe_cq_moderate(&cq, 0, 0); /* holds for the last time */
	arrive(1);
	ck_assert_uint_eq(end->num_notified, 1);
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
}
END_TEST

/* What the host below a CQ decides when its time has come. */
static uint32_t due_now;
static uint32_t asked;

static uint32_t cq_due(void *host, struct rxe_cq *of, uint64_t *ret_again_ns)
{
	(void)host;
	ck_assert_ptr_eq(of, &cq);
	asked++;
	*ret_again_ns = end->engine.now_ns + 1000;
	return due_now;
}

static void set_cq_due(void)
{
	static struct rxe_host_ops ops;

	ops = *end->engine.cfg.ops;
	ops.cq_due = cq_due;
	end->engine.cfg.ops = &ops;
	asked = 0;
}

START_TEST(withheld_until_its_time)
{
	ck_assert(push(1, 10));
	rxe_cq_withhold(&end->engine, &cq, 5000);
	rxe_cq_withhold(&end->engine, &cq, 9000); /* changes nothing */
	ck_assert(push(2, 10));
	rxe_engine_settle(&end->engine);
	expect_ids("");
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), 5000);
	rxe_engine_expire(&end->engine, 4999);
	expect_ids("");
	rxe_engine_expire(&end->engine, 5000);
	expect_ids("12");
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
	ck_assert(push(3, 10));
	rxe_engine_settle(&end->engine);
	expect_ids("3");
}
END_TEST

START_TEST(withheld_some_at_a_time)
{
	set_cq_due();
	rxe_cq_withhold(&end->engine, &cq, 5000);
	ck_assert(push(1, 10) && push(2, 20) && push(3, 10));
	due_now = 1;
	rxe_engine_expire(&end->engine, 5000);
	expect_ids("1");
	ck_assert(push(4, 10));
	rxe_engine_settle(&end->engine);
	expect_ids("");
	due_now = 0;
	rxe_engine_expire(&end->engine, 6000);
	expect_ids("");
	due_now = 3;
	rxe_engine_expire(&end->engine, 7000);
	expect_ids("234");
	ck_assert_uint_eq(asked, 3);
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
}
END_TEST

/* An armed CQ notifies when something becomes visible, not before; and for what is solicited only
 * with that. */
START_TEST(withheld_notifies_when_visible)
{
	set_cq_due();
	rxe_cq_withhold(&end->engine, &cq, 5000);
	ck_assert(!rxe_cq_arm(&cq, RXE_CQ_ARM_SOLICITED));
	ck_assert(push(1, 10));
	push_solicited(RXE_WC_SUCCESS, 1);
	ck_assert_uint_eq(end->num_notified, 0);
	due_now = 1;
	rxe_engine_expire(&end->engine, 5000);
	ck_assert_uint_eq(end->num_notified, 0);
	due_now = 1;
	rxe_engine_expire(&end->engine, 6000);
	ck_assert_uint_eq(end->num_notified, 1);
}
END_TEST

START_TEST(withheld_and_cleaned)
{
	rxe_cq_withhold(&end->engine, &cq, 5000);
	ck_assert(push(1, 10) && push(2, 20) && push(3, 10));
	rxe_cq_clean(&cq, 10);
	ck_assert_uint_eq(rxe_cq_num_withheld(&cq), 1);
	rxe_cq_release(&end->engine, &cq);
	expect_ids("2");
	rxe_cq_withhold(&end->engine, &cq, 5000);
	ck_assert(push(4, 10));
	rxe_cq_clean(&cq, 10);
	rxe_engine_expire(&end->engine, 5000);
	expect_ids("");
}
END_TEST

/* The engine keeps no pointer to a CQ that is destroyed with completions withheld. */
START_TEST(withheld_and_destroyed)
{
	struct rxe_cq other;
	struct rxe_cqe others[1];

	rxe_cq_init(&other, others, 1, NULL);
	rxe_cq_withhold(&end->engine, &cq, 5000);
	rxe_cq_withhold(&end->engine, &other, 6000);
	ck_assert(push(1, 10));
	rxe_cq_fini(&end->engine, &cq);
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), 6000);
	rxe_cq_fini(&end->engine, &other);
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
	ck_assert(rxe_engine_is_settled(&end->engine));
}
END_TEST

/* An overrun ends the withholding: the next settle reports it. */
START_TEST(withheld_and_overrun)
{
	rxe_cq_withhold(&end->engine, &cq, 5000);
	for (uint64_t i = 0; i < CQE; i++)
		ck_assert(push(i, 10));
	rxe_engine_settle(&end->engine);
	expect_ids("");
	ck_assert(!push(9, 10));
	rxe_engine_settle(&end->engine);
	ck_assert(cq.overrun_reported);
	expect_ids("01234");
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
}
END_TEST

START_TEST(clean_keeps_the_others)
{
	ck_assert(push(1, 10) && push(2, 20) && push(3, 10));
	rxe_engine_settle(&end->engine);
	ck_assert(push(4, 20) && push(5, 10));
	rxe_cq_clean(&cq, 10);
	expect_ids("2");
	rxe_engine_settle(&end->engine);
	expect_ids("4");
	ck_assert(push(6, 10));
	rxe_cq_clean(&cq, 10);
	rxe_engine_settle(&end->engine);
	expect_ids("");
}
END_TEST

START_TEST(resize_carries_over)
{
	struct rxe_cqe cqe;

	ck_assert(push(0, 0) && push(1, 0) && push(2, 0));
	rxe_engine_settle(&end->engine);
	ck_assert_uint_eq(rxe_cq_poll(&cq, &cqe, 1), 1);
	ck_assert(push(3, 0));
	ck_assert(!rxe_cq_resize(&cq, bigger, 2));
	ck_assert(rxe_cq_resize(&cq, bigger, 3));
	ck_assert_uint_eq(cq.limit, 3);
	expect_ids("12");
	rxe_engine_settle(&end->engine);
	expect_ids("3");
	ck_assert(rxe_cq_resize(&cq, ring, CQE));
	ck_assert(push(7, 0));
	rxe_engine_settle(&end->engine);
	expect_ids("7");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_cq");
	TCase *tcase = tcase_create("cq");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, ring_is_rounded_up);
	tcase_add_test(tcase, seen_only_when_settled);
	tcase_add_test(tcase, order_holds_round_the_ring);
	tcase_add_test(tcase, overrun_is_for_good);
	tcase_add_test(tcase, overrun_fails_its_qps);
	tcase_add_test(tcase, armed_once);
	tcase_add_test(tcase, armed_for_solicited);
	tcase_add_test(tcase, armed_before_settling);
	tcase_add_test(tcase, armed_with_unread_completions);
	tcase_add_test(tcase, armed_before_the_completion_is_read);
	tcase_add_test(tcase, armed_for_solicited_with_unread_completions);
	tcase_add_test(tcase, moderated_by_count);
	tcase_add_test(tcase, moderated_by_time);
	tcase_add_test(tcase, moderated_for_solicited);
	tcase_add_test(tcase, armed_while_held);
	tcase_add_test(tcase, withheld_until_its_time);
	tcase_add_test(tcase, withheld_some_at_a_time);
	tcase_add_test(tcase, withheld_notifies_when_visible);
	tcase_add_test(tcase, withheld_and_cleaned);
	tcase_add_test(tcase, withheld_and_destroyed);
	tcase_add_test(tcase, withheld_and_overrun);
	tcase_add_test(tcase, clean_keeps_the_others);
	tcase_add_test(tcase, resize_carries_over);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
