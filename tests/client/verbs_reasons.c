// SPDX-License-Identifier: MIT
/* Every refusal says why: the sentence that a call of libibverbs logs when it returns an error. The
 * program reads its own log. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fixture.h"
#include "log_lines.h"

static struct end a, b;

static void setup(void)
{
	struct end_cfg cfg = { .wrs = 8, .sges = 2, .send_ops = IBV_QP_EX_WITH_SEND };

	log_lines_begin();
	ends_open(&a, &b, &cfg);
	log_lines_none();
}

static void teardown(void)
{
	ends_close(&a, &b);
	log_lines_end();
}

/* A queue pair of a's in RESET, with its own capabilities. */
static struct ibv_qp *make_qp(uint32_t max_send_wr)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .send_cq = a.cq,
					 .recv_cq = a.cq,
					 .cap = { max_send_wr, 4, 1, 1, 0 } };

	return ibv_create_qp(a.pd, &init);
}

START_TEST(state_of_a_post)
{
	struct ibv_qp *qp = make_qp(1);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;

	ck_assert_int_eq(ibv_post_send(qp, &send, &bad_send), EINVAL);
	log_line_is("ibv_post_send: QP 0x%06x is in RESET: requests can be posted from RTS on "
		    "(ibv_post_send(3))",
		    qp->qp_num);
	ck_assert_int_eq(ibv_post_recv(qp, &recv, &bad_recv), EINVAL);
	log_line_is("ibv_post_recv: QP 0x%06x is in RESET: receives can be posted from INIT on "
		    "(ibv_post_recv(3))",
		    qp->qp_num);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
}
END_TEST

START_TEST(full_send_queue)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .wr.rdma = { a.peer.addr, a.peer.rkey } },
			   *bad;
	int posted = 0;

	while (ibv_post_send(a.qp, &wr, &bad) == 0)
		posted++;
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(posted, 8);
	log_line_is(
		"ibv_post_send: the send queue of QP 0x%06x is full: 8 of at most 8 requests are "
		"outstanding, 8 of them unsignalled: poll the completion of a signalled one "
		"(ibv_post_send(3))",
		a.qp->qp_num);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), ENOMEM);
	ck_assert(strstr(log_line(), ", 2 times"));
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), ENOMEM);
	log_lines_none(); /* lines come at powers of two */
}
END_TEST

START_TEST(bad_requests)
{
	struct ibv_sge sge[4] = { { (uintptr_t)a.memory, 8, a.mr->lkey } };
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 4, .opcode = IBV_WR_SEND }, *bad;
	const uint32_t granted = 2, qpn = a.qp->qp_num;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	ck_assert_int_eq(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
	ck_assert_uint_eq(init.cap.max_send_sge, granted);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	log_line_is("ibv_post_send: num_sge 4 is above the max_send_sge 2 of QP 0x%06x "
		    "(ibv_create_qp(3))",
		    qpn);
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	sge[0].length = 4096;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	log_line_is(
		"ibv_post_send: 4096 inline bytes are above the max_inline_data %u of QP 0x%06x "
		"(ibv_create_qp(3))",
		init.cap.max_inline_data, qpn);
	wr.opcode = IBV_WR_RDMA_READ;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	log_line_is("ibv_post_send: RDMA read does not take send_flags 0x8 (ibv_post_send(3))");
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.send_flags = 0;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	log_line_is("ibv_post_send: atomic fetch and add works on 8 bytes, but the list has "
		    "4096");
	wr.sg_list = NULL;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	log_line_is("ibv_post_send: sg_list is NULL, but num_sge is 1");
}
END_TEST

START_TEST(built_requests)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a.qp);
	struct ibv_qp *plain = make_qp(1);

	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	log_line_is("ibv_wr_complete: QP 0x%06x: ibv_wr_start() was not called (ibv_wr_post(3))",
		    a.qp->qp_num);
	ibv_wr_start(ex);
	ibv_wr_set_sge(ex, 0, 0, 0);
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	log_line_is("ibv_wr_complete: QP 0x%06x: a setter was called before any request was begun "
		    "(ibv_wr_post(3))",
		    a.qp->qp_num);
	ck_assert_ptr_null(ibv_qp_to_qp_ex(plain));
	log_line_is(
		"ibv_qp_to_qp_ex: QP 0x%06x was created without IBV_QP_INIT_ATTR_SEND_OPS_FLAGS "
		"(ibv_create_qp_ex(3))",
		plain->qp_num);
	ck_assert_int_eq(ibv_destroy_qp(plain), 0);
}
END_TEST

