// SPDX-License-Identifier: MIT
/* Completion counters (ibv_create_comp_cntr(3)): each operation, in requests and in bytes, errors,
 * and what is refused. */
#include <errno.h>

#include "fixture.h"
#include "lib/abi/newer.h"

#define SEND	     (1u << 0)
#define RECV	     (1u << 1)
#define READ	     (1u << 2)
#define REMOTE_READ  (1u << 3)
#define WRITE	     (1u << 4)
#define REMOTE_WRITE (1u << 5)
#define OPS	     6
#define ALL	     ((1u << OPS) - 1)

enum type {
	WRS,
	BYTES,
};

static struct ibv_comp_cntr *create(struct ibv_context *context, enum type type)
{
	struct ibv_comp_cntr_init_attr attr = { .type = type };
	struct ibv_comp_cntr *cntr = ibv_create_comp_cntr(context, &attr);

	ck_assert_ptr_nonnull(cntr);
	ck_assert_ptr_eq(cntr->context, context);
	return cntr;
}

static int attach(struct ibv_qp *qp, struct ibv_comp_cntr *cntr, uint32_t ops)
{
	struct ibv_qp_attach_comp_cntr_attr attr = { .op_mask = ops };

	return ibv_qp_attach_comp_cntr(qp, cntr, &attr);
}

static uint64_t completed(struct ibv_comp_cntr *cntr)
{
	uint64_t value;

	ck_assert_int_eq(ibv_read_comp_cntr(cntr, &value), 0);
	return value;
}

static uint64_t failed(struct ibv_comp_cntr *cntr)
{
	uint64_t value;

	ck_assert_int_eq(ibv_read_err_comp_cntr(cntr, &value), 0);
	return value;
}

/* Two ends with a counter for each operation of each of them. */
static struct ibv_context *context;
static struct end a, b;
static struct ibv_comp_cntr *of_a[OPS], *of_b[OPS];

