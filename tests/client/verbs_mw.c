// SPDX-License-Identifier: MIT
/* Memory windows as ibv_alloc_mw(3), ibv_bind_mw(3) and ibv_post_send(3) have them: b opens a part
 * of its memory to a, and closes it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fixture.h"

#define AREA	 0x2000u
#define AREA_LEN 4096u
#define BIND_MR	 (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)
#define REMOTE	 (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct end a, b;
static struct ibv_mr
	*mr; /* of b: [AREA, AREA + AREA_LEN) of its memory, nothing of it open to peers */

static void setup(void)
{
	const struct end_cfg cfg = { .send_ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |
						 IBV_QP_EX_WITH_SEND };

	ends_open(&a, &b, &cfg);
	mr = ibv_reg_mr(b.pd, b.memory + AREA, AREA_LEN, BIND_MR);
	ck_assert_ptr_nonnull(mr);
}

static void teardown(void)
{
	if (mr)
		ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ends_close(&a, &b);
}

static struct ibv_mw *new_window(enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, type);

	ck_assert_msg(mw != NULL, "ibv_alloc_mw: %s", strerror(errno));
	ck_assert_ptr_eq(mw->pd, b.pd);
	ck_assert_ptr_eq(mw->context, b.context);
	ck_assert_int_eq(mw->type, type);
	ck_assert_uint_ne(mw->rkey, 0);
	return mw;
}

/* [AREA + at, AREA + at + len) of b's memory. */
static struct ibv_mw_bind_info part(size_t at, size_t len, unsigned int access)
{
	return (struct ibv_mw_bind_info){ .mr = mr,
					  .addr = (uintptr_t)b.memory + AREA + at,
					  .length = len,
					  .mw_access_flags = access };
}

