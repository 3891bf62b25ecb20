/* SPDX-License-Identifier: MIT */
/* Tag matching by the public verbs: the SRQ of b matches the tags of what a sends. */
#include <endian.h>
#include <errno.h>
#include <infiniband/tm_types.h>
#include <string.h>

#include "fixture.h"
#include "rules.h"

#define TAGS	8
#define PRIV	0x1234u
#define HEADER	sizeof(struct ibv_tmh)
#define HEADERS (HEADER + sizeof(struct ibv_rvh))
#define BIG	(1u << 20)
#define RNDV_AT (2u << 20) /* in a's memory: what b reads */

static struct end a, b;

/* A completion of b. */
struct seen {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t byte_len;
	struct ibv_wc_tm_info info;
};

static struct ibv_srq_init_attr_ex tm_attr(void)
{
	return (struct ibv_srq_init_attr_ex){
		.attr = { 16, 2, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = b.pd,
		.cq = b.cq,
		.tm_cap = { TAGS, 4 },
	};
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = FIXTURE_ALL_RIGHTS };

	ck_assert_int_eq(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
}

/* b gets a queue pair on an SRQ that matches tags; sends: entries of its send queue. */
static void open_tagged(uint32_t sends)
{
	static const struct ibv_cq_init_attr_ex cq = {
		.cqe = 256,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO,
	};
	const struct end_cfg cfg = { .cq_attr = &cq };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { .max_send_wr = sends } };
	struct ibv_srq_init_attr_ex attr;
	struct end_address address;

	end_open(&a, NULL, NULL);
	end_open(&b, a.context, &cfg);
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	attr = tm_attr();
	b.srq = ibv_create_srq_ex(b.context, &attr);
	ck_assert_ptr_nonnull(b.srq);
	init.send_cq = init.recv_cq = b.cq;
	init.srq = b.srq;
	init.cap.max_send_sge = sends ? 1 : 0;
	b.qp = ibv_create_qp(b.pd, &init);
	ck_assert_ptr_nonnull(b.qp);
	ck_assert_uint_eq(init.cap.max_send_wr, sends);
	to_init(b.qp);
	address = end_address(&b);
	end_connect(&a, &address);
	address = end_address(&a);
	end_connect(&b, &address);
	fill(a.memory, FIXTURE_MEMORY, 1);
}

static struct seen next(void)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)(void *)b.cq;
	struct ibv_poll_cq_attr none = { 0 };
	struct seen ret;

	while (ibv_start_poll(cq, &none) == ENOENT)
		;
	ret = (struct seen){
		.wr_id = cq->wr_id,
		.status = cq->status,
		.opcode = ibv_wc_read_opcode(cq),
		.flags = ibv_wc_read_wc_flags(cq),
		.byte_len = ibv_wc_read_byte_len(cq),
	};
	ibv_wc_read_tm_info(cq, &ret.info);
	ibv_end_poll(cq);
	return ret;
}

static struct seen expect_next(uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int flags)
{
	struct seen seen = next();

