// SPDX-License-Identifier: MIT
/* Writes to the same memory by two queue pairs at once. */
#include "mistakes.h"
#include "pair.h"

STACKED static void writes(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	side_post(side, &wr);
}

STACKED static void adds(struct side *side, const struct side *to)
{
	struct ibv_sge sge = side_sge(side, 128, 8);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, 2);

	wr.wr.atomic.remote_addr = (uintptr_t)to->memory;
	wr.wr.atomic.rkey = to->mr->rkey;
	side_post(side, &wr);
}

/* Two connections to one side: b's memory is reached by both. */
void race_remote(bool right)
{
	struct side a, b, c, d;

	pair_open(&a, &b, NULL);
	side_open(&c, a.context, NULL);
	side_open(&d, a.context, &(struct side_cfg){ .pd = b.pd });
	side_connect(&c, &d);
	side_connect(&d, &c);
	writes(&a);
	if (right)
		side_wait(&a);
	adds(&c, &b);
	if (!right)
		side_wait(&a);
	side_wait(&c);
	side_close(&d);
	side_close(&c);
	pair_close(&a, &b);
}
