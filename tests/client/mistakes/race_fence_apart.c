// SPDX-License-Identifier: MIT
/* Reads memory of another process and writes to it at once, without the fence. */
#include "apart.h"
#include "mistakes.h"

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

static void child(struct apart *end, bool right)
{
	reads(&end->side);
	writes(&end->side, right);
	side_wait(&end->side);
	side_wait(&end->side);
}

void race_fence_apart(bool right)
{
	struct apart end;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	apart_close(&end, 1);
}