START_TEST(capabilities)
{
	struct ibv_device_attr device;

	ck_assert_int_eq(ibv_query_device(a.context, &device), 0);
	ck_assert_ptr_null(make_qp(1048576));
	log_line_is("ibv_create_qp: max_send_wr 1048576 is above the device's %d",
		    device.max_qp_wr);
	ck_assert_ptr_null(ibv_create_cq(a.context, 0, NULL, NULL, 0));
	log_line_is("ibv_create_cq: cqe is 0: at least 1 is needed");
	ck_assert_ptr_null(ibv_create_cq(a.context, 1, NULL, NULL, 7));
	log_line_is("ibv_create_cq: comp_vector 7 does not exist: the context has 1");
}
END_TEST

START_TEST(users)
{
	struct ibv_pd *pd = ibv_alloc_pd(a.context);
	struct ibv_mr *mr[2];

	for (int i = 0; i < 2; i++)
		mr[i] = ibv_reg_mr(pd, a.memory, 64, IBV_ACCESS_LOCAL_WRITE);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	/* The table of objects has no order. */
	ck_assert(strstr(log_line(), " is in use: 2 MRs (handles "));
	ck_assert_int_eq(ibv_dereg_mr(mr[0]), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	log_line_is("ibv_dealloc_pd: PD %u is in use: MR %u", pd->handle, mr[1]->handle);
	ck_assert_int_eq(ibv_dereg_mr(mr[1]), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	log_lines_none();
}
END_TEST

START_TEST(users_of_queues)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(a.context);
	struct ibv_cq *cq = ibv_create_cq(a.context, 1, NULL, channel, 0);
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = ibv_alloc_dm(a.context, &attr);
	struct ibv_mr *mr = ibv_reg_dm_mr(a.pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED);

	ck_assert_int_eq(ibv_destroy_cq(a.cq), EBUSY);
	log_line_is("ibv_destroy_cq: CQ %u is in use: QP 0x%06x", a.cq->handle, a.qp->qp_num);
	ck_assert_int_eq(ibv_destroy_comp_channel(channel), EBUSY);
	log_line_is("ibv_destroy_comp_channel: completion channel %p is in use: CQ %u",
		    (void *)channel, cq->handle);
	ck_assert_int_eq(ibv_free_dm(dm), EBUSY);
	ck_assert(strstr(log_line(), " is in use: MR "));
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	ck_assert_int_eq(ibv_destroy_comp_channel(channel), 0);
}
END_TEST

START_TEST(memory)
{
	struct ibv_mr *mr;

	ck_assert_ptr_null(ibv_reg_mr(a.pd, a.memory, 64, IBV_ACCESS_REMOTE_WRITE));
	log_line_is(
		"ibv_reg_mr: IBV_ACCESS_REMOTE_WRITE needs IBV_ACCESS_LOCAL_WRITE (ibv_reg_mr(3))");
	ck_assert_ptr_null(ibv_reg_mr(a.pd, a.memory, 64, 1 << 29 | 1 << 18));
	log_line_is("ibv_reg_mr: access flags 0x40000 are unknown here (ibv_reg_mr(3))");
	ck_assert_ptr_null(ibv_reg_mr(a.pd, (void *)4096, 64, IBV_ACCESS_LOCAL_WRITE));
	log_line_is("ibv_reg_mr: the 64 bytes at 0x1000 are not all mapped, or not writable");
	mr = ibv_reg_mr(a.pd, a.memory, 64, 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), EINVAL);
	log_line_is(
		"ibv_dereg_mr: %p is no live MR: it was destroyed, or this library did not make it",
		(void *)mr);
	ck_assert_ptr_null(ibv_reg_dmabuf_mr(a.pd, 0, 64, 0, 999, 0));
	log_line_is("ibv_reg_dmabuf_mr: descriptor 999 is not open");
}
END_TEST

START_TEST(device_memory)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = ibv_alloc_dm(a.context, &attr);
	uint8_t bytes[8] = { 0 };

	ck_assert_ptr_nonnull(dm);
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 64, bytes, 8), EINVAL);
	log_line_is(
		"ibv_memcpy_to_dm: offset 64 and length 8 are not within the 64 bytes of device "
		"memory");
	ck_assert_int_eq(ibv_memcpy_from_dm(bytes, dm, 2, 4), EINVAL);
	log_line_is("ibv_memcpy_from_dm: offset 2 and length 4 must be multiples of 4");
	ck_assert_ptr_null(ibv_reg_dm_mr(a.pd, dm, 0, 64, 0));
	log_line_is("ibv_reg_dm_mr: a region over device memory needs IBV_ACCESS_ZERO_BASED "
		    "(ibv_reg_dm_mr(3))");
	ck_assert_int_eq(ibv_free_dm(dm), 0);
	attr.length = SIZE_MAX;
	ck_assert_ptr_null(ibv_alloc_dm(a.context, &attr));
	ck_assert(strstr(log_line(), "is not possible: device memory has "));
}
END_TEST

