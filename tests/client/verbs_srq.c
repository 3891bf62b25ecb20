// SPDX-License-Identifier: MIT
/* Shared receive queues: receives for many queue pairs, the limit event, the last-WQE event. */
#include <errno.h>

#include "fixture.h"

static const struct end_cfg with_srq = { .srq = true };

START_TEST(receives_are_drawn_from_it)
{
	struct end a, b;

	ends_open(&a, &b, &with_srq);
	for (uint32_t i = 0; i < 64; i++)
		end_recv(&b, i, i * 1000, 1000);
	for (uint32_t i = 0; i < 64; i++) {
		fill(a.memory, 900, i);
		end_post(&a, IBV_WR_SEND, i, 0, 900);
		end_wait_for(&b, i, IBV_WC_SUCCESS);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		expect_filled(b.memory + (size_t)i * 1000, 900, i);
	}
	ends_close(&a, &b);
}
END_TEST

START_TEST(full)
{
	struct end a;
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;

	end_open(&a, NULL, &with_srq);
	for (uint32_t i = 0; i < a.cfg.wrs; i++)
		end_recv(&a, i, 0, 1);
	ck_assert_int_eq(ibv_post_srq_recv(a.srq, &wr, &bad), ENOMEM);
	ck_assert_ptr_eq(bad, &wr);
	end_close(&a);
}
END_TEST

START_TEST(limit_event_once)
{
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	struct end a, b;

	ends_open(&a, &b, &with_srq);
	for (uint32_t i = 0; i < 5; i++)
		end_recv(&b, i, 0, 100);
	ck_assert_int_eq(ibv_modify_srq(b.srq, &attr, IBV_SRQ_LIMIT), 0);
	attr.srq_limit = 0;
	ck_assert_int_eq(ibv_query_srq(b.srq, &attr), 0);
	ck_assert_uint_eq(attr.srq_limit, 3);
	ck_assert_uint_ge(attr.max_wr, b.cfg.wrs);
	for (uint32_t i = 0; i < 3; i++) {
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	expect_event(b.context, IBV_EVENT_SRQ_LIMIT_REACHED);
	ck_assert_int_eq(ibv_query_srq(b.srq, &attr), 0);
	ck_assert_uint_eq(attr.srq_limit, 0);
	ends_close(&a, &b);
}
END_TEST

START_TEST(limit_beyond_its_size)
{
	struct ibv_srq_attr attr = { .srq_limit = 1u << 20 };
	struct end a;

	end_open(&a, NULL, &with_srq);
	ck_assert_int_eq(ibv_modify_srq(a.srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	end_close(&a);
}
END_TEST

START_TEST(last_wqe_event)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct end a, b;

	ends_open(&a, &b, &with_srq);
	end_recv(&b, 0, 0, 100);
	ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), 0);
	expect_event(b.context, IBV_EVENT_QP_LAST_WQE_REACHED);
	end_expect_nothing(&b); /* the receive stays in the shared queue */
	ends_close(&a, &b);
}
END_TEST

START_TEST(busy_while_in_use)
{
	struct end a;
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;

	end_open(&a, NULL, &with_srq);
	ck_assert_int_eq(ibv_destroy_srq(a.srq), EBUSY);
	ck_assert_int_eq(ibv_post_recv(a.qp, &wr, &bad), EINVAL);
	ck_assert_ptr_eq(bad, &wr);
	end_close(&a);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, receives_are_drawn_from_it);
	tcase_add_test(tests, full);
	tcase_add_test(tests, limit_event_once);
	tcase_add_test(tests, limit_beyond_its_size);
	tcase_add_test(tests, last_wqe_event);
	tcase_add_test(tests, busy_while_in_use);
}

int main(void)
{
	return fixture_main("verbs_srq", add);
}
