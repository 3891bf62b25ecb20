// SPDX-License-Identifier: MIT
/* Shared receive queues: receives for many queue pairs, the limit event, the last-WQE event. */
#include <errno.h>
#include <pthread.h>

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

/* Of a queue pair whose receives are an SRQ's: unread completions go, posted receives stay. */
START_TEST(reset_takes_the_completions)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct end a, b;
	struct ibv_wc wc;

	ends_open(&a, &b, &with_srq);
	for (uint32_t i = 0; i < 3; i++)
		end_recv(&b, i, 0, 100);
	/* What the ACK covers is received. */
	for (uint32_t i = 0; i < 2; i++) {
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	ck_assert_int_eq(ibv_poll_cq(b.cq, 1, &wc), 1);
	ck_assert_uint_eq(wc.wr_id, 0);
	ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), 0);
	end_expect_nothing(&b);
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

static int resize(struct end *end, uint32_t max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };

	return ibv_modify_srq(end->srq, &attr, IBV_SRQ_MAX_WR);
}

static struct ibv_srq_attr query(struct end *end)
{
	struct ibv_srq_attr attr;

	ck_assert_int_eq(ibv_query_srq(end->srq, &attr), 0);
	return attr;
}

/* Larger and smaller while receives are posted: each of them keeps its place and its memory. */
START_TEST(resized)
{
	static const uint32_t sizes[] = { 200, 10, 11, 1000, 16 };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_device_attr device;
	struct end a, b;

	ends_open(&a, &b, &with_srq);
	ck_assert_int_eq(ibv_query_device(b.context, &device), 0);
	ck_assert(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	for (uint32_t i = 0; i < 10; i++)
		end_recv(&b, i, i * 1000, 1000);
	for (uint32_t i = 0; i < 50; i++) {
		const uint32_t size = sizes[i % 5];

		ck_assert_int_eq(resize(&b, 9), EINVAL);
		ck_assert_int_eq(resize(&b, size), 0);
		ck_assert_uint_eq(query(&b).max_wr, size);
		if (size == 10)
			ck_assert_int_eq(ibv_post_srq_recv(b.srq, &wr, &bad), ENOMEM);
		fill(a.memory, 900, i);
		end_post(&a, IBV_WR_SEND, i, 0, 900);
		end_wait_for(&b, i, IBV_WC_SUCCESS);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		expect_filled(b.memory + i % 10 * 1000, 900, i);
		end_recv(&b, i + 10, i % 10 * 1000, 1000);
	}
	ends_close(&a, &b);
}
END_TEST

/* One of two attributes is bad: none changes. The limit is one of the new size. */
START_TEST(resized_with_a_limit)
{
	const int both = IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT;
	struct ibv_srq_attr attr = { .max_wr = 100, .srq_limit = 101 };
	struct ibv_device_attr device;
	struct end a;

	end_open(&a, NULL, &with_srq);
	ck_assert_int_eq(ibv_query_device(a.context, &device), 0);
	for (uint32_t i = 0; i < 20; i++)
		end_recv(&a, i, 0, 1);
	ck_assert_int_eq(ibv_modify_srq(a.srq, &attr, both), EINVAL);
	ck_assert_uint_eq(query(&a).max_wr, a.cfg.wrs);
	attr.srq_limit = 5;
	ck_assert_int_eq(ibv_modify_srq(a.srq, &attr, both), 0);
	ck_assert_uint_eq(query(&a).max_wr, 100);
	ck_assert_uint_eq(query(&a).srq_limit, 5);
	attr = (struct ibv_srq_attr){ .max_wr = 19, .srq_limit = 7 }; /* 20 are posted */
	ck_assert_int_eq(ibv_modify_srq(a.srq, &attr, both), EINVAL);
	ck_assert_uint_eq(query(&a).max_wr, 100);
	ck_assert_uint_eq(query(&a).srq_limit, 5);
	ck_assert_int_eq(resize(&a, 0), EINVAL);
	ck_assert_int_eq(resize(&a, (uint32_t)device.max_srq_wr + 1), EINVAL);
	ck_assert_int_eq(resize(&a, (uint32_t)device.max_srq_wr), 0);
	ck_assert_int_eq(resize(&a, 20), 0);
	end_close(&a);
}
END_TEST

static void *resize_on(void *arg)
{
	static const uint32_t sizes[] = { 64, 100, 400, 65 };
	struct end *end = arg;

	for (uint32_t i = 0; i < 2000; i++)
		ck_assert_int_eq(resize(end, sizes[i % 4]), 0);
	return NULL;
}

/* Another thread resizes while messages take receives and receives are posted. */
START_TEST(resized_during_traffic)
{
	struct end a, b;
	pthread_t thread;

	ends_open(&a, &b, &with_srq);
	for (uint32_t i = 0; i < 32; i++)
		end_recv(&b, i, i * 1000, 1000);
	ck_assert_int_eq(pthread_create(&thread, NULL, resize_on, &b), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		fill(a.memory, 900, i);
		end_post(&a, IBV_WR_SEND, i, 0, 900);
		end_wait_for(&b, i, IBV_WC_SUCCESS);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		expect_filled(b.memory + i % 32 * 1000, 900, i);
		end_recv(&b, i + 32, i % 32 * 1000, 1000);
	}
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ends_close(&a, &b);
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
	tcase_add_test(tests, reset_takes_the_completions);
	tcase_add_test(tests, limit_beyond_its_size);
	tcase_add_test(tests, resized);
	tcase_add_test(tests, resized_with_a_limit);
	tcase_add_test(tests, resized_during_traffic);
	tcase_add_test(tests, last_wqe_event);
	tcase_add_test(tests, busy_while_in_use);
}

int main(void)
{
	return fixture_main("verbs_srq", add);
}
