// SPDX-License-Identifier: MIT
/* The ibv_wr_* calls: collected between start and complete, then posted together or not at all. */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "fixture.h"

/* glibc counts what its malloc() has given out; that of ASan is another. */
#if defined(__GLIBC_PREREQ) && !defined(__SANITIZE_ADDRESS__)
#if __GLIBC_PREREQ(2, 33)
#define COUNTS_ALLOCATIONS
#endif
#endif

#define RC_OPS                                                                                     \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |    \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                                 \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static const struct end_cfg connected = { .send_ops = RC_OPS };

static struct ibv_qp_ex *begin(struct end *end, uint64_t wr_id)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(end->qp);

	ck_assert_ptr_nonnull(ex);
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	return ex;
}

START_TEST(all_operations_in_one_batch)
{
	struct end a, b;
	struct ibv_qp_ex *ex;
	uint64_t at, word = 5;

	ends_open(&a, &b, &connected);
	at = (uintptr_t)a.memory;
	fill(a.memory, 3000, 1);
	memcpy(b.memory + 4096, &word, 8);
	end_recv(&b, 20, 8192, 4096);
	end_recv(&b, 21, 16384, 4096);
	end_recv(&b, 22, 0, 0);
	ex = begin(&a, 1);
	ibv_wr_rdma_write(ex, a.peer.rkey, a.peer.addr);
	ibv_wr_set_sge(ex, a.mr->lkey, at, 3000);
	ex->wr_id = 2;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, a.mr->lkey, at, 3000);
	ex->wr_id = 3;
	ibv_wr_send_imm(ex, htobe32(77));
	ibv_wr_set_inline_data(ex, a.memory, 100);
	ex->wr_id = 4;
	ibv_wr_rdma_write_imm(ex, a.peer.rkey, a.peer.addr + 32768, htobe32(78));
	ibv_wr_set_sge_list(
		ex, 2,
		(struct ibv_sge[]){ { at, 1000, a.mr->lkey }, { at + 1000, 2000, a.mr->lkey } });
	ex->wr_id = 5;
	ibv_wr_rdma_read(ex, a.peer.rkey, a.peer.addr);
	ibv_wr_set_sge(ex, a.mr->lkey, at + 65536, 3000);
	ex->wr_id = 6;
	ibv_wr_atomic_fetch_add(ex, a.peer.rkey, a.peer.addr + 4096, 10);
	ibv_wr_set_sge(ex, a.mr->lkey, at + 131072, 8);
	ex->wr_id = 7;
	ibv_wr_atomic_cmp_swp(ex, a.peer.rkey, a.peer.addr + 4096, 15, 100);
	ibv_wr_set_sge(ex, a.mr->lkey, at + 131080, 8);
	end_expect_nothing(&a); /* nothing leaves before complete */
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	for (uint32_t i = 1; i <= 7; i++)
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	end_wait_for(&b, 20, IBV_WC_SUCCESS);
	ck_assert_uint_eq(be32toh(end_wait_for(&b, 21, IBV_WC_SUCCESS).imm_data), 77);
	ck_assert_uint_eq(be32toh(end_wait_for(&b, 22, IBV_WC_SUCCESS).imm_data), 78);
	expect_filled(b.memory, 3000, 1);
	expect_filled(b.memory + 8192, 3000, 1);
	expect_filled(b.memory + 16384, 100, 1);
	expect_filled(b.memory + 32768, 3000, 1);
	expect_filled(a.memory + 65536, 3000, 1);
	memcpy(&word, b.memory + 4096, 8);
	ck_assert_uint_eq(word, 100);
	ends_close(&a, &b);
}
END_TEST

START_TEST(aborted)
{
	struct end a, b;
	struct ibv_qp_ex *ex;

	ends_open(&a, &b, &connected);
	ex = begin(&a, 1);
	ibv_wr_rdma_write(ex, a.peer.rkey, a.peer.addr);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.memory, 8);
	ibv_wr_abort(ex);
	end_expect_nothing(&a);
	end_post(&a, IBV_WR_RDMA_WRITE, 2, 0, 8); /* the old way goes with the new */
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	ends_close(&a, &b);
}
END_TEST

