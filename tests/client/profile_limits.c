// SPDX-License-Identifier: MIT
/* Numbers and names of a profile: the limit can be reached, and not passed. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "verbs_profile.h"

#define MANY  300u	    /* a limit above this is not exhausted here */
#define ARENA (64ull << 20) /* the default of --arena */

/* Makes objects until that fails, which must be with ENOMEM at the limit; `there` exist before. */
static void exhaust(uint64_t max, uint64_t there, void *(*make)(void), int (*end)(void *))
{
	void *made[MANY];
	uint64_t n = 0;

	if (max > MANY)
		return;
	while (n < MANY && (made[n] = make()))
		n++;
	ck_assert_msg(errno == ENOMEM, "%s: errno %d", test.key, errno);
	ck_assert_msg(n + there == max, "%s: %u and %u objects", test.key, (unsigned int)n,
		      (unsigned int)there);
	while (n > 0)
		ck_assert_msg(end(made[--n]) == 0, "%s", test.key);
}

static int end_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

static void fw_ver(uint64_t number, const char *text)
{
	(void)number;
	ck_assert_str_eq(test.all.base.orig_attr.fw_ver, text);
}

static void sysfs_file(uint64_t number, const char *text)
{
	char path[96], found[64] = "";
	FILE *file;

	(void)number;
	snprintf(path, sizeof(path), "/sys/class/infiniband/rxe_dm0/%s", test.key);
	file = fopen(path, "r");
	EXPECT(file && fscanf(file, "%63s", found) == 1);
	fclose(file);
	ck_assert_str_eq(found, text);
}

static void vendor_id(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.vendor_id == number);
}

static void vendor_part_id(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.vendor_part_id == number);
}

static void hw_ver(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.hw_ver == number);
}