	ck_assert_int_eq(seen.status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(seen.wr_id, wr_id);
	ck_assert_int_eq(seen.opcode, opcode);
	ck_assert_uint_eq(seen.flags, flags);
	return seen;
}

static int post(struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad = NULL;
	int err = ibv_post_srq_ops(b.srq, wr, &bad);

	ck_assert(!err || bad == wr);
	return err;
}

/* Two pieces of b's memory, where receives of this tag go. */
static struct ibv_ops_wr add_wr(struct ibv_sge sges[static 2], uint64_t tag, uint32_t len,
				uint32_t count)
{
	sges[0] = (struct ibv_sge){ (uintptr_t)b.memory, len / 2, b.mr->lkey };
	sges[1] = (struct ibv_sge){ (uintptr_t)b.memory + BIG, len - len / 2, b.mr->lkey };
	return (struct ibv_ops_wr){
		.wr_id = 500 + tag,
		.opcode = IBV_WR_TAG_ADD,
		.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC,
		.tm = { .unexpected_cnt = count, .add = { 100 + tag, sges, 2, tag, UINT64_MAX } },
	};
}

static uint32_t add(uint64_t tag, uint32_t len, uint32_t count)
{
	struct ibv_sge sges[2];
	struct ibv_ops_wr wr = add_wr(sges, tag, len, count);

	ck_assert_int_eq(post(&wr), 0);
	return wr.tm.handle;
}

static void expect_stored(uint32_t size, uint32_t len, size_t from)
{
	const uint32_t first = size / 2 < len ? size / 2 : len;

	ck_assert_mem_eq(b.memory, a.memory + from, first);
	ck_assert_mem_eq(b.memory + BIG, a.memory + from + first, len - first);
}

static void header(enum ibv_tmh_op op, uint64_t tag)
{
	const struct ibv_tmh tmh = { .opcode = (uint8_t)op,
				     .app_ctx = htobe32(PRIV),
				     .tag = htobe64(tag) };

	memcpy(a.memory, &tmh, sizeof(tmh));
}

static void eager(uint64_t tag, uint32_t len)
{
	header(IBV_TMH_EAGER, tag);
	end_post(&a, IBV_WR_SEND, tag, 0, (uint32_t)HEADER + len);
	end_wait_for(&a, tag, IBV_WC_SUCCESS);
}

static void rendezvous(uint64_t tag, uint32_t len)
{
	const struct ibv_rvh rvh = { htobe64((uintptr_t)a.memory + RNDV_AT), htobe32(a.mr->rkey),
				     htobe32(len) };

	header(IBV_TMH_RNDV, tag);
	memcpy(a.memory + HEADER, &rvh, sizeof(rvh));
	end_post(&a, IBV_WR_SEND, tag, 0, HEADERS);
}

static void receive(uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)b.memory + RNDV_AT, 4096, b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	ck_assert_int_eq(ibv_post_srq_recv(b.srq, &wr, &bad), 0);
}

