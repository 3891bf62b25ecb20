// SPDX-License-Identifier: MIT
/* Two connected queue pairs. */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QKEY 0x11111111u

void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "the program cannot %s: %s\n", what, strerror(errno));
	exit(99);
}

struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	must(list && list[0], "find a device");
	context = ibv_open_device(list[0]);
	must(context != NULL, "open the device");
	ibv_free_device_list(list);
	return context;
}

static struct ibv_qp *make_qp(struct side *side)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = side->cq,
		.recv_cq = side->recv_cq ? side->recv_cq : side->cq,
		.srq = side->srq,
		.cap = { .max_send_wr = side->cfg.wrs,
			 .max_recv_wr = side->cfg.wrs,
			 .max_send_sge = 4,
			 .max_recv_sge = 4,
			 .max_inline_data = side->cfg.inline_data },
		.qp_type = side->cfg.type ? side->cfg.type : IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = side->pd,
	};

	if (side->cfg.send_ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = side->cfg.send_ops;
	}
	return ibv_create_qp_ex(side->context, &attr);
}

static struct ibv_cq *make_cq(struct side *side)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = (uint32_t)side->cfg.cqe,
					    .channel = side->channel,
					    .wc_flags = side->cfg.wc_flags };

	if (!side->cfg.wc_flags)
		return ibv_create_cq(side->context, side->cfg.cqe, side, side->channel, 0);
	side->cq_ex = ibv_create_cq_ex(side->context, &attr);
	return side->cq_ex ? ibv_cq_ex_to_cq(side->cq_ex) : NULL;
}

static bool is_ud(const struct side *side)
{
	return side->cfg.type == IBV_QPT_UD;
}

static bool is_uc(const struct side *side)
{
	return side->cfg.type == IBV_QPT_UC;
}

static int to_init(struct side *side)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = QKEY,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };

	return ibv_modify_qp(side->qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     (is_ud(side) ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

void side_open(struct side *side, struct ibv_context *context, const struct side_cfg *cfg)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	memset(side, 0, sizeof(*side));
	if (cfg)
		side->cfg = *cfg;
	side->cfg.wrs = side->cfg.wrs ? side->cfg.wrs : 16;
	side->cfg.cqe = side->cfg.cqe ? side->cfg.cqe : 64;
	side->context = context ? context : open_first();
	side->pd = side->cfg.pd ? side->cfg.pd : ibv_alloc_pd(side->context);
	must(side->pd != NULL, "allocate a PD");
	if (side->cfg.channel)
		side->channel = ibv_create_comp_channel(side->context);
	side->cq = make_cq(side);
	must(side->cq != NULL, "create a CQ");
	if (side->cfg.recv_cq)
		side->recv_cq = ibv_create_cq(side->context, side->cfg.cqe, side, NULL, 0);
	side->memory = aligned_alloc(4096, PAIR_MEMORY);
	must(side->memory != NULL, "allocate memory");
	memset(side->memory, 0, PAIR_MEMORY);
	side->mr = ibv_reg_mr(side->pd, side->memory, PAIR_MEMORY, rights);
	must(side->mr != NULL, "register memory");
	if (side->cfg.srq)
		side->srq = ibv_create_srq(
			side->pd, &(struct ibv_srq_init_attr){
					  .attr = { .max_wr = side->cfg.wrs, .max_sge = 4 } });
	side->qp = make_qp(side);
	must(side->qp != NULL, "create a QP");
	must(to_init(side) == 0, "bring a QP to INIT");
}

void side_close(struct side *side)
{
	if (side->ah)
		must(ibv_destroy_ah(side->ah) == 0, "destroy an AH");
	if (side->qp)
		must(ibv_destroy_qp(side->qp) == 0, "destroy a QP");
	if (side->srq)
		must(ibv_destroy_srq(side->srq) == 0, "destroy an SRQ");
	if (side->cq)
		must(ibv_destroy_cq(side->cq) == 0, "destroy a CQ");
	if (side->recv_cq)
		must(ibv_destroy_cq(side->recv_cq) == 0, "destroy a CQ");
	if (side->channel)
		must(ibv_destroy_comp_channel(side->channel) == 0, "destroy a channel");
	if (side->mr)
		must(ibv_dereg_mr(side->mr) == 0, "deregister memory");
	if (side->pd && !side->cfg.pd)
		must(ibv_dealloc_pd(side->pd) == 0, "deallocate a PD");
	free(side->memory);
}

static struct ibv_ah_attr way_to(const struct side *other)
{
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };

	must(ibv_query_gid(other->context, 1, 0, &way.grh.dgid) == 0, "query a GID");
	return way;
}