START_TEST(moves)
{
	struct ibv_qp *qp = make_qp(1);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	ck_assert_int_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	log_line_is("ibv_modify_qp: QP 0x%06x cannot move from RESET to RTS (ibv_modify_qp(3))",
		    qp->qp_num);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 };
	ck_assert_int_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
			 EINVAL);
	log_line_is(
		"ibv_modify_qp: QP 0x%06x moves from RESET to INIT only with IBV_QP_PKEY_INDEX in "
		"the mask (ibv_modify_qp(3))",
		qp->qp_num);
	attr.port_num = 3;
	ck_assert_int_eq(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX),
		EINVAL);
	log_line_is("ibv_modify_qp: QP 0x%06x: the value of IBV_QP_PORT is out of range "
		    "(ibv_modify_qp(3))",
		    qp->qp_num);
	ck_assert_int_eq(ibv_modify_qp(qp, &attr, IBV_QP_CAP), EOPNOTSUPP);
	log_line_is("ibv_modify_qp: QP 0x%06x cannot be resized (IBV_QP_CAP)", qp->qp_num);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
}
END_TEST

START_TEST(handles)
{
	ck_assert_int_eq(ibv_dealloc_pd(NULL), EINVAL);
	log_line_is("ibv_dealloc_pd: the PD is NULL");
	ck_assert_int_eq(ibv_destroy_cq((struct ibv_cq *)(void *)a.pd), EINVAL);
	log_line_is("ibv_destroy_cq: %p is a PD, not a CQ", (void *)a.pd);
	ck_assert_ptr_null(ibv_import_pd(a.context, 123456));
	log_line_is("ibv_import_pd: the context has no PD with handle 123456");
	ck_assert_ptr_null(ibv_open_device((struct ibv_device *)(void *)&a));
	log_line_is("ibv_open_device: %p is no device of ibv_get_device_list() "
		    "(ibv_get_device_list(3))",
		    (void *)&a);
}
END_TEST

START_TEST(addresses)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_gid_entry entry;

	ck_assert_ptr_null(ibv_create_ah(a.pd, &attr));
	log_line_is("ibv_create_ah: RoCE requires a GID, but is_global is 0 (ibv_create_ah(3))");
	attr.is_global = 1;
	ck_assert_ptr_null(ibv_create_ah(a.pd, &attr));
	log_line_is("ibv_create_ah: the destination GID is zero");
	ck_assert_int_eq(ibv_query_gid_ex(a.context, 2, 0, &entry, 0), EINVAL);
	log_line_is("ibv_query_gid_ex: port 2 does not exist: the device has port 1");
}
END_TEST

START_TEST(completion_queues)
{
	struct ibv_wc wc;

	ck_assert_int_eq(ibv_poll_cq(a.cq, -1, &wc), -EINVAL);
	log_line_is("ibv_poll_cq: num_entries is -1 (ibv_poll_cq(3))");
	ck_assert_int_eq(ibv_req_notify_cq(a.cq, 0), EINVAL);
	log_line_is("ibv_req_notify_cq: CQ %u has no completion channel, so no event can come "
		    "(ibv_req_notify_cq(3))",
		    a.cq->handle);
	/* An empty CQ and a descriptor without events refuse nothing. */
	ck_assert_int_eq(ibv_poll_cq(a.cq, 1, &wc), 0);
	fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK);
	ck_assert_int_eq(ibv_get_async_event(a.context, &(struct ibv_async_event){ 0 }), -1);
	ck_assert_int_eq(errno, EAGAIN);
	log_lines_none();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, state_of_a_post);
	tcase_add_test(tests, full_send_queue);
	tcase_add_test(tests, bad_requests);
	tcase_add_test(tests, built_requests);
	tcase_add_test(tests, capabilities);
	tcase_add_test(tests, users);
	tcase_add_test(tests, users_of_queues);
	tcase_add_test(tests, memory);
	tcase_add_test(tests, device_memory);
	tcase_add_test(tests, moves);
	tcase_add_test(tests, handles);
	tcase_add_test(tests, addresses);
	tcase_add_test(tests, completion_queues);
}

int main(void)
{
	return fixture_main("verbs_reasons", add);
}
