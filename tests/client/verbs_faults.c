/* SPDX-License-Identifier: MIT */
/* Faults above the wire, as a program sees them: completions that end in error, a port that goes
 * down, a GID table that changes, a device that dies. The rules are added by the command, while
 * this program runs. Verbs that fail: verbs_refused.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "rules.h"

#define STATUSES 24

static const char *status_name(int status)
{
	static const char *const names[STATUSES] = {
		"SUCCESS",
		"LOC_LEN_ERR",
		"LOC_QP_OP_ERR",
		"LOC_EEC_OP_ERR",
		"LOC_PROT_ERR",
		"WR_FLUSH_ERR",
		"MW_BIND_ERR",
		"BAD_RESP_ERR",
		"LOC_ACCESS_ERR",
		"REM_INV_REQ_ERR",
		"REM_ACCESS_ERR",
		"REM_OP_ERR",
		"RETRY_EXC_ERR",
		"RNR_RETRY_EXC_ERR",
		"LOC_RDD_VIOL_ERR",
		"REM_INV_RD_REQ_ERR",
		"REM_ABORT_ERR",
		"INV_EECN_ERR",
		"INV_EEC_STATE_ERR",
		"FATAL_ERR",
		"RESP_TIMEOUT_ERR",
		"GENERAL_ERR",
		"TM_ERR",
		"TM_RNDV_INCOMPLETE",
	};

	return names[status];
}

/* Completions. */