START_TEST(reported)
{
	struct ibv_context *context = fixture_open();
	struct ibv_device_attr_ex attr;

	ck_assert_int_eq(ibv_query_device_ex(context, NULL, &attr), 0);
	ck_assert_uint_eq(attr.tm_caps.flags, IBV_TM_CAP_RC);
	ck_assert_uint_ge(attr.tm_caps.max_rndv_hdr_size, HEADERS);
	ck_assert_uint_ge(attr.tm_caps.max_num_tags, TAGS);
	ck_assert_uint_ge(attr.tm_caps.max_ops, 4);
	ck_assert_uint_ge(attr.tm_caps.max_sge, 2);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

START_TEST(expected)
{
	struct seen seen;

	open_tagged(0);
	add(7, 2000, 0);
	seen = expect_next(507, IBV_WC_TM_ADD, 0);
	ck_assert_uint_eq(seen.info.tag, 0);
	eager(7, 1000);
	seen = expect_next(107, IBV_WC_TM_RECV, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID);
	ck_assert_uint_eq(seen.byte_len, 1000);
	ck_assert_uint_eq(seen.info.tag, 7);
	ck_assert_uint_eq(seen.info.priv, PRIV);
	expect_stored(2000, 1000, HEADER);
	/* Several packets: first the match, then the data. */
	add(8, BIG, 0);
	expect_next(508, IBV_WC_TM_ADD, 0);
	eager(8, BIG - 1);
	seen = expect_next(108, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	ck_assert_uint_eq(seen.info.tag, 8);
	seen = expect_next(108, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID);
	ck_assert_uint_eq(seen.byte_len, BIG - 1);
	expect_stored(BIG, BIG - 1, HEADER);
	ends_close(&a, &b);
}
END_TEST

START_TEST(unexpected)
{
	struct ibv_ops_wr sync = { .wr_id = 9,
				   .opcode = IBV_WR_TAG_SYNC,
				   .flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC,
				   .tm.unexpected_cnt = 2 };
	struct seen seen;

	open_tagged(0);
	receive(1);
	receive(2);
	eager(7, 100);
	seen = expect_next(1, IBV_WC_TM_RECV, 0);
	ck_assert_uint_eq(seen.byte_len, HEADER + 100);
	ck_assert_uint_eq(seen.info.tag, 0);
	ck_assert_mem_eq(b.memory + RNDV_AT, a.memory, HEADER + 100);
	/* The count does not fit: what is added now waits. */
	add(7, 200, 0);
	expect_next(507, IBV_WC_TM_ADD, IBV_WC_TM_SYNC_REQ);
	eager(7, 100);
	expect_next(2, IBV_WC_TM_RECV, 0);
	ck_assert_int_eq(post(&sync), 0);
	expect_next(9, IBV_WC_TM_SYNC, 0);
	eager(7, 100);
	expect_next(107, IBV_WC_TM_RECV, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID);
	/* Without a tag. */
	receive(3);
	header(IBV_TMH_NO_TAG, 7);
	end_post(&a, IBV_WR_SEND_WITH_IMM, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_next(3, IBV_WC_TM_NO_TAG, IBV_WC_WITH_IMM);
	ends_close(&a, &b);
}
END_TEST

START_TEST(removed)
{
	struct ibv_ops_wr del = { .wr_id = 9, .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED };
	struct seen seen;

	open_tagged(0);
	del.tm.handle = add(7, 100, 0);
	expect_next(507, IBV_WC_TM_ADD, 0);
	ck_assert_int_eq(post(&del), 0);
	expect_next(9, IBV_WC_TM_DEL, 0);
	del.flags = 0; /* an error completes all the same */
	ck_assert_int_eq(post(&del), 0);
	seen = next();
	ck_assert_int_eq(seen.status, IBV_WC_TM_ERR);
	ck_assert_uint_eq(seen.wr_id, 9);
	receive(1);
	eager(7, 50);
	expect_next(1, IBV_WC_TM_RECV, 0);
	ends_close(&a, &b);
}
END_TEST

static void expect_fin(uint64_t wr_id, uint64_t tag, uint32_t len)
{
	struct ibv_wc wc = end_wait_for(&a, wr_id, IBV_WC_SUCCESS);
	const struct ibv_tmh *tmh = (const struct ibv_tmh *)(const void *)(a.memory + 4096);
	const struct ibv_rvh *rvh = (const struct ibv_rvh *)(const void *)(tmh + 1);

	ck_assert_int_eq(wc.opcode, IBV_WC_RECV);
	ck_assert_uint_eq(wc.byte_len, HEADERS);
	ck_assert_uint_eq(tmh->opcode, IBV_TMH_FIN);
	ck_assert_uint_eq(be32toh(tmh->app_ctx), PRIV);
	ck_assert_uint_eq(be64toh(tmh->tag), tag);
	ck_assert_uint_eq(be64toh(rvh->va), (uintptr_t)a.memory + RNDV_AT);
	ck_assert_uint_eq(be32toh(rvh->rkey), a.mr->rkey);
	ck_assert_uint_eq(be32toh(rvh->len), len);
}

/* Also while packets are lost. */
START_TEST(rendezvous_of_a_megabyte)
{
	struct seen seen;

	open_tagged(0);
	if (_i)
		fault("add drop probability=2% seed=7");
	for (uint64_t tag = 1; tag < 4; tag++) {
		memset(b.memory, 0, 2 * BIG);
		add(tag, BIG, 0);
		expect_next(500 + tag, IBV_WC_TM_ADD, 0);
		end_recv(&a, 77, 4096, 64);
		rendezvous(tag, BIG - (uint32_t)tag);
		end_wait_for(&a, tag, IBV_WC_SUCCESS);
		seen = expect_next(100 + tag, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
		ck_assert_uint_eq(seen.info.tag, tag);
		ck_assert_uint_eq(seen.info.priv, PRIV);
		seen = expect_next(100 + tag, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID);
		ck_assert_uint_eq(seen.byte_len, BIG - tag);
		expect_stored(BIG, BIG - (uint32_t)tag, RNDV_AT);
		expect_fin(77, tag, BIG - (uint32_t)tag);
	}
	if (_i) {
		ck_assert_uint_gt(fired("drop"), 0);
		fault("clear");
	}
	ends_close(&a, &b);
}
END_TEST

/* The buffer is too small, or the send queue is the program's: the program goes on. */
START_TEST(rendezvous_by_the_program)
{
	struct seen seen;

	open_tagged(_i ? 4 : 0);
	add(7, _i ? 2000 : 1999, 0);
	expect_next(507, IBV_WC_TM_ADD, 0);
	rendezvous(7, 2000);
	end_wait_for(&a, 7, IBV_WC_SUCCESS);
	seen = next();
	ck_assert_int_eq(seen.status, IBV_WC_TM_RNDV_INCOMPLETE);
	ck_assert_uint_eq(seen.wr_id, 107);
	ck_assert_mem_eq(b.memory, a.memory, HEADERS);
	ck_assert_int_eq(end_state(&b), IBV_QPS_RTS);
	ends_close(&a, &b);
}
END_TEST

START_TEST(rendezvous_fails)
{
	struct seen seen;

	open_tagged(0);
	add(7, 2000, 0);
	expect_next(507, IBV_WC_TM_ADD, 0);
	a.mr->rkey ^= 1; /* as the header names it */
	rendezvous(7, 2000);
	a.mr->rkey ^= 1;
	expect_next(107, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	seen = next();
	ck_assert_int_eq(seen.status, IBV_WC_REM_ACCESS_ERR);
	ck_assert_uint_eq(seen.wr_id, 107);
	ck_assert_int_eq(end_state(&b), IBV_QPS_ERR);
	ends_close(&a, &b);
}
END_TEST

START_TEST(send_queue_is_the_srqs)
{
	struct ibv_qp_init_attr init;
	struct ibv_send_wr wr = { 0 }, *bad;
	struct ibv_qp_attr attr;

	open_tagged(0);
	ck_assert_int_eq(ibv_post_send(b.qp, &wr, &bad), ENOMEM);
	ck_assert_int_eq(ibv_query_qp(b.qp, &attr, IBV_QP_CAP, &init), 0);
	ck_assert_uint_eq(init.cap.max_send_wr, 0);
	ends_close(&a, &b);
}
END_TEST

static void to_rtr(struct ibv_qp *qp, const struct end_address *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.dest_qp_num = peer->qpn,
		.rq_psn = FIXTURE_PSN,
		.max_dest_rd_atomic = 4,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.dgid = peer->gid },
	};
	struct ibv_port_attr port;

	ck_assert_int_eq(ibv_query_port(qp->context, 1, &port), 0);
	attr.path_mtu = port.active_mtu;
	ck_assert_int_eq(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = FIXTURE_PSN,
				    .timeout = 18,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 4 };

	ck_assert_int_eq(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

/* The rendezvous waits until the queue pair may send. */
START_TEST(rendezvous_before_rts)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct end_address address;

	open_tagged(0);
	ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), 0);
	to_init(b.qp);
	address = end_address(&a);
	to_rtr(b.qp, &address);
	add(7, 2000, 0);
	expect_next(507, IBV_WC_TM_ADD, 0);
	end_recv(&a, 77, 4096, 64);
	rendezvous(7, 2000);
	end_wait_for(&a, 7, IBV_WC_SUCCESS);
	expect_next(107, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	expect_event(b.context, IBV_EVENT_COMM_EST);
	to_rts(b.qp);
	expect_next(107, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID);
	expect_stored(2000, 2000, RNDV_AT);
	expect_fin(77, 7, 2000);
	ends_close(&a, &b);
}
END_TEST

START_TEST(in_use)
{
	struct ibv_qp *qp;

	open_tagged(0);
	ck_assert_int_eq(ibv_destroy_srq(b.srq), EBUSY);
	qp = b.qp;
	b.qp = NULL;
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(b.cq), EBUSY);
	ck_assert_int_eq(ibv_destroy_srq(b.srq), 0);
	b.srq = NULL;
	ends_close(&a, &b);
}
END_TEST

static void refuse_srq(const struct ibv_srq_init_attr_ex *wrong)
{
	struct ibv_srq_init_attr_ex attr = *wrong;

	errno = 0;
	ck_assert_ptr_null(ibv_create_srq_ex(b.context, &attr));
	ck_assert_int_eq(errno, EINVAL);
}

START_TEST(bad_attributes)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_srq_init_attr_ex attr;
	struct ibv_device_attr_ex device;

	open_tagged(0);
	ck_assert_int_eq(ibv_query_device_ex(b.context, NULL, &device), 0);
	attr = tm_attr();
	attr.comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_TM;
	refuse_srq(&attr);
	attr = tm_attr();
	attr.comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_CQ;
	refuse_srq(&attr);
	attr = tm_attr();
	attr.cq = NULL;
	refuse_srq(&attr);
	attr = tm_attr();
	attr.tm_cap.max_num_tags = 0;
	refuse_srq(&attr);
	attr.tm_cap.max_num_tags = device.tm_caps.max_num_tags + 1;
	refuse_srq(&attr);
	attr = tm_attr();
	attr.tm_cap.max_ops = 0;
	refuse_srq(&attr);
	attr.tm_cap.max_ops = device.tm_caps.max_ops + 1;
	refuse_srq(&attr);
	init.send_cq = init.recv_cq = b.cq;
	init.srq = b.srq;
	init.qp_type = IBV_QPT_UD;
	ck_assert_ptr_null(ibv_create_qp(b.pd, &init));
	ck_assert_int_eq(errno, EINVAL);
	ends_close(&a, &b);
}
END_TEST

START_TEST(bad_operations)
{
	struct ibv_srq_init_attr plain = { .attr = { 1, 1, 0 } };
	struct ibv_sge sges[2];
	struct ibv_ops_wr wr, *bad;
	struct ibv_srq *srq;

	open_tagged(0);
	wr = add_wr(sges, 7, 100, 0);
	wr.opcode = (enum ibv_ops_wr_opcode)3;
	ck_assert_int_eq(post(&wr), EINVAL);
	wr = add_wr(sges, 7, 100, 0);
	wr.flags = 4;
	ck_assert_int_eq(post(&wr), EINVAL);
	wr = add_wr(sges, 7, 100, 5);
	wr.tm.add.num_sge = 3;
	ck_assert_int_eq(post(&wr), EINVAL);
	wr.tm.add.num_sge = -1;
	ck_assert_int_eq(post(&wr), EINVAL);
	wr.tm.add.num_sge = 2;
	wr.tm.add.sg_list = NULL;
	ck_assert_int_eq(post(&wr), EINVAL);
	/* A refused operation counts nothing: the list is still in step. */
	for (uint64_t tag = 0; tag < TAGS; tag++) {
		add(tag, 100, 0);
		expect_next(500 + tag, IBV_WC_TM_ADD, 0);
	}
	wr = add_wr(sges, 7, 100, 0);
	ck_assert_int_eq(post(&wr), ENOMEM);
	srq = ibv_create_srq(b.pd, &plain);
	ck_assert_ptr_nonnull(srq);
	ck_assert_int_eq(ibv_post_srq_ops(srq, &wr, &bad), EINVAL);
	ck_assert_ptr_eq(bad, &wr);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	ends_close(&a, &b);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, reported);
	tcase_add_test(tests, expected);
	tcase_add_test(tests, unexpected);
	tcase_add_test(tests, removed);
	tcase_add_loop_test(tests, rendezvous_of_a_megabyte, 0, 2);
	tcase_add_loop_test(tests, rendezvous_by_the_program, 0, 2);
	tcase_add_test(tests, rendezvous_fails);
	tcase_add_test(tests, rendezvous_before_rts);
	tcase_add_test(tests, send_queue_is_the_srqs);
	tcase_add_test(tests, in_use);
	tcase_add_test(tests, bad_attributes);
	tcase_add_test(tests, bad_operations);
}

int main(void)
{
	return fixture_main("verbs_tag", add_tests);
}
