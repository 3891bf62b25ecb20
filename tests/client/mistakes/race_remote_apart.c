// SPDX-License-Identifier: MIT
/* Two processes write to the same memory of a third one; the first has not yet polled its
 * completion when it lets the second go on. */
#include "apart.h"
#include "mistakes.h"

STACKED static void writes(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	side_post(side, &wr);
}

static void first(struct apart *end, bool right)
{
	writes(&end->side);
	if (right)
		side_wait(&end->side);
	apart_tell(end);
	apart_hear(end);
	if (!right)
		side_wait(&end->side);
}

STACKED static void writes_later(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 32, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 2);

	side_post(side, &wr);
}

static void second(struct apart *end, bool right)
{
	(void)right;
	apart_hear(end);
	writes_later(&end->side);
	side_wait(&end->side);
	apart_tell(end);
}

void race_remote_apart(bool right)
{
	struct apart ends[2];

	apart_open(ends, 2, (void (*const[])(struct apart *, bool)){ first, second }, right);
	apart_hear(&ends[0]);
	apart_tell(&ends[1]);
	apart_hear(&ends[1]);
	apart_tell(&ends[0]);
	apart_close(ends, 2);
}
