// SPDX-License-Identifier: MIT
/* Sends from memory to which another process writes at the same time. */
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
	side_recv(&end->side, 4, 256, 64);
	apart_hear(end);
	writes(&end->side);
	side_send(&end->side, 2, 0, 0);
	apart_tell(end);
	apart_hear(end);
	for (int i = 0; i < 3; i++)
		side_wait(&end->side);
}

STACKED static void sends(struct side *side)
{
	side_send(side, 3, 0, 64);
}

void race_local_apart(bool right)
{
	struct apart end;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	side_recv(&end.side, 5, 256, 64);
	apart_tell(&end);
	apart_hear(&end);
	/* The message arrives after what was written. */
	if (right)
		side_wait(&end.side);
	sends(&end.side);
	side_wait(&end.side);
	if (!right)
		side_wait(&end.side);
	apart_tell(&end);
	apart_close(&end, 1);
}