START_TEST(completion_by_number)
{
	struct end a, b;
	char rule[128];

	ends_open(&a, &b, NULL);
	snprintf(rule, sizeof(rule), "add completion status=RETRY_EXC_ERR side=send qp=0x%x nth=2",
		 a.qp->qp_num);
	fault(rule);
	for (uint64_t i = 1; i <= 4; i++)
		end_post(&a, IBV_WR_RDMA_WRITE, i, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	end_wait_for(&a, 2, IBV_WC_RETRY_EXC_ERR);
	end_wait_for(&a, 3, IBV_WC_WR_FLUSH_ERR);
	end_wait_for(&a, 4, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(end_state(&a), IBV_QPS_ERR);
	end_post(&a, IBV_WR_RDMA_WRITE, 5, 0, 64);
	end_wait_for(&a, 5, IBV_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(fired("completion"), 1);
	fault("clear");
	ends_close(&a, &b);
}
END_TEST

START_TEST(completion_of_each_status)
{
	for (int status = 1; status < STATUSES; status++) {
		struct end a, b;
		char rule[128];

		snprintf(rule, sizeof(rule), "add completion status=IBV_WC_%s nth=1 side=send",
			 status_name(status));
		fault(rule);
		ends_open(&a, &b, NULL);
		end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
		end_wait_for(&a, 1, (enum ibv_wc_status)status);
		fault("clear");
		ends_close(&a, &b);
	}
}
END_TEST

START_TEST(completion_of_a_receive)
{
	const struct end_cfg cfg = { .srq = true };
	struct end a, b;
	char rule[128];

	ends_open(&a, &b, &cfg);
	snprintf(rule, sizeof(rule), "add completion status=LOC_PROT_ERR side=recv qp=0x%x nth=2",
		 b.qp->qp_num);
	fault(rule);
	for (uint64_t i = 1; i <= 3; i++)
		end_recv(&b, i, 0, 64);
	end_post(&a, IBV_WR_SEND, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	end_post(&a, IBV_WR_SEND, 2, 0, 64);
	end_wait_for(&a, 2, IBV_WC_REM_OP_ERR);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	end_wait_for(&b, 2, IBV_WC_LOC_PROT_ERR);
	expect_event(a.context, IBV_EVENT_QP_LAST_WQE_REACHED);
	expect_event(a.context, IBV_EVENT_QP_LAST_WQE_REACHED);
	ck_assert_int_eq(end_state(&b), IBV_QPS_ERR);
	fault("clear");
	ends_close(&a, &b);
}
END_TEST

START_TEST(completion_of_a_datagram)
{
	const struct end_cfg cfg = { .type = IBV_QPT_UD };
	struct end a, b;

	fault("add completion status=GENERAL_ERR side=send nth=2");
	ends_open(&a, &b, &cfg);
	end_post(&a, IBV_WR_SEND, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	end_post(&a, IBV_WR_SEND, 2, 0, 64);
	end_wait_for(&a, 2, IBV_WC_GENERAL_ERR);
	ck_assert_int_eq(end_state(&a), IBV_QPS_SQE);
	fault("clear");
	ends_close(&a, &b);
}
END_TEST

/* The port. */

static enum ibv_port_state port_state(struct ibv_context *context)
{
	struct ibv_port_attr attr;

	ck_assert_int_eq(ibv_query_port(context, 1, &attr), 0);
	return attr.state;
}

START_TEST(port_for_a_while)
{
	struct ibv_context *other = fixture_open();
	struct end a, b;

	ends_open(&a, &b, NULL);
	fault("add port_down time=300ms");
	expect_event(a.context, IBV_EVENT_PORT_ERR);
	expect_event(other, IBV_EVENT_PORT_ERR);
	ck_assert_int_eq(port_state(a.context), IBV_PORT_DOWN);
	/* Sent again until the port is back. */
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_expect_nothing(&a);
	expect_event(a.context, IBV_EVENT_PORT_ACTIVE);
	expect_event(other, IBV_EVENT_PORT_ACTIVE);
	ck_assert_int_eq(port_state(a.context), IBV_PORT_ACTIVE);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_uint_eq(fired("port_down"), 1);
	fault("clear");
	ends_close(&a, &b);
	ck_assert_int_eq(ibv_close_device(other), 0);
}
END_TEST

START_TEST(port_for_too_long)
{
	const struct end_cfg cfg = { .timeout = 8 };
	struct end a, b;

	ends_open(&a, &b, &cfg);
	fault("add port_down");
	expect_event(a.context, IBV_EVENT_PORT_ERR);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_RETRY_EXC_ERR);
	fault("clear");
	expect_event(a.context, IBV_EVENT_PORT_ACTIVE);
	ends_close(&a, &b);
	ends_open(&a, &b, &cfg);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ends_close(&a, &b);
}
END_TEST

/* The GID table. */

static int to_rtr_by(struct end *end, uint32_t dest_qpn, const union ibv_gid *dgid, uint8_t index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = *dgid, .sgid_index = index, .hop_limit = 64 } },
	};

	return ibv_modify_qp(end->qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

START_TEST(gid_moves)
{
	static const union ibv_gid empty;
	union ibv_gid own, at_0, at_3;
	struct end a, b, c;

	ends_open(&a, &b, NULL);
	ck_assert_int_eq(ibv_query_gid(a.context, 1, 0, &own), 0);
	fault("add gid_change to=3");
	expect_event(a.context, IBV_EVENT_GID_CHANGE);
	ck_assert_int_eq(ibv_query_gid(a.context, 1, 0, &at_0), 0);
	ck_assert_int_eq(ibv_query_gid(a.context, 1, 3, &at_3), 0);
	ck_assert_mem_eq(&at_0, &empty, sizeof(empty));
	ck_assert_mem_eq(&at_3, &own, sizeof(own));
	/* Who is connected stays so; who connects now uses the new index. */
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	end_open(&c, a.context, NULL);
	ck_assert_int_eq(to_rtr_by(&c, a.qp->qp_num, &own, 0), EINVAL);
	ck_assert_int_eq(to_rtr_by(&c, a.qp->qp_num, &own, 3), 0);
	fault("clear");
	expect_event(a.context, IBV_EVENT_GID_CHANGE);
	ck_assert_int_eq(ibv_query_gid(a.context, 1, 0, &at_0), 0);
	ck_assert_mem_eq(&at_0, &own, sizeof(own));
	end_close(&c);
	ends_close(&a, &b);
}
END_TEST

START_TEST(gid_goes)
{
	const struct end_cfg cfg = { .timeout = 8 };
	static const uint8_t other[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 };
	union ibv_gid at_0;
	struct end a, b;

	ends_open(&a, &b, &cfg);
	fault("add gid_change index=0 gid=192.0.2.1");
	expect_event(a.context, IBV_EVENT_GID_CHANGE);
	ck_assert_int_eq(ibv_query_gid(a.context, 1, 0, &at_0), 0);
	ck_assert_mem_eq(at_0.raw, other, sizeof(other));
	/* The address that they use has no owner any more. */
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_RETRY_EXC_ERR);
	fault("clear");
	expect_event(a.context, IBV_EVENT_GID_CHANGE);
	ends_close(&a, &b);
}
END_TEST

/* The device. */

START_TEST(device_dies)
{
	struct ibv_context *other = fixture_open(), *fresh;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_port_attr port;
	struct end a, b;

	ends_open(&a, &b, NULL);
	end_recv(&b, 7, 0, 64);
	fault("add device_fatal");
	expect_event(a.context, IBV_EVENT_DEVICE_FATAL);
	expect_event(other, IBV_EVENT_DEVICE_FATAL);
	end_wait_for(&b, 7, IBV_WC_WR_FLUSH_ERR);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(ibv_query_port(a.context, 1, &port), EIO);
	ck_assert_ptr_null(ibv_alloc_pd(a.context));
	ck_assert_int_eq(errno, EIO);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EIO);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), EIO);
	ck_assert_ptr_null(ibv_open_device(a.context->device));
	ck_assert_int_eq(errno, EIO);
	ck_assert_uint_eq(fired("device_fatal"), 1);
	fault("clear");
	/* It is back for contexts that are opened now, and for no other. */
	ck_assert_ptr_null(ibv_alloc_pd(other));
	ck_assert_int_eq(errno, EIO);
	fresh = ibv_open_device(a.context->device);
	ck_assert_ptr_nonnull(fresh);
	ck_assert_int_eq(ibv_close_device(other), 0);
	ck_assert_int_eq(ibv_close_device(a.context), 0);
	ends_open(&a, &b, NULL);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ends_close(&a, &b);
	ck_assert_int_eq(ibv_close_device(fresh), 0);
}
END_TEST

