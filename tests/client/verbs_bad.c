// SPDX-License-Identifier: MIT
/* Verbs called as a buggy program calls them: null, foreign, destroyed, out of range. The page's
 * error, never a crash. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define EXPECT_NULL(call, err)                                                                     \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_msg((call) == NULL, #call " succeeded");                                 \
		ck_assert_msg(errno == (err), #call ": errno is %s", strerror(errno));             \
	} while (0)

START_TEST(null_handles)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_srq_init_attr srq = { .attr = { 1, 1, 0 } };
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	EXPECT_NULL(ibv_alloc_pd(NULL), EINVAL);
	EXPECT_NULL(ibv_create_comp_channel(NULL), EINVAL);
	EXPECT_NULL(ibv_create_cq(NULL, 1, NULL, NULL, 0), EINVAL);
	EXPECT_NULL(ibv_create_qp(NULL, &init), EINVAL);
	EXPECT_NULL(ibv_create_srq(NULL, &srq), EINVAL);
	EXPECT_NULL(ibv_qp_to_qp_ex(NULL), EOPNOTSUPP);
	ck_assert_int_ne(ibv_dealloc_pd(NULL), 0);
	ck_assert_int_ne(ibv_destroy_comp_channel(NULL), 0);
	ck_assert_int_ne(ibv_destroy_cq(NULL), 0);
	ck_assert_int_ne(ibv_destroy_qp(NULL), 0);
	ck_assert_int_ne(ibv_destroy_srq(NULL), 0);
	ck_assert_int_ne(ibv_destroy_ah(NULL), 0);
	ck_assert_int_ne(ibv_dereg_mr(NULL), 0);
	ck_assert_int_ne(ibv_close_device(NULL), 0);
	ck_assert_int_eq(ibv_get_async_event(NULL, &event), -1);
	ck_assert_int_eq(ibv_get_cq_event(NULL, &cq, &context), -1);
}
END_TEST

START_TEST(null_arguments)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = { 0 };
	struct end a;

	end_open(&a, NULL, NULL);
	EXPECT_NULL(ibv_create_qp(a.pd, NULL), EINVAL);
	EXPECT_NULL(ibv_create_srq(a.pd, NULL), EINVAL);
	EXPECT_NULL(ibv_create_ah(a.pd, NULL), EINVAL);
	ck_assert_int_eq(ibv_modify_qp(a.qp, NULL, IBV_QP_STATE), EINVAL);
	ck_assert_int_eq(ibv_query_qp(a.qp, NULL, 0, &init), EINVAL);
	ck_assert_int_eq(ibv_query_qp(a.qp, &attr, 0, NULL), EINVAL);
	ck_assert_int_eq(ibv_attach_mcast(a.qp, NULL, 0), EINVAL);
	ck_assert_int_eq(ibv_get_async_event(a.context, NULL), -1);
	ibv_ack_async_event(NULL);
	ibv_ack_cq_events(NULL, 1);
	end_close(&a);
}
END_TEST

/* A handle that was destroyed, used again. */
START_TEST(destroyed_handles)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_srq_init_attr shared = { .attr = { 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct end a, gone;

	end_open(&a, NULL, NULL);
	end_open(&gone, a.context, NULL);
	init.send_cq = init.recv_cq = a.cq;
	ck_assert_int_eq(ibv_destroy_qp(gone.qp), 0);
	ck_assert_int_eq(ibv_destroy_qp(gone.qp), EINVAL);
	ck_assert_int_eq(ibv_modify_qp(gone.qp, &attr, IBV_QP_STATE), EINVAL);
	gone.qp = NULL;
	ck_assert_int_eq(ibv_destroy_cq(gone.cq), 0);
	ck_assert_int_eq(ibv_destroy_cq(gone.cq), EINVAL);
	ck_assert_int_eq(ibv_resize_cq(gone.cq, 10), EINVAL);
	init.recv_cq = gone.cq;
	EXPECT_NULL(ibv_create_qp(a.pd, &init), EINVAL);
	gone.cq = NULL;
	end_close(&gone);
	init.recv_cq = a.cq;
	init.srq = ibv_create_srq(a.pd, &shared);
	ck_assert_ptr_nonnull(init.srq);
	ck_assert_int_eq(ibv_destroy_srq(init.srq), 0);
	EXPECT_NULL(ibv_create_qp(a.pd, &init), EINVAL);
	init.srq = NULL;
	EXPECT_NULL(ibv_create_qp(gone.pd, &init), EINVAL);
	ck_assert_int_ne(ibv_dealloc_pd(gone.pd), 0);
	end_close(&a);
}
END_TEST

START_TEST(completion_queue_sizes)
{
	struct ibv_device_attr device;
	struct ibv_cq *cq;
	struct end a;

	end_open(&a, NULL, NULL);
	ck_assert_int_eq(ibv_query_device(a.context, &device), 0);
	EXPECT_NULL(ibv_create_cq(a.context, 0, NULL, NULL, 0), EINVAL);
	EXPECT_NULL(ibv_create_cq(a.context, -1, NULL, NULL, 0), EINVAL);
	EXPECT_NULL(ibv_create_cq(a.context, INT_MAX, NULL, NULL, 0), EINVAL);
	EXPECT_NULL(ibv_create_cq(a.context, device.max_cqe + 1, NULL, NULL, 0), EINVAL);
	EXPECT_NULL(ibv_create_cq(a.context, 1, NULL, NULL, -1), EINVAL);
	EXPECT_NULL(ibv_create_cq(a.context, 1, NULL, NULL, a.context->num_comp_vectors), EINVAL);
	cq = ibv_create_cq(a.context, device.max_cqe, NULL, NULL, 0);
	ck_assert_ptr_nonnull(cq);
	ck_assert_int_eq(ibv_resize_cq(cq, 0), EINVAL);
	ck_assert_int_eq(ibv_resize_cq(cq, device.max_cqe + 1), EINVAL);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	end_close(&a);
}
END_TEST

/* What queries report is what is enforced. */
START_TEST(queue_pair_sizes)
{
	struct ibv_device_attr device;
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;
	struct end a;

	end_open(&a, NULL, NULL);
	ck_assert_int_eq(ibv_query_device(a.context, &device), 0);
	for (int i = 0; i < 6; i++) {
		init = (struct ibv_qp_init_attr){ .send_cq = a.cq,
						  .recv_cq = a.cq,
						  .qp_type = IBV_QPT_RC,
						  .cap = { 1, 1, 1, 1, 0 } };
		init.cap.max_send_wr = (uint32_t)device.max_qp_wr + (i == 1);
		init.cap.max_recv_wr = (uint32_t)device.max_qp_wr + (i == 2);
		init.cap.max_send_sge = (uint32_t)device.max_sge + (i == 3);
		init.cap.max_recv_sge = (uint32_t)device.max_sge + (i == 4);
		init.cap.max_inline_data = i == 5 ? UINT32_MAX : 0;
		if (i) {
			EXPECT_NULL(ibv_create_qp(a.pd, &init), EINVAL);
			continue;
		}
		qp = ibv_create_qp(a.pd, &init);
		ck_assert_ptr_nonnull(qp);
		ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	}
	init.cap = (struct ibv_qp_cap){ 1, 1, 1, 1, 0 };
	init.qp_type = (enum ibv_qp_type)77;
	ck_assert_ptr_null(ibv_create_qp(a.pd, &init));
	init.qp_type = IBV_QPT_RC;
	init.send_cq = NULL;
	EXPECT_NULL(ibv_create_qp(a.pd, &init), EINVAL);
	end_close(&a);
}
END_TEST

START_TEST(shared_queue_sizes)
{
	struct ibv_device_attr device;
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };
	struct end a;

	end_open(&a, NULL, NULL);
	ck_assert_int_eq(ibv_query_device(a.context, &device), 0);
	init.attr.max_wr = (uint32_t)device.max_srq_wr + 1;
	EXPECT_NULL(ibv_create_srq(a.pd, &init), EINVAL);
	init.attr.max_wr = 0;
	EXPECT_NULL(ibv_create_srq(a.pd, &init), EINVAL);
	init.attr.max_wr = 1;
	init.attr.max_sge = (uint32_t)device.max_srq_sge + 1;
	EXPECT_NULL(ibv_create_srq(a.pd, &init), EINVAL);
	end_close(&a);
}
END_TEST

