// SPDX-License-Identifier: MIT
/* Receives a message in memory that another process still reads. */
#include "apart.h"
#include "mistakes.h"

STACKED static void reads(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_READ, 1);

	side_post(side, &wr);
}

static void reader(struct apart *end, bool right)
{
	reads(&end->side);
	if (right)
		side_wait(&end->side);
	apart_tell(end);
	apart_hear(end);
	if (!right)
		side_wait(&end->side);
}

static void sender(struct apart *end, bool right)
{
	(void)right;
	apart_hear(end);
	side_send(&end->side, 2, 0, 64);
	side_wait(&end->side);
	apart_tell(end);
}

STACKED static void receives(struct side *side, const struct side *memory)
{
	struct ibv_sge sge = side_sge(memory, 32, 64);
	struct ibv_recv_wr wr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 }, *bad;

	must(ibv_post_recv(side->qp, &wr, &bad) == 0, "post a receive");
}

void race_receive_apart(bool right)
{
	struct apart ends[2];

	apart_open(ends, 2, (void (*const[])(struct apart *, bool)){ reader, sender }, right);
	apart_hear(&ends[0]);
	receives(&ends[1].side, &ends[0].side);
	apart_tell(&ends[1]);
	side_wait(&ends[1].side);
	apart_hear(&ends[1]);
	apart_tell(&ends[0]);
	apart_close(ends, 2);
}
