// SPDX-License-Identifier: MIT
/* Sends from device memory to which another process writes at the same time. */
#include <string.h>

#include "apart.h"
#include "mistakes.h"

#define KEY_AT 1024u
#define LEN    64u

static uint32_t reads_key(struct side *side)
{
	struct ibv_sge sge = side_sge(side, KEY_AT, sizeof(uint32_t));
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_READ, 1);
	uint32_t ret;

	side_post(side, &wr);
	side_wait(side);
	memcpy(&ret, side->memory + KEY_AT, sizeof(ret));
	return ret;
}

STACKED static void writes(struct side *side, uint32_t rkey)
{
	struct ibv_sge sge = side_sge(side, 0, LEN);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 2);

	wr.wr.rdma.remote_addr = 0;
	wr.wr.rdma.rkey = rkey;
	side_post(side, &wr);
}

static void child(struct apart *end, bool right)
{
	(void)right;
	side_recv(&end->side, 3, 256, 64);
	apart_hear(end);
	writes(&end->side, reads_key(&end->side));
	side_send(&end->side, 4, 0, 0);
	apart_tell(end);
	apart_hear(end);
	for (int i = 0; i < 3; i++)
		side_wait(&end->side);
}

STACKED static struct ibv_mr *registers(const struct side *side, struct ibv_dm *dm)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(side->pd, dm, 0, LEN,
					  IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
						  IBV_ACCESS_REMOTE_WRITE);

	must(mr != NULL, "register device memory");
	if (mr)
		memcpy(side->memory + KEY_AT, &mr->rkey, sizeof(mr->rkey));
	return mr;
}

STACKED static void sends(struct side *side, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { 0, LEN, mr->lkey };
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_SEND, 5);

	side_post(side, &wr);
}

void race_dm_apart(bool right)
{
	struct ibv_alloc_dm_attr attr = { .length = LEN };
	struct apart end;
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	dm = ibv_alloc_dm(end.side.context, &attr);
	must(dm != NULL, "allocate device memory");
	mr = registers(&end.side, dm);
	side_recv(&end.side, 6, 256, 64);
	apart_tell(&end);
	apart_hear(&end);
	/* The message arrives after what was written. */
	if (right)
		side_wait(&end.side);
	sends(&end.side, mr);
	side_wait(&end.side);
	if (!right)
		side_wait(&end.side);
	apart_tell(&end);
	must(ibv_dereg_mr(mr) == 0 && ibv_free_dm(dm) == 0, "free device memory");
	apart_close(&end, 1);
}