static void expect_refused_send(struct end *end, const struct ibv_send_wr *like, int err)
{
	struct ibv_sge sge = { (uintptr_t)end->memory, 8, end->mr->lkey };
	struct ibv_send_wr good, wr = *like, *bad = NULL;

	good = end_wr(end, &sge, IBV_WR_RDMA_WRITE, 1, 0, 8);
	good.next = &wr;
	ck_assert_int_eq(ibv_post_send(end->qp, &good, &bad), err);
	ck_assert_ptr_eq(bad, &wr); /* the first of the list went */
	end_wait_for(end, 1, IBV_WC_SUCCESS);
}

START_TEST(bad_sends)
{
	struct ibv_sge sges[64];
	struct ibv_send_wr wr;
	struct end a, b;

	ends_open(&a, &b, NULL);
	for (int i = 0; i < 64; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)a.memory, 8, a.mr->lkey };
	wr = end_wr(&a, sges, IBV_WR_RDMA_WRITE, 2, 0, 8);
	wr.opcode = (enum ibv_wr_opcode)99;
	expect_refused_send(&a, &wr, EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.num_sge = 5; /* four were asked for */
	expect_refused_send(&a, &wr, EINVAL);
	wr.num_sge = -1;
	expect_refused_send(&a, &wr, EINVAL);
	wr.num_sge = 1;
	wr.send_flags |= 1u << 20;
	expect_refused_send(&a, &wr, EINVAL);
	wr.send_flags = IBV_SEND_INLINE;
	sges[0].length = 100000;
	expect_refused_send(&a, &wr, EINVAL);
	wr.send_flags = 0;
	sges[0].length = 0x80000001u;
	expect_refused_send(&a, &wr, EINVAL);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	for (int i = 0; i < 4; i++) {
		static const uint32_t lengths[] = { 0, 4, 9, 16 };

		sges[0].length = lengths[i];
		expect_refused_send(&a, &wr, EINVAL);
	}
	sges[0].length = 8;
	wr.num_sge = 0;
	expect_refused_send(&a, &wr, EINVAL);
	wr.num_sge = 2; /* 16 bytes */
	expect_refused_send(&a, &wr, EINVAL);
	ends_close(&a, &b);
}
END_TEST

