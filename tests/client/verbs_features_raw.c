// SPDX-License-Identifier: MIT
/* The part of verbs_features about raw packets. */
#include "emu/supported.h"
#include "feature_table.h"
#include "fixture.h"
#include "verbs_features.h"

static void flows(struct end *end)
{
	struct ibv_qp_init_attr init = { .send_cq = end->cq,
					 .recv_cq = end->cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_flow_attr all = { .type = IBV_FLOW_ATTR_ALL_DEFAULT,
				     .size = sizeof(all),
				     .port = 1 };
	struct ibv_flow *flow;
	struct ibv_qp *qp;

	GOOD(ibv_create_qp, (qp = ibv_create_qp(end->pd, &init)));
	GOOD(ibv_create_flow, (flow = ibv_create_flow(qp, &all)));
	GOOD(ibv_destroy_flow, ibv_destroy_flow(flow) == 0);
	all.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	NOT_THERE(ibv_create_flow, !ibv_create_flow(qp, &all));
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
}

static void work_queues(struct end *end)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = end->pd, .cq = end->cq
	};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_rwq_ind_table_init_attr one = { .log_ind_tbl_size = 0 };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_rwq_ind_table *table;
	struct ibv_wq *wq;

	GOOD(ibv_create_wq, (wq = ibv_create_wq(end->context, &init)));
	GOOD(ibv_modify_wq, ibv_modify_wq(wq, &ready) == 0);
	GOOD(ibv_post_wq_recv, ibv_post_wq_recv(wq, &wr, &bad) == 0);
	one.ind_tbl = &wq;
	GOOD(ibv_create_rwq_ind_table, (table = ibv_create_rwq_ind_table(end->context, &one)));
	GOOD(ibv_destroy_rwq_ind_table, ibv_destroy_rwq_ind_table(table) == 0);
	GOOD(ibv_destroy_wq, ibv_destroy_wq(wq) == 0);
	init.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	init.create_flags = IBV_WQ_FLAGS_DELAY_DROP;
	NOT_THERE(ibv_create_wq, !ibv_create_wq(end->context, &init));
}

static void counters_of_flows(struct end *end)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr packets = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counters *counters;
	uint64_t value;

	GOOD(ibv_create_counters, (counters = ibv_create_counters(end->context, &init)));
	GOOD(ibv_attach_counters_point_flow,
	     ibv_attach_counters_point_flow(counters, &packets, NULL) == 0);
	GOOD(ibv_read_counters, ibv_read_counters(counters, &value, 1, 0) == 0 && value == 0);
	GOOD(ibv_destroy_counters, ibv_destroy_counters(counters) == 0);
}

/* Inline functions ask the context of an object that cannot have been made. */
static void actions(struct end *end)
{
	struct ibv_flow_action_esp_attr esp = { 0 };
	struct ibv_flow_action action = { .context = end->context };

	NOT_THERE(ibv_create_flow_action_esp, !ibv_create_flow_action_esp(end->context, &esp));
	NOT_THERE(ibv_modify_flow_action_esp, ibv_modify_flow_action_esp(&action, &esp));
	NOT_THERE(ibv_destroy_flow_action, ibv_destroy_flow_action(&action));
}

/* A build without raw packets makes none of the objects. What takes an object gets one that only
 * names its context; ibv_post_wq_recv() has no work queue to ask. Inline functions return the error
 * and leave errno. */
static void left_out(struct end *end)
{
	struct ibv_flow_attr all = { .type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof(all) };
	struct ibv_qp_init_attr raw = { .send_cq = end->cq,
					.recv_cq = end->cq,
					.cap = { 1, 1, 1, 1, 0 },
					.qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_wq_init_attr of_queue = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = end->pd, .cq = end->cq
	};
	struct ibv_rwq_ind_table_init_attr of_table = { .log_ind_tbl_size = 0 };
	struct ibv_rwq_ind_table table = { .context = end->context };
	struct ibv_counter_attach_attr packets = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counters counters = { .context = end->context };
	struct ibv_counters_init_attr of_counters = { 0 };
	struct ibv_flow flow = { .context = end->context };
	struct ibv_wq wq = { .context = end->context };
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	uint64_t value;

	NOT_THERE(ibv_create_qp, !ibv_create_qp(end->pd, &raw));
	NOT_THERE(ibv_create_flow, !ibv_create_flow(end->qp, &all));
	NOT_THERE(ibv_destroy_flow, (errno = ibv_destroy_flow(&flow)));
	NOT_THERE(ibv_create_wq, !ibv_create_wq(end->context, &of_queue));
	NOT_THERE(ibv_modify_wq, (errno = ibv_modify_wq(&wq, &ready)));
	NOT_THERE(ibv_destroy_wq, (errno = ibv_destroy_wq(&wq)));
	NOT_THERE(ibv_post_wq_recv, !ibv_create_wq(end->context, &of_queue));
	NOT_THERE(ibv_create_rwq_ind_table, !ibv_create_rwq_ind_table(end->context, &of_table));
	NOT_THERE(ibv_destroy_rwq_ind_table, (errno = ibv_destroy_rwq_ind_table(&table)));
	NOT_THERE(ibv_create_counters, !ibv_create_counters(end->context, &of_counters));
	NOT_THERE(ibv_attach_counters_point_flow,
		  (errno = ibv_attach_counters_point_flow(&counters, &packets, NULL)));
	NOT_THERE(ibv_read_counters, (errno = ibv_read_counters(&counters, &value, 1, 0)));
	NOT_THERE(ibv_destroy_counters, (errno = ibv_destroy_counters(&counters)));
}

void features_raw(struct end *end)
{
	if (RXE_RAW_SUPPORTED) {
		flows(end);
		work_queues(end);
		counters_of_flows(end);
	} else {
		left_out(end);
	}
	actions(end);
}