/* rdma-core's own way out for programs that want to give their memory back (ibv_open_device(3)). */
START_TEST(device_dies_and_objects_go)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	fault("add device_fatal");
	expect_event(a.context, IBV_EVENT_DEVICE_FATAL);
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	ends_close(&a, &b);
	unsetenv("RDMAV_ALLOW_DISASSOC_DESTROY");
	fault("clear");
}
END_TEST

/* A READ request is delayed, sent again and answered, and its region deregistered. Then it arrives:
 * a duplicate that cannot be answered, which costs the queue pair nothing. A datagram that is
 * delayed for longer reports when that has been. */
START_TEST(duplicate_read_of_an_unmapped_region)
{
	const struct end_cfg datagrams = { .type = IBV_QPT_UD };
	struct end a, b, c, d;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_mr *mr;

	ends_open(&a, &b, NULL);
	ends_open(&c, &d, &datagrams);
	mr = ibv_reg_mr(b.pd, b.memory, 4096, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(mr);
	wr = end_wr(&a, &sge, IBV_WR_RDMA_READ, 1, 0, 64);
	wr.wr.rdma.rkey = mr->rkey;
	fault("add delay opcode=RC_READ_REQUEST dir=in nth=1 time=100ms");
	fault("add delay opcode=UD_SEND_ONLY dir=in nth=1 time=200ms");
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	end_recv(&d, 2, 0, 128);
	end_post(&c, IBV_WR_SEND, 3, 256, 64);
	end_wait_for(&c, 3, IBV_WC_SUCCESS);
	end_wait_for(&d, 2, IBV_WC_SUCCESS);
	ck_assert_uint_eq(fired("RC_READ_REQUEST"), 1);
	ck_assert_int_eq(end_state(&b), IBV_QPS_RTS);
	end_post(&a, IBV_WR_RDMA_WRITE, 4, 0, 64);
	end_wait_for(&a, 4, IBV_WC_SUCCESS);
	fault("clear");
	ends_close(&c, &d);
	ends_close(&a, &b);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, completion_by_number);
	tcase_add_test(tests, completion_of_each_status);
	tcase_add_test(tests, completion_of_a_receive);
	tcase_add_test(tests, completion_of_a_datagram);
	tcase_add_test(tests, duplicate_read_of_an_unmapped_region);
	tcase_add_test(tests, port_for_a_while);
	tcase_add_test(tests, port_for_too_long);
	tcase_add_test(tests, gid_moves);
	tcase_add_test(tests, gid_goes);
	tcase_add_test(tests, device_dies);
	tcase_add_test(tests, device_dies_and_objects_go);
}

int main(void)
{
	return fixture_main("faults", add_tests);
}
