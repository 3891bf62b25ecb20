// SPDX-License-Identifier: MIT
/* One operation between two ends, whatever comes of it. */
#include "attempt.h"

const struct operation operations[OPERATIONS] = {
	{ IBV_WR_SEND, false, true },
	{ IBV_WR_RDMA_WRITE, false, false },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, false, false },
	{ IBV_WR_RDMA_READ, true, false },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, true, false },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, true, false },
};

bool attempt_writes(const struct operation *op, bool local)
{
	return local ? op->writes_local : op->opcode != IBV_WR_RDMA_READ;
}

enum ibv_wc_status attempt_refusal(const struct operation *op, bool local)
{
	if (local)
		return IBV_WC_LOC_PROT_ERR;
	return op->receives ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR;
}

/* Without memory where the operation only consumes it, or does not at all. */
static void post_receive(struct end *b, const struct operation *op, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = op->receives }, *bad;

	if (b->cfg.type == IBV_QPT_UD)
		sge.length += 40; /* a GRH */
	if (b->srq)
		ck_assert_int_eq(ibv_post_srq_recv(b->srq, &wr, &bad), 0);
	else
		ck_assert_int_eq(ibv_post_recv(b->qp, &wr, &bad), 0);
}

enum ibv_wc_status attempt_status(struct end *a, struct end *b, const struct operation *op,
				  uint32_t key, uint64_t addr, bool local)
{
	const struct ibv_sge named = { addr, 8, key };
	const struct ibv_sge own = { (uintptr_t)b->memory, 8, b->mr->lkey };
	struct ibv_sge sge;
	struct ibv_send_wr wr = end_wr(a, &sge, op->opcode, 1, 0, 8), *bad;

	post_receive(b, op, local ? own : named);
	if (local) {
		sge = named;
	} else if (op->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = key;
	} else if (!op->receives) {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = key;
	}
	ck_assert_int_eq(ibv_post_send(a->qp, &wr, &bad), 0);
	return end_wait(a).status;
}

void attempt_expect(struct end *a, struct end *b, const struct operation *op, uint32_t key,
		    uint64_t addr, bool local, enum ibv_wc_status status)
{
	enum ibv_wc_status found = attempt_status(a, b, op, key, addr, local);

	ck_assert_msg(found == status, "operation %d, %s: %s, expected %s", op->opcode,
		      local ? "local" : "remote", ibv_wc_status_str(found),
		      ibv_wc_status_str(status));
	if (op->receives && !local)
		end_wait_for(b, 2, status ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS);
}