START_TEST(queue_full)
{
	struct end_cfg cfg = { .wrs = 4 };
	struct ibv_recv_wr in = { .wr_id = 9 }, *bad_in = NULL;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad = NULL;
	int posted = 0, err;
	struct end a, b;

	ends_open(&a, &b, &cfg);
	/* Sends that no process receives stay in the queue. */
	do {
		wr = end_wr(&a, &sge, IBV_WR_SEND, 1, 0, 8);
		err = ibv_post_send(a.qp, &wr, &bad);
	} while (err == 0 && ++posted < 1000);
	ck_assert_int_eq(err, ENOMEM);
	ck_assert_ptr_eq(bad, &wr);
	ck_assert_int_ge(posted, 4);
	posted = 0;
	do {
		err = ibv_post_recv(a.qp, &in, &bad_in);
	} while (err == 0 && ++posted < 1000);
	ck_assert_int_eq(err, ENOMEM);
	ck_assert_int_ge(posted, 4);
	ends_close(&a, &b);
}
END_TEST

START_TEST(wrong_state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad = NULL;
	struct end a;

	end_open(&a, NULL, NULL);
	wr = end_wr(&a, &sge, IBV_WR_SEND, 1, 0, 8);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	ck_assert_ptr_eq(bad, &wr);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL);
	attr.qp_state = IBV_QPS_RTR;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL); /* all is missing */
	attr.qp_state = (enum ibv_qp_state)42;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL);
	ck_assert_int_eq(end_state(&a), IBV_QPS_INIT);
	end_close(&a);
}
END_TEST

START_TEST(zero_or_negative_polls)
{
	struct ibv_wc wc;
	struct end a;

	end_open(&a, NULL, NULL);
	ck_assert_int_eq(ibv_poll_cq(a.cq, 0, &wc), 0);
	ck_assert_int_lt(ibv_poll_cq(a.cq, -1, &wc), 0);
	end_close(&a);
}
END_TEST

/* A context closed with everything on it alive: all of it goes, and its peer learns of nothing any
 * more. */
