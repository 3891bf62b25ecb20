// SPDX-License-Identifier: MIT
/* Deregisters memory before another process, which writes to it, has said that it has finished. */
#include "apart.h"
#include "mistakes.h"

STACKED static void writes(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	side_post(side, &wr);
}

static void child(struct apart *end, bool right)
{
	(void)right;
	apart_hear(end);
	writes(&end->side);
	side_send(&end->side, 2, 0, 0);
	apart_tell(end);
	apart_hear(end);
	side_modify(&end->side, IBV_QPS_ERR);
}

STACKED static void deregisters(struct side *side)
{
	must(ibv_dereg_mr(side->mr) == 0, "deregister memory");
	side->mr = NULL;
}

void mem_deregistered_apart(bool right)
{
	struct ibv_recv_wr wr = { .wr_id = 3 }, *bad;
	struct apart end;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	must(ibv_post_recv(end.side.qp, &wr, &bad) == 0, "post a receive");
	apart_tell(&end);
	apart_hear(&end);
	/* The message arrives after what was written. */
	if (right)
		side_wait(&end.side);
	deregisters(&end.side);
	side_modify(&end.side, IBV_QPS_ERR);
	apart_tell(&end);
	apart_close(&end, 1);
}