START_TEST(all_or_none)
{
	struct end_cfg cfg = connected;
	struct end a, b;
	struct ibv_qp_ex *ex;

	cfg.wrs = 4;
	ends_open(&a, &b, &cfg);
	fill(a.memory, 8, 3);
	ex = begin(&a, 1);
	for (int i = 0; i < 100; i++) {
		ibv_wr_rdma_write(ex, a.peer.rkey, a.peer.addr);
		ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.memory, 8);
	}
	ck_assert_int_eq(ibv_wr_complete(ex), ENOMEM);
	end_expect_nothing(&a);
	expect_zero(b.memory, 8);
	end_post(&a, IBV_WR_RDMA_WRITE, 2, 0, 8);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	ends_close(&a, &b);
}
END_TEST

START_TEST(datagrams)
{
	struct end_cfg cfg = { .type = IBV_QPT_UD,
			       .send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM };
	struct end a, b;
	struct ibv_qp_ex *ex;

	ends_open(&a, &b, &cfg);
	fill(a.memory, 100, 2);
	end_recv(&b, 9, 0, 200);
	ex = begin(&a, 1);
	ibv_wr_send_imm(ex, htobe32(5));
	ibv_wr_set_ud_addr(ex, a.ah, a.peer.qpn, FIXTURE_QKEY);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.memory, 100);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	ck_assert_uint_eq(be32toh(end_wait_for(&b, 9, IBV_WC_SUCCESS).imm_data), 5);
	expect_filled(b.memory + 40, 100, 2);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ends_close(&a, &b);
}
END_TEST

/* What a type does not have is refused when the queue pair is made. */
START_TEST(refused_at_creation)
{
	struct ibv_qp_init_attr_ex init = {
		.cap = { 4, 4, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct end a;

	end_open(&a, NULL, NULL);
	ck_assert_ptr_null(ibv_qp_to_qp_ex(a.qp)); /* made without */
	init.pd = a.pd;
	init.send_cq = init.recv_cq = a.cq;
	init.qp_type = IBV_QPT_UC;
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
	ck_assert_ptr_null(ibv_create_qp_ex(a.context, &init));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	init.qp_type = IBV_QPT_UD;
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	ck_assert_ptr_null(ibv_create_qp_ex(a.context, &init));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	init.qp_type = IBV_QPT_RC;
	init.send_ops_flags = IBV_QP_EX_WITH_TSO;
	ck_assert_ptr_null(ibv_create_qp_ex(a.context, &init));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	end_close(&a);
}
END_TEST

#ifdef COUNTS_ALLOCATIONS
static size_t allocated(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* What a batch collects is the next one's to use: 8 MB of inline bytes in all, no more than a few
 * KB at a time. */
START_TEST(memory_is_that_of_one_batch)
{
	struct end a, b;
	struct ibv_qp_ex *ex;
	uint8_t bytes[1024] = { 0 };
	size_t before;

	ends_open(&a, &b, &connected);
	before = allocated();
	for (uint32_t i = 0; i < 8192; i++) {
		ex = begin(&a, i);
		ibv_wr_rdma_write(ex, a.peer.rkey, a.peer.addr);
		ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
		ibv_wr_abort(ex);
	}
	ck_assert_uint_lt(allocated(), before + (1u << 20));
	ends_close(&a, &b);
}
END_TEST
#endif

static void add(TCase *tests)
{
	tcase_add_test(tests, all_operations_in_one_batch);
	tcase_add_test(tests, aborted);
	tcase_add_test(tests, all_or_none);
	tcase_add_test(tests, datagrams);
	tcase_add_test(tests, refused_at_creation);
#ifdef COUNTS_ALLOCATIONS
	tcase_add_test(tests, memory_is_that_of_one_batch);
#endif
}

int main(void)
{
	return fixture_main("verbs_wr", add);
}
