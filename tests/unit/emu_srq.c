// SPDX-License-Identifier: MIT
/* Shared receive queues: order, one limit event for each arming, several QPs, the last-WQE
 * event. */
#include <stdlib.h>
#include <string.h>

#include "emu_fixture.h"
#include "tests/suite.h"

#define WRS 8u

static struct end *end;
static struct rxe_srq srq;
static void *memory;

static void setup(void)
{
	end = end_new(1, 1);
	memory = calloc(1, rxe_ring_bytes(WRS, rxe_recv_stride(2)));
	rxe_srq_init(&srq, FIXTURE_PD, memory, WRS, 2, NULL);
}

static void teardown(void)
{
	free(memory);
	end_free(end);
}

static enum post_result post(uint64_t wr_id)
{
	const struct rxe_sge sge = sge_at((uint32_t)wr_id * 64, 64, KEY_ALL);
	const struct rxe_recv_wr wr = { .wr_id = wr_id, .num_sge = 1, .sges = &sge };

	return rxe_post_srq_recv(&end->engine, &srq, &wr);
}

static void fill(uint32_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		ck_assert_int_eq(post(i), POST_OK);
}

START_TEST(oldest_first)
{
	uint64_t i;

	ck_assert_ptr_null(rxe_srq_pop(&end->engine, &srq));
	fill(WRS);
	ck_assert_int_eq(post(99), POST_FULL);
	for (i = 0; i < WRS; i++)
		ck_assert_uint_eq(rxe_srq_pop(&end->engine, &srq)->wr_id, i);
	ck_assert_ptr_null(rxe_srq_pop(&end->engine, &srq));
	ck_assert_uint_eq(end->num_events, 0);
}
END_TEST

/* Receives keep their order and content, wherever the ring begins; what does not fit changes
 * nothing. */
START_TEST(resized)
{
	static const uint32_t sizes[] = { 5, 64, 5, 8 };
	uint64_t oldest = 3, i;

	fill(WRS);
	for (i = 0; i < 3; i++)
		rxe_srq_pop(&end->engine, &srq);
	for (i = 0; i < 4; i++) {
		void *other = calloc(1, rxe_ring_bytes(sizes[i], rxe_recv_stride(2)));

		ck_assert(!rxe_srq_resize(&srq, other, 4));
		ck_assert(rxe_srq_resize(&srq, other, sizes[i]));
		free(memory);
		memory = other;
		if (sizes[i] == 5)
			ck_assert_int_eq(post(99), POST_FULL);
		ck_assert_uint_eq(rxe_srq_pop(&end->engine, &srq)->wr_id, oldest);
		ck_assert_int_eq(post(oldest++ + 5), POST_OK);
	}
	for (i = 0; i < 5; i++) {
		const struct rxe_recv_wqe *wqe = rxe_srq_pop(&end->engine, &srq);

		ck_assert_uint_eq(wqe->wr_id, oldest + i);
		ck_assert_uint_eq(wqe->sge[0].addr,
				  sge_at((uint32_t)(oldest + i) * 64, 64, KEY_ALL).addr);
	}
	ck_assert_ptr_null(rxe_srq_pop(&end->engine, &srq));
}
END_TEST

START_TEST(resized_not_below_the_limit)
{
	void *other = calloc(1, rxe_ring_bytes(WRS, rxe_recv_stride(2)));

	fill(4);
	ck_assert(rxe_srq_arm(&end->engine, &srq, 4));
	ck_assert(!rxe_srq_resize(&srq, other, 3));
	fill(1);
	ck_assert(!rxe_srq_resize(&srq, other, 4));
	ck_assert_uint_eq(end->num_events, 0);
	free(other);
}
END_TEST

