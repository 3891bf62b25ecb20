// SPDX-License-Identifier: MIT
/* Frees memory that is still registered, and that another process reads then. */
#include <stdlib.h>

#include "apart.h"
#include "mistakes.h"

STACKED static void reads(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_READ, 1);

	side_post(side, &wr);
}

static void child(struct apart *end, bool right)
{
	(void)right;
	apart_hear(end);
	reads(&end->side);
	side_wait(&end->side);
	apart_tell(end);
}

STACKED static void frees(struct side *side)
{
	free(side->memory);
	side->memory = NULL;
}

void mem_stale_apart(bool right)
{
	struct apart end;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	if (!right)
		frees(&end.side);
	apart_tell(&end);
	apart_hear(&end);
	apart_close(&end, 1);
}
