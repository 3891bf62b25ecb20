// SPDX-License-Identifier: MIT
/* Lists of requests: an entry for each, up to the first that is refused. */
#include <endian.h>
#include <stdbool.h>

#include "lib/record/below.h"
#include "lib/record/ring.h"

static uint64_t bytes_of(const struct ibv_sge *list, int n)
{
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += list[i].length;
	return bytes;
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV;
}

static bool is_rdma(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == IBV_WR_RDMA_READ;
}

/* The opcode and the type of the queue pair say which member of the union is valid. */
static void add_send(const struct ibv_qp *qp, const struct ibv_send_wr *wr, uint64_t began, int err)
{
	const bool atomic = is_atomic(wr->opcode), rdma = is_rdma(wr->opcode);
	const bool ud = qp->qp_type == IBV_QPT_UD;
	uint64_t addr = 0, rkey = 0;

	if (atomic) {
		addr = wr->wr.atomic.remote_addr;
		rkey = wr->wr.atomic.rkey;
	} else if (rdma) {
		addr = wr->wr.rdma.remote_addr;
		rkey = wr->wr.rdma.rkey;
	}
	RECORD(RECORD_POST_SEND, began, err, qp->qp_num, wr->wr_id, wr->opcode, wr->send_flags,
	       (uint64_t)wr->num_sge, bytes_of(wr->sg_list, wr->num_sge), addr, rkey,
	       has_imm(wr->opcode) ? be32toh(wr->imm_data) : 0,
	       atomic ? wr->wr.atomic.compare_add : 0, atomic ? wr->wr.atomic.swap : 0,
	       ud ? wr->wr.ud.remote_qpn : 0);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	const uint64_t began = record_now();
	const int rc = BELOW_OPS->post_send(qp, wr, bad_wr);
	const struct ibv_send_wr *bad = rc ? *bad_wr : NULL;

	for (; wr; wr = wr->next) {
		add_send(qp, wr, began, wr == bad ? record_error(rc) : 0);
		if (wr == bad)
			break;
	}
	return rc;
}

static void add_recvs(enum record_verb verb, uint64_t number, const struct ibv_recv_wr *wr,
		      const struct ibv_recv_wr *bad, uint64_t began, int err)
{
	for (; wr; wr = wr->next) {
		RECORD(verb, began, wr == bad ? err : 0, number, wr->wr_id, (uint64_t)wr->num_sge,
		       bytes_of(wr->sg_list, wr->num_sge));
		if (wr == bad)
			break;
	}
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	const uint64_t began = record_now();
	const int rc = BELOW_OPS->post_recv(qp, wr, bad_wr);

	add_recvs(RECORD_POST_RECV, qp->qp_num, wr, rc ? *bad_wr : NULL, began, record_error(rc));
	return rc;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	const uint64_t began = record_now();
	const int rc = BELOW_OPS->post_srq_recv(srq, wr, bad_wr);

	add_recvs(RECORD_POST_SRQ_RECV, srq->handle, wr, rc ? *bad_wr : NULL, began,
		  record_error(rc));
	return rc;
}

void record_post_ops(struct verbs_context_65 *verbs)
{
	struct ibv_context_ops *ops = &verbs->base.context.ops;

	ops->post_send = post_send;
	ops->post_recv = post_recv;
	ops->post_srq_recv = post_srq_recv;
}
