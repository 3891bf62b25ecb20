/* SPDX-License-Identifier: MIT */
/* Verbs that fail on demand (rxe_dm fault add verb): each in its manual page's way, the right call,
 * and without a trace afterwards. */
#include <errno.h>
#include <stdio.h>

#include "fixture.h"
#include "rules.h"

/* Verbs. Each row calls one, undoes what it did, and answers with its errno; 0: it did not fail. */

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct end a, b;
	uint8_t memory[4096];
} v;

static int gone(void *pointer, int (*undo)(void *))
{
	int err = errno;

	if (pointer && undo)
		undo(pointer);
	return pointer ? 0 : err;
}

static int undo_pd(void *p)
{
	return ibv_dealloc_pd(p);
}

static int undo_mr(void *p)
{
	return ibv_dereg_mr(p);
}

static int undo_cq(void *p)
{
	return ibv_destroy_cq(p);
}

static int undo_qp(void *p)
{
	return ibv_destroy_qp(p);
}

static int undo_srq(void *p)
{
	return ibv_destroy_srq(p);
}

static int undo_channel(void *p)
{
	return ibv_destroy_comp_channel(p);
}

static int undo_dm(void *p)
{
	return ibv_free_dm(p);
}

static int undo_context(void *p)
{
	return ibv_close_device(p);
}

static int undo_ah(void *p)
{
	return ibv_destroy_ah(p);
}

static int undo_td(void *p)
{
	return ibv_dealloc_td(p);
}

static int call_open_device(void)
{
	return gone(ibv_open_device(v.context->device), undo_context);
}

static int call_alloc_pd(void)
{
	return gone(ibv_alloc_pd(v.context), undo_pd);
}

static int call_dealloc_pd(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(v.context);

	return ibv_dealloc_pd(pd);
}

static int call_alloc_td(void)
{
	struct ibv_td_init_attr attr = { 0 };

	return gone(ibv_alloc_td(v.context, &attr), undo_td);
}

static int call_alloc_parent_domain(void)
{
	struct ibv_parent_domain_init_attr attr = { .pd = v.pd };

	return gone(ibv_alloc_parent_domain(v.context, &attr), undo_pd);
}

static int call_reg_mr(void)
{
	return gone(ibv_reg_mr(v.pd, v.memory, sizeof(v.memory), 0), undo_mr);
}

/* The inline function takes another way where the access flags are no constant. */
static int call_reg_mr_variable(void)
{
	volatile unsigned int access = IBV_ACCESS_LOCAL_WRITE;

	return gone(ibv_reg_mr(v.pd, v.memory, sizeof(v.memory), access), undo_mr);
}

static int call_reg_mr_iova(void)
{
	return gone(ibv_reg_mr_iova(v.pd, v.memory, sizeof(v.memory), 0x1000, 0), undo_mr);
}

static int call_dereg_mr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(v.pd, v.memory, sizeof(v.memory), 0);

	return ibv_dereg_mr(mr);
}

static int call_advise_mr(void)
{
	const unsigned int access = IBV_ACCESS_ON_DEMAND;
	struct ibv_mr *mr = ibv_reg_mr(v.pd, v.memory, sizeof(v.memory), access);
	struct ibv_sge sge = { (uintptr_t)v.memory, sizeof(v.memory), mr->lkey };
	int err = ibv_advise_mr(v.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1);

	ibv_dereg_mr(mr);
	return err;
}

static int call_alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };

	return gone(ibv_alloc_dm(v.context, &attr), undo_dm);
}

static int call_memcpy_to_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(v.context, &attr);
	int err;

	ck_assert_ptr_nonnull(dm);
	err = ibv_memcpy_to_dm(dm, 0, v.memory, 8);

	ibv_free_dm(dm);
	return err;
}

static int call_create_comp_channel(void)
{
	return gone(ibv_create_comp_channel(v.context), undo_channel);
}

static int call_create_cq(void)
{
	return gone(ibv_create_cq(v.context, 8, NULL, NULL, 0), undo_cq);
}

static int call_create_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8 };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(v.context, &attr);

	return gone(cq ? ibv_cq_ex_to_cq(cq) : NULL, undo_cq);
}

static int call_resize_cq(void)
{
	return ibv_resize_cq(v.cq, 16);
}

static int call_req_notify_cq(void)
{
	return ibv_req_notify_cq(v.cq, 0);
}

static int call_poll_cq(void)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(v.cq, 1, &wc);

	return n < 0 ? -n : 0;
}

static int call_create_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = v.cq,
		.recv_cq = v.cq,
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	return gone(ibv_create_qp(v.pd, &attr), undo_qp);
}

static int call_modify_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	return ibv_modify_qp(v.a.qp, &attr, IBV_QP_STATE);
}

static int call_query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(v.a.qp, &attr, IBV_QP_STATE, &init);
}

static int call_create_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return gone(ibv_create_srq(v.pd, &attr), undo_srq);
}

