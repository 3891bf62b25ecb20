// SPDX-License-Identifier: MIT
/* A profile (--profile): each of its keys is reported, and enforced as an adapter would. The file
 * that RXE_TEST_LIMITS names is what `rxe_dm show --limits` printed; a key without a check
 * fails. */
#include "verbs_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct profile_test test;

struct ibv_qp_init_attr_ex plain_qp(void)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = test.pd,
		.send_cq = test.cq,
		.recv_cq = test.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
}

void *make_qp(void)
{
	struct ibv_qp_init_attr_ex init = plain_qp();

	return ibv_create_qp_ex(test.context, &init);
}

int modify(struct ibv_qp *qp, struct ibv_qp_attr want, int mask)
{
	return ibv_modify_qp(qp, &want, mask);
}

int to_init(struct ibv_qp *qp, unsigned int rights)
{
	return modify(qp,
		      (struct ibv_qp_attr){
			      .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = rights },
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int to_rtr(struct ibv_qp *qp, enum ibv_mtu mtu, uint8_t reads)
{
	struct ibv_qp_attr want = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = mtu,
				    .dest_qp_num = qp->qp_num,
				    .max_dest_rd_atomic = reads,
				    .min_rnr_timer = 1,
				    .ah_attr = { .is_global = 1, .port_num = 1 } };

	EXPECT(ibv_query_gid(test.context, 1, 0, &want.ah_attr.grh.dgid) == 0);
	return modify(qp, want,
		      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int to_rts(struct ibv_qp *qp, uint8_t reads)
{
	const struct ibv_qp_attr want = { .qp_state = IBV_QPS_RTS,
					  .max_rd_atomic = reads,
					  .timeout = 18,
					  .retry_cnt = 7,
					  .rnr_retry = 7 };

	return modify(qp, want,
		      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

struct ibv_qp *connected(uint32_t sges)
{
	struct ibv_qp_init_attr_ex init = plain_qp();
	struct ibv_qp *qp;

	init.cap.max_send_sge = sges;
	qp = ibv_create_qp_ex(test.context, &init);
	EXPECT(qp);
	EXPECT(to_init(qp, IBV_ACCESS_REMOTE_READ) == 0);
	EXPECT(to_rtr(qp, IBV_MTU_256, 1) == 0);
	EXPECT(to_rts(qp, 1) == 0);
	return qp;
}

int post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, int num_sge, uint32_t len)
{
	struct ibv_sge sge[32];
	struct ibv_send_wr wr = { .opcode = opcode,
				  .sg_list = sge,
				  .num_sge = num_sge,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad = NULL;
	int err;

	for (int i = 0; i < num_sge; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)test.bytes, len, test.mr->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)test.bytes;
	wr.wr.rdma.rkey = test.mr->rkey;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)test.bytes;
		wr.wr.atomic.rkey = test.mr->rkey;
	}
	err = ibv_post_send(qp, &wr, &bad);
	ck_assert_msg(!err == !bad, "%s", test.key);
	return err;
}

static const struct profile_row *find(const struct profile_row *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].key, name) == 0)
			return &rows[i];
	}
	return NULL;
}

static void check(const char *name, const char *text)
{
	const struct profile_row *row = find(profile_limits, num_profile_limits, name);

	if (!row)
		row = find(profile_features, num_profile_features, name);
	ck_assert_msg(row, "no check of the key %s", name);
	test.key = name;
	row->check(strtoull(text, NULL, 0), text);
}

static void open_all(void)
{
	const unsigned int rights =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	test.context = fixture_open();
	ck_assert_int_eq(ibv_query_device_ex(test.context, NULL, &test.all.base), 0);
	ck_assert_int_eq(ibv_query_port(test.context, 1, &test.port), 0);
	test.pd = ibv_alloc_pd(test.context);
	test.cq = ibv_create_cq(test.context, 16, NULL, NULL, 0);
	ck_assert(test.pd && test.cq);
	test.mr = ibv_reg_mr(test.pd, test.bytes, sizeof(test.bytes), rights);
	ck_assert_ptr_nonnull(test.mr);
}

START_TEST(each_key_is_reported_and_enforced)
{
	const char *path = getenv("RXE_TEST_LIMITS");
	char line[128], name[64], text[64];
	FILE *limits = path ? fopen(path, "r") : NULL;
	size_t checked = 0;

	ck_assert_ptr_nonnull(limits);
	open_all();
	while (fgets(line, sizeof(line), limits)) {
		if (sscanf(line, "%63[a-z_] = %63s", name, text) != 2)
			continue;
		check(name, text);
		checked++;
	}
	fclose(limits);
	ck_assert_uint_eq(checked, num_profile_limits + num_profile_features);
	ibv_dereg_mr(test.mr);
	ibv_destroy_cq(test.cq);
	ibv_dealloc_pd(test.pd);
	ibv_close_device(test.context);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, each_key_is_reported_and_enforced);
}

int main(void)
{
	return fixture_main("verbs_profile", add);
}
