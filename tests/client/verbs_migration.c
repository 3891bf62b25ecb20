/* SPDX-License-Identifier: MIT */
/* Automatic path migration by the public verbs. Both paths of the test lead to the same address;
 * another flow label takes another sending port. A rule that drops packets until the event comes
 * stands for the loss of the primary path. */
#include <errno.h>
#include <string.h>

#include "fixture.h"
#include "rules.h"

#define LABEL	5u
#define PRIMARY 15 /* timeout: 134 ms, 1 s in all */
#define TIMEOUT 18 /* of the alternate path: 1 s, and 8 s in all */
#define SHORT	10 /* 4 ms */

static struct end a, b;

static struct ibv_qp_attr query(const struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ck_assert_int_eq(
		ibv_query_qp(end->qp, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE, &init), 0);
	return attr;
}

static struct ibv_qp_attr alternate(const struct end *end)
{
	return (struct ibv_qp_attr){
		.path_mig_state = IBV_MIG_REARM,
		.alt_ah_attr = { .is_global = 1,
				 .port_num = 1,
				 .grh = { .dgid = end->peer.gid,
					  .flow_label = LABEL,
					  .hop_limit = 9,
					  .traffic_class = 32 } },
		.alt_port_num = 1,
		.alt_timeout = TIMEOUT,
	};
}

static void rearm(struct end *end, uint8_t timeout)
{
	struct ibv_qp_attr attr = alternate(end);

	attr.alt_timeout = timeout;
	ck_assert_int_eq(ibv_modify_qp(end->qp, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE), 0);
	ck_assert_int_eq(query(end).path_mig_state, IBV_MIG_REARM);
}

static int migrate(struct end *end)
{
	struct ibv_qp_attr attr = { .path_mig_state = IBV_MIG_MIGRATED };

	return ibv_modify_qp(end->qp, &attr, IBV_QP_PATH_MIG_STATE);
}

static void send(struct end *from, struct end *to, uint64_t wr_id)
{
	end_recv(to, wr_id, 0, 64);
	end_post(from, IBV_WR_SEND, wr_id, 64, 64);
	end_wait_for(from, wr_id, IBV_WC_SUCCESS);
	end_wait_for(to, wr_id, IBV_WC_SUCCESS);
}

static void open_armed(enum ibv_qp_type type, uint8_t alt_timeout)
{
	const struct end_cfg cfg = { .type = type, .timeout = PRIMARY };

	ends_open(&a, &b, &cfg);
	rearm(&a, alt_timeout);
	rearm(&b, alt_timeout);
	send(&a, &b, 1);
	send(&b, &a, 1);
}

static void expect_migrated(const struct end *end)
{
	struct ibv_qp_attr attr = query(end);

	ck_assert_int_eq(attr.path_mig_state, IBV_MIG_MIGRATED);
	ck_assert_uint_eq(attr.ah_attr.grh.flow_label, LABEL);
	ck_assert_uint_eq(attr.ah_attr.grh.traffic_class, 32);
	ck_assert_uint_eq(attr.ah_attr.grh.hop_limit, 9);
	ck_assert_uint_eq(attr.timeout, TIMEOUT);
	ck_assert_mem_eq(&attr.ah_attr, &attr.alt_ah_attr, sizeof(attr.ah_attr));
}