/* An end of datagrams is ready at once; counters are attached before. */
static void back_to_reset(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	ck_assert_int_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

static void ready_again(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = FIXTURE_QKEY };

	ck_assert_int_eq(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	attr.qp_state = IBV_QPS_RTR;
	ck_assert_int_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	ck_assert_int_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static void open_counted(enum ibv_qp_type qp_type, enum type type)
{
	const struct end_cfg cfg = { .type = qp_type };
	struct end_address at_a, at_b;

	context = fixture_open();
	end_open(&a, context, &cfg);
	end_open(&b, context, &cfg);
	if (qp_type == IBV_QPT_UD) {
		back_to_reset(a.qp);
		back_to_reset(b.qp);
	}
	for (uint32_t op = 0; op < OPS; op++) {
		of_a[op] = create(context, type);
		of_b[op] = create(context, type);
		ck_assert_int_eq(attach(a.qp, of_a[op], 1u << op), 0);
		ck_assert_int_eq(attach(b.qp, of_b[op], 1u << op), 0);
	}
	if (qp_type == IBV_QPT_UD) {
		ready_again(a.qp);
		ready_again(b.qp);
	}
	at_a = end_address(&a);
	at_b = end_address(&b);
	end_connect(&a, &at_b);
	end_connect(&b, &at_a);
}

static void close_counted(void)
{
	ends_close(&a, &b);
	for (uint32_t op = 0; op < OPS; op++) {
		ck_assert_int_eq(ibv_destroy_comp_cntr(of_a[op]), 0);
		ck_assert_int_eq(ibv_destroy_comp_cntr(of_b[op]), 0);
	}
	ck_assert_int_eq(ibv_close_device(context), 0);
}

/* In the order of the bits. Waits for them. */
static void expect_counts(struct ibv_comp_cntr *const *cntrs, const uint64_t *counts)
{
	for (uint32_t op = 0; op < OPS; op++) {
		while (completed(cntrs[op]) < counts[op])
			;
		ck_assert_msg(
			completed(cntrs[op]) == counts[op], "operation %u: %llu, expected %llu", op,
			(unsigned long long)completed(cntrs[op]), (unsigned long long)counts[op]);
		ck_assert_uint_eq(failed(cntrs[op]), 0);
	}
}

static void send_wait(enum ibv_wr_opcode opcode, uint32_t len)
{
	end_post(&a, opcode, 1, 0, len);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
}

/* 0: requests, 1: bytes. */
START_TEST(each_operation)
{
	const uint64_t one = _i ? 100 : 1, two = _i ? 9000 : 1, three = _i ? 300 : 1,
		       four = _i ? 40 : 1;
	const uint64_t at_a[OPS] = { one, 0, two, 0, three + four, 0 };
	const uint64_t at_b[OPS] = { 0, one + four, 0, two, 0, three + four };

	open_counted(IBV_QPT_RC, _i ? BYTES : WRS);
	end_recv(&b, 2, 0, 100);
	send_wait(IBV_WR_SEND, 100);
	send_wait(IBV_WR_RDMA_READ, 9000);
	send_wait(IBV_WR_RDMA_WRITE, 300);
	end_recv(&b, 3, 0, 100);
	send_wait(IBV_WR_RDMA_WRITE_WITH_IMM, 40);
	/* These have no bit. */
	send_wait(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	expect_counts(of_a, at_a);
	expect_counts(of_b, at_b);
	close_counted();
}
END_TEST

START_TEST(of_datagrams)
{
	const uint64_t sent[OPS] = { 3 }, received[OPS] = { 0, 3 };

	open_counted(IBV_QPT_UD, WRS);
	for (uint32_t i = 0; i < 3; i++) {
		end_recv(&b, 2, 0, 200);
		send_wait(IBV_WR_SEND, 64);
	}
	expect_counts(of_a, sent);
	expect_counts(of_b, received);
	close_counted();
}
END_TEST

START_TEST(of_an_unreliable_connection)
{
	const uint64_t sent[OPS] = { 0, 0, 0, 0, 70 + 30 },
		       received[OPS] = { 0, 30, 0, 0, 0, 70 + 30 };

	open_counted(IBV_QPT_UC, BYTES);
	end_recv(&b, 2, 0, 200);
	send_wait(IBV_WR_RDMA_WRITE, 70);
	send_wait(IBV_WR_RDMA_WRITE_WITH_IMM, 30);
	expect_counts(of_a, sent);
	expect_counts(of_b, received);
	close_counted();
}
END_TEST

/* A counter in place of completions: no process looks into the CQ. */
START_TEST(unsignalled)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	open_counted(IBV_QPT_RC, WRS);
	for (uint32_t i = 0; i < 40; i++) {
		wr = end_wr(&a, &sge, IBV_WR_RDMA_WRITE, i, 0, 64);
		wr.send_flags = 0;
		ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	}
	while (completed(of_a[4]) < 40)
		;
	ck_assert_uint_eq(completed(of_b[5]), 40);
	end_expect_nothing(&a);
	close_counted();
}
END_TEST

/* The first request is refused, the second flushed; of a peer's refused one the responder counts an
 * error. */
START_TEST(errors)
{
	open_counted(IBV_QPT_RC, WRS);
	end_recv(&a, 9, 0, 64);
	a.peer.rkey ^= 0x55;
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_post(&a, IBV_WR_SEND, 2, 0, 64);
	end_wait_for(&a, 1, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(end_wait(&a).status, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(end_wait(&a).status, IBV_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(failed(of_a[4]), 1);
	ck_assert_uint_eq(failed(of_a[0]), 1);
	ck_assert_uint_eq(failed(of_a[1]), 1);
	ck_assert_uint_eq(failed(of_b[5]), 1);
	for (uint32_t op = 0; op < OPS; op++)
		ck_assert_uint_eq(completed(of_a[op]) + completed(of_b[op]), 0);
	close_counted();
}
END_TEST

/* One counter for many queue pairs and operations; programs set it and add to it. */
START_TEST(shared_and_set)
{
	struct ibv_comp_cntr *cntr;
	struct end_address at_a, at_b;

	end_open(&a, NULL, NULL);
	end_open(&b, a.context, NULL);
	cntr = create(a.context, WRS);
	ck_assert_int_eq(attach(a.qp, cntr, SEND | WRITE), 0);
	ck_assert_int_eq(attach(b.qp, cntr, RECV | REMOTE_WRITE), 0);
	at_a = end_address(&a);
	at_b = end_address(&b);
	end_connect(&a, &at_b);
	end_connect(&b, &at_a);
	ck_assert_int_eq(ibv_set_comp_cntr(cntr, 100), 0);
	ck_assert_int_eq(ibv_set_err_comp_cntr(cntr, 200), 0);
	ck_assert_int_eq(ibv_inc_comp_cntr(cntr, 10), 0);
	ck_assert_int_eq(ibv_inc_err_comp_cntr(cntr, 20), 0);
	end_recv(&b, 2, 0, 64);
	send_wait(IBV_WR_SEND, 64);
	send_wait(IBV_WR_RDMA_WRITE, 64);
	while (completed(cntr) < 114)
		;
	ck_assert_uint_eq(completed(cntr), 114);
	ck_assert_uint_eq(failed(cntr), 220);
	/* It wraps after its greatest value. */
	ck_assert_int_eq(ibv_set_comp_cntr(cntr, UINT64_MAX), 0);
	send_wait(IBV_WR_RDMA_WRITE, 64);
	while (completed(cntr) != 1)
		;
	ck_assert_int_eq(ibv_destroy_comp_cntr(cntr), EBUSY);
	/* The context, which closes first, takes what is left. */
	ends_close(&a, &b);
}
END_TEST

START_TEST(refused)
{
	struct ibv_comp_cntr_init_attr bad[] = { { .type = 2 },
						 { .flags = 1 },
						 { .comp_mask = 1 } };
	struct ibv_qp_attach_comp_cntr_attr unknown = { .comp_mask = 1, .op_mask = SEND };
	struct ibv_comp_cntr_caps caps;
	struct ibv_comp_cntr *cntr;
	uint64_t value;

	ends_open(&a, &b, NULL);
	ck_assert_int_eq(ibv_query_comp_cntr_caps(a.context, &caps), 0);
	ck_assert_uint_eq(caps.supported_qp_attach_ops, ALL);
	ck_assert(caps.max_value == UINT64_MAX && caps.max_counters > 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_ptr_null(ibv_create_comp_cntr(a.context, &bad[i]));
		ck_assert_int_eq(errno, EOPNOTSUPP);
	}
	cntr = create(a.context, WRS);
	/* Connected already. */
	ck_assert_int_eq(attach(a.qp, cntr, SEND), EINVAL);
	end_close(&b);
	end_open(&b, a.context, NULL);
	ck_assert_int_eq(attach(b.qp, cntr, 0), EINVAL);
	ck_assert_int_eq(attach(b.qp, cntr, ALL + 1), EOPNOTSUPP);
	ck_assert_int_eq(ibv_qp_attach_comp_cntr(b.qp, cntr, &unknown), EOPNOTSUPP);
	ck_assert_int_eq(attach(b.qp, cntr, SEND), 0);
	ck_assert_int_eq(attach(b.qp, cntr, SEND | RECV), EINVAL);
	ck_assert_int_eq(attach(b.qp, cntr, RECV), 0);
	ck_assert_int_eq(ibv_destroy_comp_cntr(cntr), EBUSY);
	end_close(&b);
	ck_assert_int_eq(ibv_destroy_comp_cntr(cntr), 0);
	ck_assert_int_eq(ibv_destroy_comp_cntr(cntr), EINVAL);
	ck_assert_int_eq(ibv_read_comp_cntr(cntr, &value), EINVAL);
	ck_assert_int_eq(ibv_set_comp_cntr(NULL, 1), EINVAL);
	end_close(&a);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, each_operation, 0, 2);
	tcase_add_test(tests, of_datagrams);
	tcase_add_test(tests, of_an_unreliable_connection);
	tcase_add_test(tests, unsignalled);
	tcase_add_test(tests, errors);
	tcase_add_test(tests, shared_and_set);
	tcase_add_test(tests, refused);
}

int main(void)
{
	return fixture_main("verbs_comp_cntr", add);
}
