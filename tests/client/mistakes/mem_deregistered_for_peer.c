// SPDX-License-Identifier: MIT
/* Deregisters memory before the peer, which writes to it, has said that it has finished. */
#include "mistakes.h"
#include "pair.h"

STACKED static void writes(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	wr.send_flags = 0;
	side_post(side, &wr);
}

STACKED static void deregisters(struct side *side)
{
	must(ibv_dereg_mr(side->mr) == 0, "deregister memory");
	side->mr = NULL;
}

void mem_deregistered_for_peer(bool right)
{
	struct ibv_recv_wr wr = { .wr_id = 2 }, *bad;
	struct side a, b;

	pair_open(&a, &b, NULL);
	must(ibv_post_recv(b.qp, &wr, &bad) == 0, "post a receive");
	writes(&a);
	side_send(&a, 3, 0, 0);
	/* The message arrives after what was written. */
	if (right)
		side_wait(&b);
	deregisters(&b);
	side_modify(&a, IBV_QPS_ERR);
	pair_close(&a, &b);
}