/* Posts the bind of a type 2 window. */
static uint32_t post_bind(struct end *end, struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr wr = { .wr_id = 1,
				  .opcode = IBV_WR_BIND_MW,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = *info;
	ck_assert_int_eq(ibv_post_send(end->qp, &wr, &bad), 0);
	return wr.bind_mw.rkey;
}

static uint32_t open_type_2(struct ibv_mw *mw, size_t at, size_t len, unsigned int access)
{
	const struct ibv_mw_bind_info info = part(at, len, access);
	uint32_t rkey = post_bind(&b, mw, &info);
	struct ibv_wc wc = end_wait_for(&b, 1, IBV_WC_SUCCESS);

	ck_assert_int_eq(wc.opcode, IBV_WC_BIND_MW);
	return rkey;
}

static void bind_type_1(struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
	struct ibv_mw_bind bind = { .wr_id = 2,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = *info };

	ck_assert_int_eq(ibv_bind_mw(b.qp, mw, &bind), 0);
	ck_assert_int_eq(end_wait_for(&b, 2, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
}

static uint32_t open_type_1(struct ibv_mw *mw, size_t at, size_t len, unsigned int access)
{
	const struct ibv_mw_bind_info info = part(at, len, access);

	bind_type_1(mw, &info);
	return mw->rkey;
}

static void post_invalidate(struct end *end, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = 3,
				  .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.invalidate_rkey = rkey;
	ck_assert_int_eq(ibv_post_send(end->qp, &wr, &bad), 0);
}

/* a's request of 8 bytes, at an address of b's. */
static void post_at(enum ibv_wr_opcode opcode, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)a.memory, .length = 8, .lkey = a.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 9,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
}

static void reach(enum ibv_wr_opcode opcode, size_t at, uint32_t rkey, enum ibv_wc_status status)
{
	post_at(opcode, (uintptr_t)b.memory + AREA + at, rkey);
	end_wait_for(&a, 9, status);
}

/* Both queue pairs are in error afterwards. */
static void expect_closed(size_t at, uint32_t rkey)
{
	reach(IBV_WR_RDMA_WRITE, at, rkey, IBV_WC_REM_ACCESS_ERR);
}

START_TEST(capabilities)
{
	struct ibv_device_attr attr;

	ck_assert_int_eq(ibv_query_device(a.context, &attr), 0);
	ck_assert_int_gt(attr.max_mw, 0);
	ck_assert(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	ck_assert(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	ck_assert(!(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A));
}
END_TEST

START_TEST(as_many_as_reported)
{
	struct ibv_device_attr attr;
	struct ibv_mw **all;
	int n = 0;

	ck_assert_int_eq(ibv_query_device(a.context, &attr), 0);
	all = (struct ibv_mw **)calloc((size_t)attr.max_mw + 1, sizeof(*all));
	ck_assert_ptr_nonnull(all);
	while (n <= attr.max_mw && (all[n] = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2)))
		n++;
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(n, attr.max_mw);
	while (n > 0)
		ck_assert_int_eq(ibv_dealloc_mw(all[--n]), 0);
	ck_assert_int_eq(ibv_dealloc_mw(new_window(IBV_MW_TYPE_1)), 0);
	free(all);
}
END_TEST

START_TEST(unknown_types)
{
	static const int types[] = { 0, 3, -1 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		errno = 0;
		ck_assert_ptr_null(ibv_alloc_mw(b.pd, (enum ibv_mw_type)types[i]));
		ck_assert_int_eq(errno, EINVAL);
	}
}
END_TEST

START_TEST(type_1_opens_and_closes)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_1);
	const uint32_t first = mw->rkey;
	uint32_t rkey = open_type_1(mw, 64, 128, REMOTE);

	ck_assert_uint_ne(rkey, first);
	ck_assert_uint_eq(rkey >> 8, first >> 8);
	fill(a.memory, 8, 1);
	reach(IBV_WR_RDMA_WRITE, 64, rkey, IBV_WC_SUCCESS);
	expect_filled(b.memory + AREA + 64, 8, 1);
	reach(IBV_WR_RDMA_READ, 184, rkey, IBV_WC_SUCCESS);
	reach(IBV_WR_ATOMIC_FETCH_AND_ADD, 128, rkey, IBV_WC_SUCCESS);
	bind_type_1(mw, &(struct ibv_mw_bind_info){ .mr = mr });
	expect_closed(64, rkey);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

/* A region need not be named to close a window. */
START_TEST(type_1_closes_without_a_region)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_1);
	uint32_t rkey = open_type_1(mw, 64, 128, REMOTE);

	bind_type_1(mw, &(struct ibv_mw_bind_info){ 0 });
	expect_closed(64, rkey);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

START_TEST(type_1_moves)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_1);
	uint32_t was = open_type_1(mw, 64, 128, REMOTE), rkey;

	/* All tags come round. */
	for (int i = 0; i < 300; i++)
		rkey = open_type_1(mw, (size_t)i * 8, 8, REMOTE);
	ck_assert_uint_ne(rkey, was);
	reach(IBV_WR_RDMA_WRITE, 299 * 8, rkey, IBV_WC_SUCCESS);
	expect_closed(64, was);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