static void max_mr_size(uint64_t number, const char *text)
{
	struct ibv_mr *one;
	void *memory;

	(void)text;
	EXPECT(test.all.base.orig_attr.max_mr_size == number);
	if (number > ARENA)
		return;
	memory = mmap(NULL, number + 1, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	EXPECT(memory != MAP_FAILED);
	EXPECT_ERRNO(ibv_reg_mr(test.pd, memory, number + 1, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	one = ibv_reg_mr(test.pd, memory, number, IBV_ACCESS_LOCAL_WRITE);
	EXPECT(one && ibv_dereg_mr(one) == 0);
	munmap(memory, number + 1);
}

static void max_dm_size(uint64_t number, const char *text)
{
	struct ibv_alloc_dm_attr want = { .length = number + 1 };
	struct ibv_dm *dm;

	(void)text;
	EXPECT(test.all.base.max_dm_size == (number < ARENA ? number : ARENA));
	if (number < ARENA)
		EXPECT_ERRNO(ibv_alloc_dm(test.context, &want), number ? ENOMEM : EOPNOTSUPP);
	if (number == 0)
		return;
	want.length = test.all.base.max_dm_size;
	dm = ibv_alloc_dm(test.context, &want);
	EXPECT(dm && ibv_free_dm(dm) == 0);
}

static void max_qp(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.max_qp == (int)number);
	EXPECT(test.all.base.orig_attr.max_res_rd_atom ==
	       test.all.base.orig_attr.max_qp * test.all.base.orig_attr.max_qp_rd_atom);
	exhaust(number, 0, make_qp, end_qp);
}

/* A capability of queue pairs: the most is granted, one more is not. */
static void expect_cap(const struct ibv_qp_cap *cap, const struct ibv_qp_cap *more)
{
	struct ibv_qp_init_attr_ex init = plain_qp();
	struct ibv_qp *qp;

	init.cap = *more;
	EXPECT_ERRNO(ibv_create_qp_ex(test.context, &init), EINVAL);
	init.cap = *cap;
	qp = ibv_create_qp_ex(test.context, &init);
	EXPECT(qp && ibv_destroy_qp(qp) == 0);
}

static void max_qp_wr(uint64_t number, const char *text)
{
	const uint32_t n = (uint32_t)number;

	(void)text;
	EXPECT(test.all.base.orig_attr.max_qp_wr == (int)number);
	expect_cap(&(struct ibv_qp_cap){ .max_send_wr = n, .max_recv_wr = n },
		   &(struct ibv_qp_cap){ .max_send_wr = n + 1 });
	expect_cap(&(struct ibv_qp_cap){ .max_recv_wr = n },
		   &(struct ibv_qp_cap){ .max_recv_wr = n + 1 });
}

static void max_sge(uint64_t number, const char *text)
{
	const uint32_t n = (uint32_t)number;

	(void)text;
	EXPECT(test.all.base.orig_attr.max_sge == (int)number);
	expect_cap(&(struct ibv_qp_cap){ .max_send_sge = n, .max_recv_sge = n },
		   &(struct ibv_qp_cap){ .max_send_sge = n + 1 });
	expect_cap(&(struct ibv_qp_cap){ .max_recv_sge = n },
		   &(struct ibv_qp_cap){ .max_recv_sge = n + 1 });
}

static void max_sge_rd(uint64_t number, const char *text)
{
	struct ibv_qp *qp = connected((uint32_t)test.all.base.orig_attr.max_sge);

	(void)text;
	EXPECT(test.all.base.orig_attr.max_sge_rd == (int)number);
	if (test.all.base.orig_attr.max_sge > test.all.base.orig_attr.max_sge_rd)
		EXPECT(post(qp, IBV_WR_RDMA_READ, (int)number + 1, 8) == EINVAL);
	EXPECT(post(qp, IBV_WR_RDMA_READ, (int)number, 8) == 0);
	ibv_destroy_qp(qp);
}

static void max_inline_data(uint64_t number, const char *text)
{
	struct ibv_qp_init_attr_ex init = plain_qp();
	struct ibv_qp *qp;

	(void)text;
	expect_cap(&(struct ibv_qp_cap){ .max_inline_data = (uint32_t)number },
		   &(struct ibv_qp_cap){ .max_inline_data = (uint32_t)number + 1 });
	qp = ibv_create_qp_ex(test.context, &init);
	EXPECT(qp && init.cap.max_inline_data <= number);
	ibv_destroy_qp(qp);
}

static void *make_cq(void)
{
	return ibv_create_cq(test.context, 1, NULL, NULL, 0);
}

static int end_cq(void *one)
{
	return ibv_destroy_cq(one);
}

static void max_cq(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.max_cq == (int)number);
	exhaust(number, 1, make_cq, end_cq);
}

static void max_cqe(uint64_t number, const char *text)
{
	struct ibv_cq *one;

	(void)text;
	EXPECT(test.all.base.orig_attr.max_cqe == (int)number);
	EXPECT_ERRNO(ibv_create_cq(test.context, (int)number + 1, NULL, NULL, 0), EINVAL);
	one = ibv_create_cq(test.context, (int)number, NULL, NULL, 0);
	EXPECT(one);
	EXPECT(ibv_resize_cq(one, (int)number + 1) == EINVAL);
	ibv_destroy_cq(one);
}

static void *make_mr(void)
{
	return ibv_reg_mr(test.pd, test.bytes, PROFILE_BYTES, IBV_ACCESS_LOCAL_WRITE);
}

static int end_mr(void *one)
{
	return ibv_dereg_mr(one);
}

static void max_mr(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.max_mr == (int)number);
	exhaust(number, 1, make_mr, end_mr);
}

static void *make_mw(void)
{
	return ibv_alloc_mw(test.pd, IBV_MW_TYPE_1);
}

static int end_mw(void *one)
{
	return ibv_dealloc_mw(one);
}

static void max_mw(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.max_mw == (int)number);
	EXPECT(!(test.all.base.orig_attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW) == !number);
	if (number)
		exhaust(number, 0, make_mw, end_mw);
	else
		EXPECT_ERRNO(make_mw(), EOPNOTSUPP);
}

static void *make_pd(void)
{
	return ibv_alloc_pd(test.context);
}

static int end_pd(void *one)
{
	return ibv_dealloc_pd(one);
}

static void max_pd(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.max_pd == (int)number);
	exhaust(number, 1, make_pd, end_pd);
}

