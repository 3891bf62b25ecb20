// SPDX-License-Identifier: MIT
/* Frees memory before another process, which writes to it, has said that it has finished. */
#include <stdlib.h>

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
	writes(&end->side);
	if (right)
		side_wait(&end->side);
	apart_tell(end);
	apart_hear(end);
	if (!right)
		side_wait(&end->side);
}

STACKED static void frees(struct side *side)
{
	free(side->memory);
	side->memory = NULL;
}

void mem_freed_apart(bool right)
{
	struct apart end;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	apart_hear(&end);
	frees(&end.side);
	apart_tell(&end);
	apart_close(&end, 1);
}
