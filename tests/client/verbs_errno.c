// SPDX-License-Identifier: MIT
/* A verb that fails returns its errno and leaves errno set, as system calls do: programs read
 * either. Here every verb fails on live objects: in use, in the wrong state, out of range, or not
 * there. verbs_bad_handles.c has bad objects. */
#include <errno.h>
#include <string.h>

#include "fixture.h"

static struct end a, b;

#define FAILS(call, err)                                                                           \
	do {                                                                                       \
		int ret;                                                                           \
                                                                                                   \
		errno = 0;                                                                         \
		ret = (call);                                                                      \
		ck_assert_msg(ret == (err) && errno == (err), #call ": returns %d, errno %d", ret, \
			      errno);                                                              \
	} while (0)
#define FAILS_WITH(call, result, err)                                                              \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_msg((call) == (result) && errno == (err), #call ": errno %d", errno);    \
	} while (0)

static void setup(void)
{
	struct end_cfg cfg = { .srq = true, .channel = true, .send_ops = IBV_QP_EX_WITH_SEND };

	ends_open(&a, &b, &cfg);
}

static void teardown(void)
{
	ends_close(&a, &b);
}

START_TEST(in_use)
{
	struct ibv_parent_domain_init_attr parent = { .pd = a.pd };
	struct ibv_td_init_attr td = { 0 };
	struct ibv_pd *above;

	FAILS(ibv_dealloc_pd(a.pd), EBUSY);
	FAILS(ibv_destroy_cq(a.cq), EBUSY);
	FAILS(ibv_destroy_srq(a.srq), EBUSY);
	FAILS(ibv_destroy_comp_channel(a.channel), EBUSY);
	parent.td = ibv_alloc_td(a.context, &td);
	above = ibv_alloc_parent_domain(a.context, &parent);
	ck_assert_ptr_nonnull(above);
	FAILS(ibv_dealloc_td(parent.td), EBUSY);
	ck_assert_int_eq(ibv_dealloc_pd(above), 0);
	ck_assert_int_eq(ibv_dealloc_td(parent.td), 0);
}
END_TEST

START_TEST(queue_pairs)
{
	const union ibv_gid unicast = { .raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = UINT32_MAX };
	struct ibv_ece ece = { .comp_mask = 1 };

	FAILS(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL);
	FAILS(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), EOPNOTSUPP);
	FAILS(ibv_query_qp(a.qp, &attr, 0, NULL), EINVAL);
	FAILS(ibv_attach_mcast(a.qp, &unicast, 0), EINVAL);
	FAILS(ibv_detach_mcast(a.qp, &unicast, 0), EINVAL);
	FAILS(ibv_set_ece(a.qp, &ece), EINVAL);
	ece = (struct ibv_ece){ .vendor_id = 1, .options = 2 };
	FAILS(ibv_set_ece(a.qp, &ece), EOPNOTSUPP);
	FAILS(ibv_query_ece(a.qp, &ece), EOPNOTSUPP);
	ck_assert(!ece.vendor_id && !ece.options && !ece.comp_mask);
	FAILS(ibv_set_ece(a.qp, &ece), EOPNOTSUPP);
	FAILS(ibv_modify_qp_rate_limit(a.qp, &rate), EINVAL);
}
END_TEST

START_TEST(queues)
{
	struct ibv_modify_cq_attr moderate = { .attr_mask = 1 << 9 };
	struct ibv_srq_attr limit = { .srq_limit = 1u << 20 };
	uint32_t number;
	struct ibv_wc wc;

	FAILS_WITH(ibv_poll_cq(a.cq, -1, &wc), -EINVAL, EINVAL);
	FAILS_WITH(ibv_poll_cq(a.cq, 1, NULL), -EINVAL, EINVAL);
	FAILS(ibv_resize_cq(a.cq, 0), EINVAL);
	FAILS(ibv_modify_cq(a.cq, &moderate), EINVAL);
	FAILS(ibv_modify_srq(a.srq, &limit, IBV_SRQ_LIMIT), EINVAL);
	FAILS(ibv_modify_srq(a.srq, &limit, 1 << 9), EINVAL);
	FAILS(ibv_query_srq(a.srq, NULL), EINVAL);
	FAILS(ibv_get_srq_num(a.srq, &number), EOPNOTSUPP);
}
END_TEST