static void *make_ah(void)
{
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1 };

	EXPECT(ibv_query_gid(test.context, 1, 0, &to.grh.dgid) == 0);
	return ibv_create_ah(test.pd, &to);
}

static int end_ah(void *one)
{
	return ibv_destroy_ah(one);
}

static void max_ah(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.max_ah == (int)number);
	exhaust(number, 0, make_ah, end_ah);
}

static struct ibv_srq *srq_of(uint32_t wrs, uint32_t sges)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = wrs, .max_sge = sges } };

	return ibv_create_srq(test.pd, &init);
}

static void *make_srq(void)
{
	return srq_of(1, 1);
}

static int end_srq(void *one)
{
	return ibv_destroy_srq(one);
}

static void max_srq(uint64_t number, const char *text)
{
	(void)text;
	EXPECT(test.all.base.orig_attr.max_srq == (int)number);
	if (number)
		exhaust(number, 0, make_srq, end_srq);
	else
		EXPECT_ERRNO(make_srq(), EOPNOTSUPP);
}

static void max_srq_wr(uint64_t number, const char *text)
{
	struct ibv_srq *one;

	(void)text;
	EXPECT(test.all.base.orig_attr.max_srq_wr ==
	       (test.all.base.orig_attr.max_srq ? (int)number : 0));
	if (!test.all.base.orig_attr.max_srq)
		return;
	EXPECT_ERRNO(srq_of((uint32_t)number + 1, 1), EINVAL);
	one = srq_of((uint32_t)number, 1);
	EXPECT(one);
	EXPECT(ibv_modify_srq(one, &(struct ibv_srq_attr){ .max_wr = (uint32_t)number + 1 },
			      IBV_SRQ_MAX_WR) == EINVAL);
	ibv_destroy_srq(one);
}

static void max_srq_sge(uint64_t number, const char *text)
{
	struct ibv_srq *one;

	(void)text;
	EXPECT(test.all.base.orig_attr.max_srq_sge ==
	       (test.all.base.orig_attr.max_srq ? (int)number : 0));
	if (!test.all.base.orig_attr.max_srq)
		return;
	EXPECT_ERRNO(srq_of(1, (uint32_t)number + 1), EINVAL);
	one = srq_of(1, (uint32_t)number);
	EXPECT(one && ibv_destroy_srq(one) == 0);
}

static struct ibv_srq *tag_srq(uint32_t tags)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 1, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = test.pd,
		.cq = test.cq,
		.tm_cap = { .max_num_tags = tags, .max_ops = 1 },
	};

	return ibv_create_srq_ex(test.context, &init);
}

static void max_num_tags(uint64_t number, const char *text)
{
	struct ibv_srq *one;

	(void)text;
	number = test.all.base.orig_attr.max_srq ? number : 0;
	EXPECT(test.all.base.tm_caps.max_num_tags == number);
	EXPECT(!(test.all.base.tm_caps.flags & IBV_TM_CAP_RC) == !number);
	EXPECT_ERRNO(tag_srq((uint32_t)number + 1), number ? EINVAL : EOPNOTSUPP);
	one = number ? tag_srq((uint32_t)number) : NULL;
	EXPECT(!number || (one && ibv_destroy_srq(one) == 0));
}

static void max_qp_rd_atom(uint64_t number, const char *text)
{
	struct ibv_qp *qp = make_qp();

	(void)text;
	EXPECT(test.all.base.orig_attr.max_qp_rd_atom == (int)number);
	EXPECT(qp && to_init(qp, 0) == 0);
	EXPECT(to_rtr(qp, IBV_MTU_256, (uint8_t)(number + 1)) == EINVAL);
	EXPECT(to_rtr(qp, IBV_MTU_256, (uint8_t)number) == 0);
	ibv_destroy_qp(qp);
}

static void max_qp_init_rd_atom(uint64_t number, const char *text)
{
	struct ibv_qp *qp = make_qp();

	(void)text;
	EXPECT(test.all.base.orig_attr.max_qp_init_rd_atom == (int)number);
	EXPECT(qp && to_init(qp, 0) == 0 && to_rtr(qp, IBV_MTU_256, 1) == 0);
	EXPECT(to_rts(qp, (uint8_t)(number + 1)) == EINVAL);
	EXPECT(to_rts(qp, (uint8_t)number) == 0);
	ibv_destroy_qp(qp);
}

