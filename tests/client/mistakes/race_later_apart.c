// SPDX-License-Identifier: MIT
/* Two processes write to the same memory of a third one. The second is told to begin after the
 * first has polled its completion, but not by the device. */
#include "apart.h"
#include "mistakes.h"

#define FLAG_AT 1024u

STACKED static void writes(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	side_post(side, &wr);
	side_wait(side);
}

static void first(struct apart *end, bool right)
{
	(void)right;
	apart_hear(end);
	writes(&end->side);
	apart_tell(end);
	apart_hear(end);
}

STACKED static void writes_later(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 32, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 2);

	side_post(side, &wr);
	side_wait(side);
}

static void second(struct apart *end, bool right)
{
	side_recv(&end->side, 3, 256, 64);
	apart_tell(end);
	apart_hear(end);
	if (right)
		side_wait(&end->side);
	writes_later(&end->side);
	apart_tell(end);
}

static void reads_flag(struct side *side)
{
	struct ibv_sge sge = side_sge(side, FLAG_AT, 8);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_READ, 4);

	side_post(side, &wr);
	side_wait(side);
}

static void sends_nothing(struct side *side)
{
	struct ibv_send_wr wr = { .wr_id = 5,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	side_post(side, &wr);
	side_wait(side);
}

void race_later_apart(bool right)
{
	struct apart ends[2];

	apart_open(ends, 2, (void (*const[])(struct apart *, bool)){ first, second }, right);
	/* All are connected: who connects learns what was done before. */
	apart_tell(&ends[0]);
	apart_hear(&ends[0]);
	apart_hear(&ends[1]);
	/* What the first process has done is in order before what is read of its memory. */
	if (right) {
		reads_flag(&ends[0].side);
		sends_nothing(&ends[1].side);
	}
	apart_tell(&ends[1]);
	apart_hear(&ends[1]);
	apart_tell(&ends[0]);
	apart_close(ends, 2);
}
