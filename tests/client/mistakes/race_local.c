// SPDX-License-Identifier: MIT
/* Sends from memory to which the peer writes at the same time. */
#include "mistakes.h"
#include "pair.h"

STACKED static void writes(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	side_post(side, &wr);
	side_send(side, 2, 0, 0);
}

STACKED static void sends(struct side *side)
{
	side_send(side, 3, 0, 64);
}

void race_local(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	side_recv(&a, 4, 256, 64);
	side_recv(&b, 5, 256, 64);
	writes(&a);
	/* The message arrives after what was written. */
	if (right)
		side_wait(&b);
	sends(&b);
	side_wait(&b);
	if (!right)
		side_wait(&b);
	for (int i = 0; i < 3; i++)
		side_wait(&a);
	pair_close(&a, &b);
}