START_TEST(limit_once)
{
	fill(5);
	ck_assert(!rxe_srq_arm(&end->engine, &srq, WRS + 1));
	ck_assert(rxe_srq_arm(&end->engine, &srq, 4));
	rxe_srq_pop(&end->engine, &srq); /* 4 left: not below */
	ck_assert_uint_eq(end->num_events, 0);
	rxe_srq_pop(&end->engine, &srq); /* 3 */
	ck_assert_uint_eq(end->num_events, 1);
	ck_assert_int_eq(end->event[0].type, RXE_EVENT_SRQ_LIMIT_REACHED);
	ck_assert_ptr_eq(end->event[0].srq, &srq);
	ck_assert_uint_eq(srq.limit, 0);
	rxe_srq_pop(&end->engine, &srq);
	fill(3);
	rxe_srq_pop(&end->engine, &srq);
	rxe_srq_pop(&end->engine, &srq);
	rxe_srq_pop(&end->engine, &srq);
	ck_assert_uint_eq(end->num_events, 1);
	ck_assert(rxe_srq_arm(&end->engine, &srq, 1));
	rxe_srq_pop(&end->engine, &srq);
	rxe_srq_pop(&end->engine, &srq);
	ck_assert_uint_eq(end->num_events, 2);
}
END_TEST

START_TEST(limit_reached_already)
{
	fill(2);
	ck_assert(rxe_srq_arm(&end->engine, &srq, 2));
	ck_assert_uint_eq(end->num_events, 0);
	ck_assert(rxe_srq_arm(&end->engine, &srq, 3));
	ck_assert_uint_eq(end->num_events, 1);
	ck_assert(rxe_srq_arm(&end->engine, &srq, 0));
	ck_assert_uint_eq(end->num_events, 1);
}
END_TEST

/* A claimed receive belongs to the QP: its slot may be reused while the message is still
 * arriving. */
START_TEST(claims_outlive_their_slot)
{
	struct qp_set one, two;

	qp_new(end, &one, RXE_QPT_UC, &srq, FIXTURE_CQE);
	qp_new(end, &two, RXE_QPT_UC, &srq, FIXTURE_CQE);
	fill(WRS);
	ck_assert(rxe_recv_claim(&end->engine, &one.qp));
	ck_assert(rxe_recv_claim(&end->engine, &two.qp));
	ck_assert(rxe_recv_claim(&end->engine, &one.qp)); /* unchanged */
	ck_assert_int_eq(post(70), POST_OK);
	ck_assert_int_eq(post(71), POST_OK);
	ck_assert_uint_eq(one.qp.claim.wr_id, 0);
	ck_assert_uint_eq(two.qp.claim.wr_id, 1);
	ck_assert_int_eq(rxe_recv_scatter(&end->engine, &two.qp, 3, "x", 1), MR_OK);
	ck_assert_uint_eq(end->mem[64 + 3], 'x');
	qp_free(end, &one);
	qp_free(end, &two);
}
END_TEST

/* A QP in error flushes its claimed receive, leaves the others in the SRQ, and raises
 * LAST_WQE_REACHED. */
START_TEST(last_wqe)
{
	struct rxe_qp_attr attr = { .qp_state = RXE_QPS_ERR };
	struct qp_set set;
	struct rxe_cqe cqe;

	qp_new(end, &set, RXE_QPT_UC, &srq, FIXTURE_CQE);
	qp_to(end, &set, RXE_QPS_RTS, 2, 9);
	fill(3);
	ck_assert(rxe_recv_claim(&end->engine, &set.qp));
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, RXE_QP_STATE, 0), MODIFY_OK);
	rxe_engine_settle(&end->engine);
	cqe = poll_one(&set.recv_cq);
	ck_assert_uint_eq(cqe.status, RXE_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(cqe.wr_id, 0);
	ck_assert_uint_eq(poll_one(&set.recv_cq).status, UINT32_MAX);
	ck_assert_uint_eq(rxe_ring_used(&srq.rq), 2);
	ck_assert_uint_eq(end->num_events, 1);
	ck_assert_int_eq(end->event[0].type, RXE_EVENT_QP_LAST_WQE_REACHED);
	ck_assert_ptr_eq(end->event[0].qp, &set.qp);
	/* in ERR already: no second event */
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, RXE_QP_STATE, 0), MODIFY_OK);
	ck_assert_uint_eq(end->num_events, 1);
	qp_free(end, &set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_srq");
	TCase *tcase = tcase_create("srq");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, oldest_first);
	tcase_add_test(tcase, resized);
	tcase_add_test(tcase, resized_not_below_the_limit);
	tcase_add_test(tcase, limit_once);
	tcase_add_test(tcase, limit_reached_already);
	tcase_add_test(tcase, claims_outlive_their_slot);
	tcase_add_test(tcase, last_wqe);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
