// SPDX-License-Identifier: MIT
/* The fixture of tests of raw packets. */
#include "raw_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void raw_open_parts(struct raw_end *end, struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex cq = {
		.cqe = 4 * RAW_WRS,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM |
			    IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_CVLAN,
	};

	end->context = context;
	end->pd = ibv_alloc_pd(context);
	end->cq = ibv_create_cq_ex(context, &cq);
	end->memory = calloc(RAW_SLOTS, RAW_SLOT);
	ck_assert(end->pd && end->cq && end->memory);
	end->mr = ibv_reg_mr(end->pd, end->memory, (size_t)RAW_SLOTS * RAW_SLOT,
			     IBV_ACCESS_LOCAL_WRITE);
	ck_assert_ptr_nonnull(end->mr);
	end->qp = NULL;
}

int raw_modify(struct raw_end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return ibv_modify_qp(end->qp, &attr,
			     state == IBV_QPS_INIT ? IBV_QP_STATE | IBV_QP_PORT : IBV_QP_STATE);
}

void raw_to_rts(struct raw_end *end)
{
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		ck_assert_int_eq(raw_modify(end, state), 0);
}

void raw_open(struct raw_end *end, struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap cap = { RAW_WRS, RAW_WRS, 4, 4, 256 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET, .cap = cap };

	raw_open_parts(end, context);
	if (attr) {
		attr->qp_type = IBV_QPT_RAW_PACKET;
		attr->cap = cap;
		attr->send_cq = attr->recv_cq = ibv_cq_ex_to_cq(end->cq);
		attr->pd = end->pd;
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		end->qp = ibv_create_qp_ex(context, attr);
	} else {
		init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(end->cq);
		end->qp = ibv_create_qp(end->pd, &init);
	}
	ck_assert_ptr_nonnull(end->qp);
	raw_to_rts(end);
}

void raw_close(struct raw_end *end)
{
	if (end->qp)
		ck_assert_int_eq(ibv_destroy_qp(end->qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(end->cq)), 0);
	ck_assert_int_eq(ibv_dereg_mr(end->mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(end->pd), 0);
	free(end->memory);
}

static struct ibv_sge slot(const struct raw_end *end, uint64_t at)
{
	ck_assert_uint_lt(at, RAW_SLOTS);
	return (struct ibv_sge){ (uintptr_t)end->memory + at * RAW_SLOT, RAW_SLOT, end->mr->lkey };
}

void raw_post(struct raw_end *end, uint64_t wr_id)
{
	struct ibv_sge sge = slot(end, wr_id);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	ck_assert_int_eq(ibv_post_recv(end->qp, &wr, &bad), 0);
}

void raw_post_wq(struct raw_end *end, struct ibv_wq *wq, uint64_t wr_id)
{
	struct ibv_sge sge = slot(end, wr_id);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	ck_assert_int_eq(ibv_post_wq_recv(wq, &wr, &bad), 0);
}

int raw_try_send(struct raw_end *end, const void *bytes, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = slot(end, RAW_SLOTS - 1);
	struct ibv_send_wr wr = {
		.wr_id = 77,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags,
	};
	struct ibv_send_wr *bad;

	ck_assert_uint_le(len, RAW_SLOT);
	memcpy((void *)(uintptr_t)sge.addr, bytes, len);
	sge.length = len;
	return ibv_post_send(end->qp, &wr, &bad);
}

void raw_send(struct raw_end *end, const struct raw_build *b)
{
	struct raw_wc wc;

	ck_assert_int_eq(raw_try_send(end, b->p, b->len, 0), 0);
	wc = raw_wait(end);
	ck_assert_msg(wc.wr_id == 77 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_SEND,
		      "completion of %llu: %s", (unsigned long long)wc.wr_id,
		      ibv_wc_status_str(wc.status));
}

struct raw_wc raw_wait(struct raw_end *end)
{
	struct ibv_poll_cq_attr none = { 0 };
	struct raw_wc wc;
	int err;

	do {
		err = ibv_start_poll(end->cq, &none);
	} while (err == ENOENT);
	ck_assert_int_eq(err, 0);
	wc = (struct raw_wc){ .wr_id = end->cq->wr_id, .status = end->cq->status };
	wc.opcode = ibv_wc_read_opcode(end->cq);
	wc.byte_len = ibv_wc_read_byte_len(end->cq);
	wc.qp_num = ibv_wc_read_qp_num(end->cq);
	wc.flags = ibv_wc_read_wc_flags(end->cq);
	wc.flow_tag = ibv_wc_read_flow_tag(end->cq);
	wc.cvlan = ibv_wc_read_cvlan(end->cq);
	ibv_end_poll(end->cq);
	return wc;
}

struct raw_wc raw_expect(struct raw_end *end, uint64_t wr_id, const struct raw_build *b)
{
	const struct raw_wc wc = raw_wait(end);
	const uint32_t len = b->len < 60 ? 60 : b->len;

	ck_assert_msg(wc.wr_id == wr_id && wc.status == IBV_WC_SUCCESS,
		      "completion of %llu: %s; expected %llu", (unsigned long long)wc.wr_id,
		      ibv_wc_status_str(wc.status), (unsigned long long)wr_id);
	ck_assert_int_eq(wc.opcode, IBV_WC_RECV);
	ck_assert_uint_eq(wc.byte_len, len);
	ck_assert_mem_eq(end->memory + wr_id * RAW_SLOT, b->p, b->len);
	return wc;
}

struct raw_flow raw_flow(enum ibv_flow_attr_type type)
{
	return (struct raw_flow){
		.attr = { .type = type, .size = sizeof(struct ibv_flow_attr), .port = 1 }
	};
}

void raw_spec(struct raw_flow *flow, const void *spec, uint16_t size)
{
	ck_assert_uint_le(flow->len + size, sizeof(flow->specs));
	memcpy(flow->specs + flow->len, spec, size);
	flow->len += size;
	flow->attr.num_of_specs++;
	flow->attr.size = (uint16_t)(flow->attr.size + size);
}

struct ibv_flow *raw_create(struct raw_end *end, struct raw_flow *flow)
{
	return ibv_create_flow(end->qp, &flow->attr);
}

struct raw_flow raw_port_flow(uint16_t port)
{
	struct raw_flow flow = raw_flow(IBV_FLOW_ATTR_NORMAL);
	struct ibv_flow_spec_tcp_udp udp = {
		.type = IBV_FLOW_SPEC_UDP,
		.size = sizeof(udp),
		.val = { .dst_port = htons(port) },
		.mask = { .dst_port = 0xffff },
	};

	raw_spec(&flow, &udp, sizeof(udp));
	return flow;
}

struct ibv_flow *raw_take_all(struct raw_end *end)
{
	struct raw_flow all = raw_flow(IBV_FLOW_ATTR_ALL_DEFAULT);
	struct ibv_flow *flow = raw_create(end, &all);

	ck_assert_ptr_nonnull(flow);
	return flow;
}