static int call_post_send(void)
{
	struct ibv_send_wr *bad = NULL, wr;
	struct ibv_sge sge;
	int err;

	wr = end_wr(&v.a, &sge, IBV_WR_RDMA_WRITE, 1, 0, 8);
	err = ibv_post_send(v.a.qp, &wr, &bad);
	if (err)
		ck_assert_ptr_eq(bad, &wr);
	else
		end_wait_for(&v.a, 1, IBV_WC_SUCCESS);
	return err;
}

static int call_post_recv(void)
{
	struct ibv_recv_wr *bad = NULL, wr = { .wr_id = 1 };
	int err = ibv_post_recv(v.b.qp, &wr, &bad);

	if (err)
		ck_assert_ptr_eq(bad, &wr);
	return err;
}

static int call_create_ah(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.dgid = v.a.peer.gid };

	return gone(ibv_create_ah(v.pd, &attr), undo_ah);
}

static int call_query_device(void)
{
	struct ibv_device_attr attr;

	return ibv_query_device(v.context, &attr);
}

static int call_query_port(void)
{
	struct ibv_port_attr attr;

	return ibv_query_port(v.context, 1, &attr);
}

static int call_query_gid(void)
{
	union ibv_gid gid;

	return ibv_query_gid(v.context, 1, 0, &gid) == -1 ? errno : 0;
}

static int call_query_pkey(void)
{
	__be16 pkey;

	return ibv_query_pkey(v.context, 1, 0, &pkey) == -1 ? errno : 0;
}

static const struct {
	const char *name;
	int (*call)(void);
} rows[] = {
#define ROW(name)                                                                                  \
	{                                                                                          \
		"ibv_" #name, call_##name                                                          \
	}
	ROW(open_device),
	ROW(alloc_pd),
	ROW(dealloc_pd),
	ROW(alloc_td),
	ROW(reg_mr),
	ROW(reg_mr_iova),
	ROW(dereg_mr),
	ROW(advise_mr),
	ROW(alloc_parent_domain),
	ROW(alloc_dm),
	ROW(memcpy_to_dm),
	ROW(create_cq),
	ROW(create_comp_channel),
	ROW(create_cq_ex),
	ROW(resize_cq),
	ROW(req_notify_cq),
	ROW(poll_cq),
	ROW(create_qp),
	ROW(modify_qp),
	ROW(query_qp),
	ROW(create_srq),
	ROW(post_send),
	ROW(post_recv),
	ROW(create_ah),
	ROW(query_device),
	ROW(query_port),
	ROW(query_gid),
	ROW(query_pkey),
#undef ROW
	{ "ibv_reg_mr", call_reg_mr_variable },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void open_all(void)
{
	ends_open(&v.a, &v.b, NULL);
	v.context = v.a.context;
	v.pd = v.a.pd;
	v.channel = ibv_create_comp_channel(v.context);
	ck_assert_ptr_nonnull(v.channel);
	v.cq = ibv_create_cq(v.context, 8, NULL, v.channel, 0);
	ck_assert_ptr_nonnull(v.cq);
}

static void close_all(void)
{
	ck_assert_int_eq(ibv_destroy_cq(v.cq), 0);
	ck_assert_int_eq(ibv_destroy_comp_channel(v.channel), 0);
}

START_TEST(verb_by_name)
{
	open_all();
	for (size_t i = 0; i < ROWS; i++) {
		char rule[128];

		ck_assert_msg(rows[i].call() == 0, "%s fails without a rule", rows[i].name);
		snprintf(rule, sizeof(rule), "add verb name=%s errno=EDQUOT nth=2", rows[i].name);
		fault(rule);
		ck_assert_msg(rows[i].call() == 0, "%s: the first call", rows[i].name);
		ck_assert_msg(rows[i].call() == EDQUOT, "%s: the second call", rows[i].name);
		ck_assert_msg(rows[i].call() == 0, "%s: the third call", rows[i].name);
		ck_assert_uint_eq(fired("verb"), 1);
		fault("clear");
	}
	close_all();
}
END_TEST

static uint64_t which_fail(int calls)
{
	uint64_t ret = 0;

	for (int i = 0; i < calls; i++)
		ret |= (uint64_t)(call_alloc_pd() != 0) << i;
	return ret;
}

START_TEST(verb_counted)
{
	uint64_t dice;

	open_all();
	fault("add verb name=alloc_pd errno=12 every=3");
	ck_assert_uint_eq(which_fail(9), 1u << 2 | 1u << 5 | 1u << 8);
	fault("clear");
	fault("add verb name=ibv_alloc_* errno=ENOMEM nth=2..3");
	ck_assert_uint_eq(which_fail(4), 1u << 1 | 1u << 2);
	ck_assert_int_eq(call_alloc_dm(), 0); /* each verb has a count of its own */
	ck_assert_int_eq(call_alloc_dm(), ENOMEM);
	fault("clear");
	fault("add verb name=ibv_alloc_pd errno=ENOMEM probability=30% seed=5");
	dice = which_fail(64);
	ck_assert_int_gt(__builtin_popcountll(dice), 5);
	ck_assert_int_lt(__builtin_popcountll(dice), 40);
	fault("clear");
	ck_assert_uint_eq(which_fail(10), 0);
	close_all();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, verb_by_name);
	tcase_add_test(tests, verb_counted);
}

int main(void)
{
	return fixture_main("refused", add_tests);
}
