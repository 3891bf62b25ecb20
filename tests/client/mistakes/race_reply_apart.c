// SPDX-License-Identifier: MIT
/* Writes to memory from which another process still sends. */
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
	side_recv(&end->side, 4, 256, 64);
	apart_tell(end);
	apart_hear(end);
	/* What has arrived, the other process no longer needs to send. */
	if (right)
		side_wait(&end->side);
	writes(&end->side);
	side_wait(&end->side);
	if (!right)
		side_wait(&end->side);
	apart_tell(end);
}

STACKED static void sends(struct side *side)
{
	side_send(side, 3, 0, 64);
}

void race_reply_apart(bool right)
{
	struct apart end;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	apart_hear(&end);
	sends(&end.side);
	apart_tell(&end);
	apart_hear(&end);
	side_wait(&end.side);
	apart_close(&end, 1);
}
