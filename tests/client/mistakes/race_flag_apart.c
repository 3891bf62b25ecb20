// SPDX-License-Identifier: MIT
/* Sends from memory that another process writes, without waiting for the flag that the other
 * process writes after it. */
#include "apart.h"
#include "mistakes.h"

#define FLAG_AT 1024u

STACKED static void writes(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	wr.send_flags = 0;
	side_post(side, &wr);
}

STACKED static void sets_flag(struct side *side)
{
	struct ibv_sge sge = side_sge(side, FLAG_AT, 8);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 2);

	side->memory[FLAG_AT] = 1;
	side_post(side, &wr);
}

static void child(struct apart *end, bool right)
{
	side_recv(&end->side, 3, 256, 64);
	writes(&end->side);
	if (right)
		sets_flag(&end->side);
	apart_tell(end);
	apart_hear(end);
	if (!right)
		sets_flag(&end->side);
	side_wait(&end->side);
	side_wait(&end->side);
}

STACKED static void sends(struct side *side)
{
	side_send(side, 4, 0, 64);
}

void race_flag_apart(bool right)
{
	struct apart end;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	apart_hear(&end);
	while (right && !*(volatile uint8_t *)&end.side.memory[FLAG_AT])
		;
	sends(&end.side);
	side_wait(&end.side);
	apart_tell(&end);
	apart_close(&end, 1);
}
