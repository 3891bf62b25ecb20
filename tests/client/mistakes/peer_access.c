// SPDX-License-Identifier: MIT
/* Reads from a peer whose queue pair allows no RDMA READs. */
#include "mistakes.h"
#include "pair.h"

STACKED static void posts(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_READ, 1);

	side_post(side, &wr);
}

void peer_access(bool right)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct side a, b;

	pair_open(&a, &b, NULL);
	if (right)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
	must(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS) == 0, "change access flags");
	posts(&a);
	side_wait(&a);
	pair_close(&a, &b);
}