START_TEST(reported)
{
	struct ibv_context *context = fixture_open();
	struct ibv_device_attr attr;

	ck_assert_int_eq(ibv_query_device(context, &attr), 0);
	ck_assert(attr.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

START_TEST(states)
{
	struct ibv_qp_attr attr;

	ends_open(&a, &b, NULL);
	ck_assert_int_eq(query(&a).path_mig_state, IBV_MIG_MIGRATED);
	ck_assert_int_eq(query(&a).alt_port_num, 0);
	rearm(&a, TIMEOUT);
	attr = query(&a);
	ck_assert_uint_eq(attr.alt_ah_attr.grh.flow_label, LABEL);
	ck_assert_uint_eq(attr.alt_timeout, TIMEOUT);
	ck_assert_uint_eq(attr.alt_port_num, 1);
	ck_assert_uint_eq(attr.ah_attr.grh.flow_label, 0);
	rearm(&b, TIMEOUT);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_int_eq(query(&a).path_mig_state, IBV_MIG_ARMED);
	ck_assert_int_eq(query(&b).path_mig_state, IBV_MIG_ARMED);
	ends_close(&a, &b);
}
END_TEST

static void refuse(struct end *end, const struct ibv_qp_attr *wrong, int mask)
{
	struct ibv_qp_attr attr = *wrong;

	errno = 0;
	ck_assert_int_eq(ibv_modify_qp(end->qp, &attr, mask), EINVAL);
	ck_assert_int_eq(errno, EINVAL);
}

START_TEST(refused)
{
	struct ibv_qp_attr attr;

	ends_open(&a, &b, NULL);
	attr = alternate(&a);
	refuse(&a, &attr, IBV_QP_PATH_MIG_STATE); /* no path to migrate to */
	attr.path_mig_state = IBV_MIG_ARMED;
	refuse(&a, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
	attr.path_mig_state = IBV_MIG_MIGRATED;
	refuse(&a, &attr, IBV_QP_PATH_MIG_STATE); /* it is not armed */
	attr = alternate(&a);
	attr.alt_port_num = 2;
	refuse(&a, &attr, IBV_QP_ALT_PATH);
	attr = alternate(&a);
	attr.alt_pkey_index = 1;
	refuse(&a, &attr, IBV_QP_ALT_PATH);
	attr = alternate(&a);
	attr.alt_timeout = 32;
	refuse(&a, &attr, IBV_QP_ALT_PATH);
	attr = alternate(&a);
	attr.alt_ah_attr.is_global = 0;
	refuse(&a, &attr, IBV_QP_ALT_PATH);
	attr = alternate(&a);
	attr.alt_ah_attr.grh.sgid_index = 1;
	refuse(&a, &attr, IBV_QP_ALT_PATH);
	ck_assert_int_eq(query(&a).path_mig_state, IBV_MIG_MIGRATED);
	ck_assert_int_eq(query(&a).alt_port_num, 0);
	ends_close(&a, &b);
}
END_TEST

/* What the program asks for; the peer follows with the next packet. */
START_TEST(asked_for)
{
	open_armed(_i ? IBV_QPT_UC : IBV_QPT_RC, TIMEOUT);
	ck_assert_int_eq(migrate(&a), 0);
	expect_migrated(&a);
	expect_event(a.context, IBV_EVENT_PATH_MIG);
	send(&a, &b, 2);
	expect_event(b.context, IBV_EVENT_PATH_MIG);
	expect_migrated(&b);
	ck_assert_int_eq(migrate(&a), EINVAL);
	ends_close(&a, &b);
}
END_TEST

START_TEST(primary_path_is_lost)
{
	open_armed(IBV_QPT_RC, TIMEOUT);
	fault("add drop dir=out opcode=RC_SEND_ONLY");
	end_recv(&b, 2, 0, 64);
	end_post(&a, IBV_WR_SEND, 2, 64, 64);
	expect_event(a.context, IBV_EVENT_PATH_MIG);
	ck_assert_uint_gt(fired("drop"), 7);
	fault("clear");
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	end_wait_for(&b, 2, IBV_WC_SUCCESS);
	expect_event(b.context, IBV_EVENT_PATH_MIG);
	expect_migrated(&a);
	expect_migrated(&b);
	/* Armed again, by the same path. */
	rearm(&a, TIMEOUT);
	rearm(&b, TIMEOUT);
	end_post(&a, IBV_WR_RDMA_WRITE, 3, 0, 64);
	end_wait_for(&a, 3, IBV_WC_SUCCESS);
	ck_assert_int_eq(query(&a).path_mig_state, IBV_MIG_ARMED);
	ends_close(&a, &b);
}
END_TEST

START_TEST(both_paths_are_lost)
{
	open_armed(IBV_QPT_RC, SHORT);
	fault("add drop dir=out opcode=RC_SEND_ONLY");
	end_post(&a, IBV_WR_SEND, 2, 64, 64);
	end_wait_for(&a, 2, IBV_WC_RETRY_EXC_ERR);
	ck_assert_uint_gt(fired("drop"), 15);
	expect_event(a.context, IBV_EVENT_PATH_MIG);
	fault("clear");
	ends_close(&a, &b);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, reported);
	tcase_add_test(tests, states);
	tcase_add_test(tests, refused);
	tcase_add_loop_test(tests, asked_for, 0, 2);
	tcase_add_test(tests, primary_path_is_lost);
	tcase_add_test(tests, both_paths_are_lost);
}

int main(void)
{
	return fixture_main("verbs_migration", add);
}