START_TEST(memory)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = ibv_alloc_dm(a.context, &attr);
	struct ibv_sge sge = { (uintptr_t)a.memory, 8, a.mr->lkey };
	uint8_t bytes[8] = { 0 };

	ck_assert_ptr_nonnull(dm);
	FAILS(ibv_memcpy_to_dm(dm, 64, bytes, 8), EINVAL);
	FAILS(ibv_memcpy_from_dm(bytes, dm, 64, 8), EINVAL);
	FAILS(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	FAILS(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 0), EINVAL);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
}
END_TEST

START_TEST(queries)
{
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1 };
	struct ibv_values_ex values = { .comp_mask = 1u << 30 };
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint8_t mac[6];
	__be16 pkey;

	FAILS(ibv_query_device(a.context, NULL), EINVAL);
	FAILS(ibv_query_rt_values_ex(a.context, &values), EOPNOTSUPP);
	FAILS(ibv_query_port(a.context, 2, &port), EINVAL);
	FAILS(ibv_query_gid_ex(a.context, 1, 200, &entry, 0), EINVAL);
	FAILS(ibv_query_gid_ex(a.context, 1, 0, &entry, 1), EOPNOTSUPP);
	FAILS(ibv_resolve_eth_l2_from_gid(a.context, &way, mac, NULL), EINVAL);
	FAILS_WITH(ibv_query_gid_table(a.context, &entry, 1, 1), -EOPNOTSUPP, EOPNOTSUPP);
	FAILS_WITH(ibv_query_gid_table(a.context, NULL, 1, 0), -EINVAL, EINVAL);
	FAILS_WITH(ibv_query_gid(a.context, 1, 200, &gid), -1, EINVAL);
	FAILS_WITH(ibv_query_pkey(a.context, 1, 1, &pkey), -1, EINVAL);
	FAILS_WITH(ibv_get_pkey_index(a.context, 1, 1), -1, EINVAL);
}
END_TEST

START_TEST(requests)
{
	struct ibv_send_wr send = { .opcode = (enum ibv_wr_opcode)99 }, *bad_send;
	struct ibv_recv_wr recv = { .num_sge = 100 }, *bad_recv;
	struct ibv_ops_wr ops = { 0 }, *bad_ops;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a.qp);

	FAILS(ibv_post_send(a.qp, &send, &bad_send), EINVAL);
	FAILS(ibv_post_recv(a.qp, &recv, &bad_recv), EINVAL); /* it has an SRQ */
	FAILS(ibv_post_srq_recv(a.srq, &recv, &bad_recv), EINVAL);
	FAILS(ibv_post_srq_ops(a.srq, &ops, &bad_ops), EINVAL); /* it matches no tags */
	FAILS(ibv_wr_complete(ex), EINVAL);			/* nothing was begun */
}
END_TEST

START_TEST(packets)
{
	struct ibv_counters_init_attr counters = { .comp_mask = 1 };
	struct ibv_flow_attr flow = { .type = IBV_FLOW_ATTR_NORMAL,
				      .size = sizeof(flow),
				      .port = 1 };
	struct ibv_wq_init_attr wq = { 0 };

	FAILS_WITH(ibv_create_counters(a.context, &counters), NULL, EINVAL);
	FAILS_WITH(ibv_create_wq(a.context, &wq), NULL, EINVAL); /* without a domain */
	FAILS_WITH(ibv_create_flow(a.qp, &flow), NULL, EINVAL);	 /* it takes no packets */
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, in_use);
	tcase_add_test(tests, queue_pairs);
	tcase_add_test(tests, queues);
	tcase_add_test(tests, memory);
	tcase_add_test(tests, queries);
	tcase_add_test(tests, requests);
	tcase_add_test(tests, packets);
}

int main(void)
{
	return fixture_main("verbs_errno", add);
}