START_TEST(closed_with_everything_alive)
{
	struct end_cfg cfg = { .channel = true, .srq = true, .timeout = 8, .rnr_retry = 1 };
	struct ibv_context *other = fixture_open();
	struct end a, b;
	struct ibv_wc wc;

	end_open(&a, NULL, &cfg);
	end_open(&b, other, &cfg);
	for (int i = 0; i < 2; i++) {
		struct end_address address = end_address(i ? &a : &b);

		end_connect(i ? &b : &a, &address);
	}
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 100000);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_req_notify_cq(a.cq, 0), 0);
	ck_assert_int_eq(ibv_close_device(a.context), 0);
	/* A wrong key would raise an event at the closed one's queue pair, a send find its receive
	 * queue. */
	b.peer.rkey = 0x12345678;
	end_post(&b, IBV_WR_RDMA_WRITE, 2, 0, 100000);
	do
		wc = end_wait(&b);
	while (wc.wr_id != 2);
	ck_assert_int_eq(wc.status, IBV_WC_RETRY_EXC_ERR);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), EINVAL);
	ck_assert_int_eq(ibv_destroy_cq(a.cq), EINVAL);
	ck_assert_int_eq(ibv_destroy_srq(a.srq), EINVAL);
	ck_assert_int_eq(ibv_dereg_mr(a.mr), EINVAL);
	free(a.memory);
	end_close(&b);
	ck_assert_int_eq(ibv_close_device(other), 0);
}
END_TEST

/* The calls of ibv_wr_start(3) in another order than the page's. */
START_TEST(built_out_of_order)
{
	struct end_cfg cfg = { .send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE };
	struct ibv_qp_ex *ex;
	struct end a, b;

	ends_open(&a, &b, &cfg);
	ex = ibv_qp_to_qp_ex(a.qp);
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	ibv_wr_abort(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.memory, 8);
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.memory, 8); /* of no request */
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, a.peer.rkey, a.peer.addr);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.memory, 8);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL); /* it is not posted twice */
	end_wait_for(&a, 7, IBV_WC_SUCCESS);
	end_expect_nothing(&a);
	ends_close(&a, &b);
}
END_TEST

/* The last says what is sent: no byte of any other memory is. */
START_TEST(inline_data_set_twice)
{
	struct end_cfg cfg = { .send_ops = IBV_QP_EX_WITH_SEND };
	struct ibv_qp_ex *ex;
	struct end a, b;

	ends_open(&a, &b, &cfg);
	fill(a.memory, 256, 1);
	fill(a.memory + 1000, 100, 2);
	end_recv(&b, 1, 0, 4096);
	ex = ibv_qp_to_qp_ex(a.qp);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, a.memory, 150);
	ibv_wr_set_inline_data(ex, a.memory + 1000, 100);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_uint_eq(end_wait_for(&b, 1, IBV_WC_SUCCESS).byte_len, 100);
	expect_filled(b.memory, 100, 2);
	ends_close(&a, &b);
}
END_TEST

START_TEST(null_on_the_data_path)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };
	struct ibv_cq_init_attr_ex init = { .cqe = 4 };
	struct ibv_send_wr wr = { .num_sge = 1, .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_recv_wr in = { .num_sge = 1 }, *bad_in = NULL;
	struct ibv_cq_ex *cq;
	struct end a, b;

	ends_open(&a, &b, NULL);
	ck_assert_int_eq(ibv_post_send(a.qp, NULL, &bad), 0); /* an empty list */
	ck_assert_int_eq(ibv_post_recv(a.qp, NULL, &bad_in), 0);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	ck_assert_int_eq(ibv_post_recv(a.qp, &in, &bad_in), EINVAL);
	in.num_sge = -1;
	ck_assert_int_eq(ibv_post_recv(a.qp, &in, &bad_in), EINVAL);
	ck_assert_int_lt(ibv_poll_cq(a.cq, 1, NULL), 0);
	cq = ibv_create_cq_ex(a.context, &init);
	ck_assert_ptr_nonnull(cq);
	ck_assert_int_eq(ibv_start_poll(cq, &attr), EINVAL);
	ck_assert_int_eq(ibv_start_poll(cq, NULL), EINVAL);
	ck_assert_int_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	ends_close(&a, &b);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, closed_with_everything_alive);
	tcase_add_test(tests, built_out_of_order);
	tcase_add_test(tests, inline_data_set_twice);
	tcase_add_test(tests, null_on_the_data_path);
	tcase_add_test(tests, null_handles);
	tcase_add_test(tests, null_arguments);
	tcase_add_test(tests, destroyed_handles);
	tcase_add_test(tests, completion_queue_sizes);
	tcase_add_test(tests, queue_pair_sizes);
	tcase_add_test(tests, shared_queue_sizes);
	tcase_add_test(tests, bad_sends);
	tcase_add_test(tests, queue_full);
	tcase_add_test(tests, wrong_state);
	tcase_add_test(tests, zero_or_negative_polls);
}

int main(void)
{
	return fixture_main("verbs_bad", add);
}