static struct ibv_qp *make_ud(void)
{
	struct ibv_qp_init_attr_ex init = plain_qp();
	struct ibv_qp *qp;

	init.qp_type = IBV_QPT_UD;
	qp = ibv_create_qp_ex(test.context, &init);
	EXPECT(qp);
	return qp;
}

static const union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };

/* The kernel lets a socket join 20 groups. */
static void max_mcast_grp(uint64_t number, const char *text)
{
	struct ibv_qp *qp = make_ud();
	union ibv_gid gid = group;
	uint64_t n = 0;

	(void)text;
	EXPECT(test.all.base.orig_attr.max_mcast_grp == (int)number);
	EXPECT(test.all.base.orig_attr.max_total_mcast_qp_attach ==
	       test.all.base.orig_attr.max_mcast_grp * test.all.base.orig_attr.max_mcast_qp_attach);
	for (; number <= 16 && ibv_attach_mcast(qp, &gid, 0) == 0; gid.raw[15]++)
		n++;
	EXPECT(number > 16 || n == number);
	EXPECT(number > 16 || errno == (number ? ENOMEM : EOPNOTSUPP));
	while (n-- > 0) {
		gid.raw[15]--;
		EXPECT(ibv_detach_mcast(qp, &gid, 0) == 0);
	}
	ibv_destroy_qp(qp);
}

static void max_mcast_qp_attach(uint64_t number, const char *text)
{
	struct ibv_qp *qp[MANY];
	uint32_t n = 0;
	int err = 0;

	(void)text;
	EXPECT(test.all.base.orig_attr.max_mcast_qp_attach == (int)number);
	if (!test.all.base.orig_attr.max_mcast_grp ||
	    (uint64_t)test.all.base.orig_attr.max_qp <= number)
		return;
	while (!err) {
		qp[n] = make_ud();
		err = ibv_attach_mcast(qp[n++], &group, 0);
	}
	EXPECT(err == ENOMEM && n == number + 1);
	while (n-- > 0) {
		if (n < number)
			EXPECT(ibv_detach_mcast(qp[n], &group, 0) == 0);
		EXPECT(ibv_destroy_qp(qp[n]) == 0);
	}
}

static void max_msg_sz(uint64_t number, const char *text)
{
	struct ibv_qp *qp = connected(1);

	(void)text;
	EXPECT(test.port.max_msg_sz == number);
	EXPECT(post(qp, IBV_WR_RDMA_WRITE, 1, (uint32_t)number + 1) == EINVAL);
	ibv_destroy_qp(qp);
}

const struct profile_row profile_limits[] = {
	{ "board_id", sysfs_file },
	{ "hca_type", sysfs_file },
	PROFILE_ROW(fw_ver),
	PROFILE_ROW(vendor_id),
	PROFILE_ROW(vendor_part_id),
	PROFILE_ROW(hw_ver),
	PROFILE_ROW(max_mr_size),
	PROFILE_ROW(max_dm_size),
	PROFILE_ROW(max_qp),
	PROFILE_ROW(max_qp_wr),
	PROFILE_ROW(max_sge),
	PROFILE_ROW(max_sge_rd),
	PROFILE_ROW(max_inline_data),
	PROFILE_ROW(max_cq),
	PROFILE_ROW(max_cqe),
	PROFILE_ROW(max_mr),
	PROFILE_ROW(max_mw),
	PROFILE_ROW(max_pd),
	PROFILE_ROW(max_ah),
	PROFILE_ROW(max_srq),
	PROFILE_ROW(max_srq_wr),
	PROFILE_ROW(max_srq_sge),
	PROFILE_ROW(max_num_tags),
	PROFILE_ROW(max_qp_rd_atom),
	PROFILE_ROW(max_qp_init_rd_atom),
	PROFILE_ROW(max_mcast_grp),
	PROFILE_ROW(max_mcast_qp_attach),
	PROFILE_ROW(max_msg_sz),
};
const size_t num_profile_limits = sizeof(profile_limits) / sizeof(profile_limits[0]);
