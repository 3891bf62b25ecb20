// SPDX-License-Identifier: MIT
/* Reads memory of the peer and writes to it at once, without the fence. */
#include "mistakes.h"
#include "pair.h"

STACKED static void reads(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_READ, 1);

	side_post(side, &wr);
}

STACKED static void writes(struct side *side, bool fenced)
{
	struct ibv_sge sge = side_sge(side, 128, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 2);

	wr.wr.rdma.remote_addr -= 128;
	if (fenced)
		wr.send_flags |= IBV_SEND_FENCE;
	side_post(side, &wr);
}

void race_fence(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	reads(&a);
	writes(&a, right);
	side_wait(&a);
	side_wait(&a);
	pair_close(&a, &b);
}