START_TEST(type_2_opens_and_closes)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	uint32_t rkey = open_type_2(mw, 64, 128, REMOTE);

	fill(a.memory, 8, 1);
	reach(IBV_WR_RDMA_WRITE, 64, rkey, IBV_WC_SUCCESS);
	expect_filled(b.memory + AREA + 64, 8, 1);
	reach(IBV_WR_ATOMIC_FETCH_AND_ADD, 128, rkey, IBV_WC_SUCCESS);
	post_invalidate(&b, rkey);
	ck_assert_int_eq(end_wait_for(&b, 3, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	mw->rkey = rkey;
	rkey = open_type_2(mw, 0, 8, IBV_ACCESS_REMOTE_WRITE);
	reach(IBV_WR_RDMA_WRITE, 0, rkey, IBV_WC_SUCCESS);
	expect_closed(64, mw->rkey);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

START_TEST(call_by_call)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	const struct ibv_mw_bind_info info = part(64, 128, IBV_ACCESS_REMOTE_WRITE);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(b.qp);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, rkey, &info);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	ck_assert_int_eq(end_wait_for(&b, 1, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
	reach(IBV_WR_RDMA_WRITE, 64, rkey, IBV_WC_SUCCESS);
	ibv_wr_start(ex);
	ex->wr_id = 3;
	ibv_wr_local_inv(ex, rkey);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	ck_assert_int_eq(end_wait_for(&b, 3, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	expect_closed(64, rkey);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

START_TEST(the_peer_invalidates)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	uint32_t rkey = open_type_2(mw, 64, 128, REMOTE);
	struct ibv_send_wr wr = { .wr_id = 4,
				  .opcode = IBV_WR_SEND_WITH_INV,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;

	end_recv(&b, 5, 0, 64);
	wr.invalidate_rkey = rkey;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 4, IBV_WC_SUCCESS);
	wc = end_wait_for(&b, 5, IBV_WC_SUCCESS);
	ck_assert(wc.wc_flags & IBV_WC_WITH_INV);
	ck_assert_uint_eq(wc.invalidated_rkey, rkey);
	expect_closed(64, rkey);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

START_TEST(closed_with_the_window)
{
	struct ibv_mw *mw = new_window(_i ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
	uint32_t rkey = (_i ? open_type_2 : open_type_1)(mw, 64, 128, REMOTE);

	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	expect_closed(64, rkey);
}
END_TEST

START_TEST(no_wider_than_bound)
{
	static const struct {
		size_t at;
		unsigned int access;
		enum ibv_wr_opcode opcode;
	} refused[] = {
		{ 60, REMOTE, IBV_WR_RDMA_WRITE },
		{ 188, REMOTE, IBV_WR_RDMA_WRITE },
		{ 64, IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_WRITE },
		{ 64, IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_READ },
		{ 64, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		  IBV_WR_ATOMIC_FETCH_AND_ADD },
		{ 64, 0, IBV_WR_RDMA_READ },
	};
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	uint32_t rkey = open_type_2(mw, 64, 128, refused[_i].access);

	reach(refused[_i].opcode, refused[_i].at, rkey, IBV_WC_REM_ACCESS_ERR);
	expect_zero(b.memory + AREA, AREA_LEN);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

START_TEST(zero_based)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	uint32_t rkey = open_type_2(mw, 64, 128, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED);

	fill(a.memory, 8, 1);
	post_at(IBV_WR_RDMA_WRITE, 120, rkey);
	end_wait_for(&a, 9, IBV_WC_SUCCESS);
	expect_filled(b.memory + AREA + 64 + 120, 8, 1);
	post_at(IBV_WR_RDMA_WRITE, 121, rkey);
	end_wait_for(&a, 9, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

static void expect_bind_error(struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
	post_bind(&b, mw, info);
	end_wait_for(&b, 1, IBV_WC_MW_BIND_ERR);
	ck_assert_int_eq(end_state(&b), IBV_QPS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}

START_TEST(bind_errors)
{
	static const struct {
		unsigned int region, access;
		size_t at, len;
	} bad[] = {
		{ IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, 0, 8 },
		{ IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_WRITE, 0, 8 },
		{ IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_ATOMIC, 0, 8 },
		{ BIND_MR, IBV_ACCESS_REMOTE_WRITE, AREA_LEN - 7, 8 },
		{ BIND_MR, IBV_ACCESS_REMOTE_WRITE, 0, AREA_LEN + 1 },
		{ BIND_MR, IBV_ACCESS_REMOTE_WRITE, 0, UINT64_MAX },
		{ BIND_MR, IBV_ACCESS_REMOTE_WRITE, 0, 0 },
	};
	struct ibv_mw_bind_info info = part(bad[_i].at, bad[_i].len, bad[_i].access);

	info.mr = ibv_reg_mr(b.pd, b.memory + AREA, AREA_LEN, bad[_i].region);
	ck_assert_ptr_nonnull(info.mr);
	expect_bind_error(new_window(IBV_MW_TYPE_2), &info);
	ck_assert_int_eq(ibv_dereg_mr(info.mr), 0);
}
END_TEST

/* Reads need no local write access: what the region grants to peers is its own affair. */
START_TEST(a_region_that_is_only_read)
{
	struct ibv_mw_bind_info info = part(0, 64, IBV_ACCESS_REMOTE_READ);
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	uint32_t rkey;

	info.mr = ibv_reg_mr(b.pd, b.memory + AREA, AREA_LEN, IBV_ACCESS_MW_BIND);
	ck_assert_ptr_nonnull(info.mr);
	rkey = post_bind(&b, mw, &info);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	reach(IBV_WR_RDMA_READ, 0, rkey, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	ck_assert_int_eq(ibv_dereg_mr(info.mr), 0);
}
END_TEST

START_TEST(another_domains_window)
{
	const struct ibv_mw_bind_info info = part(0, 8, IBV_ACCESS_REMOTE_WRITE);
	struct ibv_pd *other = ibv_alloc_pd(b.context);

	ck_assert_ptr_nonnull(other);
	expect_bind_error(ibv_alloc_mw(other, IBV_MW_TYPE_2), &info);
	ck_assert_int_eq(ibv_dealloc_pd(other), 0);
}
END_TEST

START_TEST(another_domains_region)
{
	struct ibv_mw_bind_info info = part(0, 8, IBV_ACCESS_REMOTE_WRITE);
	struct ibv_pd *other = ibv_alloc_pd(b.context);
	struct ibv_mw_bind bind = { .wr_id = 2 };
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_1);

	ck_assert_ptr_nonnull(other);
	info.mr = ibv_reg_mr(other, b.memory + AREA, AREA_LEN, BIND_MR);
	bind.bind_info = info;
	ck_assert_int_eq(ibv_bind_mw(b.qp, mw, &bind), EPERM);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	expect_bind_error(new_window(IBV_MW_TYPE_2), &info);
	ck_assert_int_eq(ibv_dereg_mr(info.mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(other), 0);
}
END_TEST

START_TEST(bound_twice)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	const struct ibv_mw_bind_info info = part(0, 8, IBV_ACCESS_REMOTE_WRITE);

	open_type_2(mw, 64, 128, REMOTE);
	expect_bind_error(mw, &info);
}
END_TEST

/* Type 2B: the queue pair that bound it, and no other of the domain; type 1: all. */
START_TEST(another_queue_pair)
{
	const struct end_cfg cfg = { .pd = b.pd };
	struct end c;
	struct end_address here, there;
	struct ibv_mw *mw = new_window(_i ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
	const struct ibv_mw_bind_info info = part(64, 128, REMOTE);
	struct ibv_mw_bind bind = { .wr_id = 1,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = info };
	uint32_t rkey;

	end_open(&c, b.context, &cfg);
	here = end_address(&c);
	there = end_address(&a); /* whom it never sends to */
	end_connect(&c, &there);
	(void)here;
	if (_i) {
		rkey = post_bind(&c, mw, &info);
	} else {
		ck_assert_int_eq(ibv_bind_mw(c.qp, mw, &bind), 0);
		rkey = mw->rkey;
	}
	end_wait_for(&c, 1, IBV_WC_SUCCESS);
	reach(IBV_WR_RDMA_WRITE, 64, rkey, _i ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS);
	if (_i) {
		/* Its end is the window's. */
		end_close(&c);
		ck_assert_int_eq(ibv_dereg_mr(mr), 0);
		mr = NULL;
		ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
		return;
	}
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	end_close(&c);
}
END_TEST

START_TEST(wrong_invalidations)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2), *one = new_window(IBV_MW_TYPE_1);
	const uint32_t type_1 = open_type_1(one, 0, 8, REMOTE),
		       bound = open_type_2(mw, 64, 128, REMOTE);
	const uint32_t wrong[] = { mr->rkey, b.mr->rkey, type_1, ibv_inc_rkey(bound), 0x7777, 0 };

	post_invalidate(&b, wrong[_i]);
	end_wait_for(&b, 3, IBV_WC_MW_BIND_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	ck_assert_int_eq(ibv_dealloc_mw(one), 0);
}
END_TEST

START_TEST(busy)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	uint32_t rkey;

	ck_assert_int_eq(ibv_dealloc_pd(b.pd), EBUSY);
	rkey = open_type_2(mw, 64, 128, REMOTE);
	errno = 0;
	ck_assert_int_eq(ibv_dereg_mr(mr), EBUSY);
	ck_assert_int_eq(errno, EBUSY);
	ck_assert_int_ne(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
		0);
	ck_assert_int_eq(errno, EBUSY);
	reach(IBV_WR_RDMA_WRITE, 64, rkey, IBV_WC_SUCCESS);
	post_invalidate(&b, rkey);
	end_wait_for(&b, 3, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	mr = NULL;
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

START_TEST(a_domain_with_nothing_but_a_window)
{
	struct ibv_pd *pd = ibv_alloc_pd(b.context);
	struct ibv_mw *mw;

	ck_assert_ptr_nonnull(pd);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	ck_assert_ptr_nonnull(mw);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
}
END_TEST

START_TEST(device_memory)
{
	struct ibv_alloc_dm_attr attr = { .length = AREA_LEN };
	struct ibv_dm *dm = ibv_alloc_dm(b.context, &attr);
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = { .addr = 64, .length = 128, .mw_access_flags = REMOTE };
	uint8_t got[8];
	uint32_t rkey;

	ck_assert_ptr_nonnull(dm);
	info.mr = ibv_reg_dm_mr(b.pd, dm, 0, AREA_LEN, BIND_MR | IBV_ACCESS_ZERO_BASED);
	ck_assert_ptr_nonnull(info.mr);
	rkey = post_bind(&b, mw, &info);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	fill(a.memory, 8, 7);
	post_at(IBV_WR_RDMA_WRITE, 64, rkey);
	end_wait_for(&a, 9, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_memcpy_from_dm(got, dm, 64, 8), 0);
	expect_filled(got, 8, 7);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	ck_assert_int_eq(ibv_dereg_mr(info.mr), 0);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
}
END_TEST

/* Memory that is mapped only after the window was bound. */
START_TEST(on_demand)
{
	struct ibv_mw *mw = new_window(IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = part(0, 64, REMOTE);
	uint8_t *pages = mmap(NULL, AREA_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t rkey;

	ck_assert_ptr_ne(pages, MAP_FAILED);
	info.mr = ibv_reg_mr(b.pd, pages, AREA_LEN, BIND_MR | IBV_ACCESS_ON_DEMAND);
	info.addr = (uintptr_t)pages;
	ck_assert_ptr_nonnull(info.mr);
	rkey = post_bind(&b, mw, &info);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	ck_assert_int_eq(mprotect(pages, AREA_LEN, PROT_READ | PROT_WRITE), 0);
	fill(a.memory, 8, 3);
	post_at(IBV_WR_RDMA_WRITE, (uintptr_t)pages, rkey);
	end_wait_for(&a, 9, IBV_WC_SUCCESS);
	expect_filled(pages, 8, 3);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	ck_assert_int_eq(ibv_dereg_mr(info.mr), 0);
	munmap(pages, AREA_LEN);
}
END_TEST

/* A window of a parent domain is one of the domain below it. */
START_TEST(parent_domain)
{
	struct ibv_parent_domain_init_attr attr = { .pd = b.pd };
	struct ibv_pd *parent = ibv_alloc_parent_domain(b.context, &attr);
	struct ibv_mw_bind_info info = part(64, 128, REMOTE);
	struct ibv_mw *mw;
	uint32_t rkey;

	ck_assert_ptr_nonnull(parent);
	mw = ibv_alloc_mw(parent, IBV_MW_TYPE_2);
	ck_assert_ptr_nonnull(mw);
	ck_assert_int_eq(ibv_dealloc_pd(parent), EBUSY);
	info.mr = ibv_reg_mr(parent, b.memory + AREA, AREA_LEN, BIND_MR);
	rkey = post_bind(&b, mw, &info);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	reach(IBV_WR_RDMA_WRITE, 64, rkey, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	ck_assert_int_eq(ibv_dereg_mr(info.mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
}
END_TEST

/* Once the invalidation has completed, no byte of the peer arrives any more. */
START_TEST(closed_while_the_peer_writes)
{
	struct ibv_mw *mw = new_window(_i ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
	uint32_t rkey = (_i ? open_type_2 : open_type_1)(mw, 0, AREA_LEN, REMOTE);
	struct ibv_mw_bind close_it = { .wr_id = 3, .send_flags = IBV_SEND_SIGNALED };
	uint8_t now[AREA_LEN];

	a.peer.rkey = rkey;
	for (uint64_t i = 0; i < 32; i++) {
		fill(a.memory + AREA, AREA_LEN, (uint32_t)i + 1);
		end_post(&a, IBV_WR_RDMA_WRITE, i, AREA, AREA_LEN);
	}
	if (_i)
		post_invalidate(&b, rkey);
	else
		ck_assert_int_eq(ibv_bind_mw(b.qp, mw, &close_it), 0);
	end_wait_for(&b, 3, IBV_WC_SUCCESS);
	memcpy(now, b.memory + AREA, AREA_LEN);
	for (uint64_t i = 0; i < 32; i++)
		end_wait(&a);
	ck_assert_int_eq(memcmp(now, b.memory + AREA, AREA_LEN), 0);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

/* What cannot be posted. */
START_TEST(refused_at_once)
{
	struct ibv_mw *one = new_window(IBV_MW_TYPE_1), *two = new_window(IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW,
				  .bind_mw = { .bind_info = part(0, 8, REMOTE) } },
			   *bad = NULL;
	struct ibv_mw_bind bind = { .bind_info = part(0, 8, REMOTE) };

	wr.bind_mw.mw = one;
	ck_assert_int_eq(ibv_post_send(b.qp, &wr, &bad), EINVAL);
	ck_assert_ptr_eq(bad, &wr);
	wr.bind_mw.mw = NULL;
	ck_assert_int_eq(ibv_post_send(b.qp, &wr, &bad), EINVAL);
	wr.bind_mw.mw = two;
	wr.bind_mw.bind_info.mr = NULL;
	ck_assert_int_eq(ibv_post_send(b.qp, &wr, &bad), EINVAL);
	wr.bind_mw.bind_info = part(0, 8, IBV_ACCESS_ON_DEMAND);
	ck_assert_int_eq(ibv_post_send(b.qp, &wr, &bad), EINVAL);
	ck_assert_int_eq(ibv_bind_mw(b.qp, two, &bind), EINVAL);
	bind.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	ck_assert_int_eq(ibv_bind_mw(b.qp, one, &bind), EINVAL);
	ck_assert_int_eq(ibv_dealloc_mw(one), 0);
	ck_assert_int_eq(ibv_dealloc_mw(two), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, capabilities);
	tcase_add_test(tests, as_many_as_reported);
	tcase_add_test(tests, unknown_types);
	tcase_add_test(tests, type_1_opens_and_closes);
	tcase_add_test(tests, type_1_closes_without_a_region);
	tcase_add_test(tests, type_1_moves);
	tcase_add_test(tests, type_2_opens_and_closes);
	tcase_add_test(tests, call_by_call);
	tcase_add_test(tests, the_peer_invalidates);
	tcase_add_loop_test(tests, closed_with_the_window, 0, 2);
	tcase_add_loop_test(tests, no_wider_than_bound, 0, 6);
	tcase_add_test(tests, zero_based);
	tcase_add_loop_test(tests, bind_errors, 0, 7);
	tcase_add_test(tests, a_region_that_is_only_read);
	tcase_add_test(tests, another_domains_window);
	tcase_add_test(tests, another_domains_region);
	tcase_add_test(tests, bound_twice);
	tcase_add_loop_test(tests, another_queue_pair, 0, 2);
	tcase_add_loop_test(tests, wrong_invalidations, 0, 6);
	tcase_add_test(tests, busy);
	tcase_add_test(tests, a_domain_with_nothing_but_a_window);
	tcase_add_test(tests, device_memory);
	tcase_add_test(tests, on_demand);
	tcase_add_test(tests, parent_domain);
	tcase_add_loop_test(tests, closed_while_the_peer_writes, 0, 2);
	tcase_add_test(tests, refused_at_once);
}

int main(void)
{
	return fixture_main("verbs_mw", add);
}