static int to_rtr(struct side *side)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = side->cfg.mtu ? side->cfg.mtu : IBV_MTU_1024,
				    .dest_qp_num = side->other->qp->qp_num,
				    .rq_psn = side->cfg.rq_psn,
				    .max_dest_rd_atomic = 4,
				    .min_rnr_timer = 12,
				    .ah_attr = way_to(side->other) };

	int mask = IBV_QP_STATE;

	attr.ah_attr.grh.dgid.raw[15] ^= side->cfg.elsewhere;
	if (!is_ud(side))
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (!is_ud(side) && !is_uc(side))
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(side->qp, &attr, mask);
}

static int to_rts(struct side *side)
{
	const bool given = side->cfg.timeout || side->cfg.retry_cnt || side->cfg.rnr_retry;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = given ? side->cfg.timeout : 14,
				    .retry_cnt = given ? side->cfg.retry_cnt : 7,
				    .rnr_retry = given ? side->cfg.rnr_retry : 6,
				    .sq_psn = side->cfg.sq_psn,
				    .max_rd_atomic = side->cfg.reads ? side->cfg.reads : 4 };

	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (!is_ud(side) && !is_uc(side))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(side->qp, &attr, mask);
}

void side_connect(struct side *side, struct side *other)
{
	struct ibv_ah_attr way;

	side->other = other;
	must(to_rtr(side) == 0, "bring a QP to RTR");
	must(to_rts(side) == 0, "bring a QP to RTS");
	if (!is_ud(side))
		return;
	way = way_to(other);
	side->ah = ibv_create_ah(side->pd, &way);
	must(side->ah != NULL, "create an AH");
}

void pair_open(struct side *a, struct side *b, const struct side_cfg *cfg)
{
	side_open(a, NULL, cfg);
	side_open(b, a->context, cfg);
	side_connect(a, b);
	side_connect(b, a);
}

void pair_close(struct side *a, struct side *b)
{
	struct ibv_context *context = a->context;

	side_close(b);
	side_close(a);
	must(ibv_close_device(context) == 0, "close the device");
}

struct ibv_sge side_sge(const struct side *side, size_t at, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)side->memory + at, len, side->mr->lkey };
}

struct ibv_send_wr side_wr(const struct side *side, struct ibv_sge *sge, enum ibv_wr_opcode opcode,
			   uint64_t wr_id)
{
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED };
	const uint64_t there =
		(uintptr_t)side->other->memory + (sge->addr - (uintptr_t)side->memory);

	if (is_ud(side)) {
		wr.wr.ud.ah = side->ah;
		wr.wr.ud.remote_qpn = side->other->qp->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = there;
		wr.wr.atomic.rkey = side->other->mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = there;
		wr.wr.rdma.rkey = side->other->mr->rkey;
	}
	return wr;
}

void side_post(struct side *side, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	must(ibv_post_send(side->qp, wr, &bad) == 0, "post a send");
}

void side_send(struct side *side, uint64_t wr_id, size_t at, uint32_t len)
{
	struct ibv_sge sge = side_sge(side, at, len);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_SEND, wr_id);

	side_post(side, &wr);
}

void side_recv(struct side *side, uint64_t wr_id, size_t at, uint32_t len)
{
	struct ibv_sge sge = side_sge(side, at, len);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (side->srq)
		must(ibv_post_srq_recv(side->srq, &wr, &bad) == 0, "post a receive");
	else
		must(ibv_post_recv(side->qp, &wr, &bad) == 0, "post a receive");
}

struct ibv_wc side_wait_for(struct ibv_cq *cq)
{
	struct ibv_wc wc = { 0 };
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	must(n == 1, "poll a CQ");
	return wc;
}

struct ibv_wc side_wait(struct side *side)
{
	return side_wait_for(side->cq);
}

void side_start_poll(struct side *side)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int err;

	while ((err = ibv_start_poll(side->cq_ex, &attr)) == ENOENT)
		;
	must(err == 0, "poll a CQ");
}

void side_modify(struct side *side, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	must(ibv_modify_qp(side->qp, &attr, IBV_QP_STATE) == 0, "change the state of a QP");
}
