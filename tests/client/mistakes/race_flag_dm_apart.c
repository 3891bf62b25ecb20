// SPDX-License-Identifier: MIT
/* Sends from memory that another process writes, without waiting for the flag in device memory
 * that the other process writes after it. */
#include <string.h>

#include "apart.h"
#include "mistakes.h"

#define KEY_AT	1024u
#define FLAG_AT 2048u

STACKED static void writes(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	wr.send_flags = 0;
	side_post(side, &wr);
}

static void sets_flag(struct side *side, uint32_t rkey)
{
	struct ibv_sge sge = side_sge(side, FLAG_AT, 8);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 2);

	side->memory[FLAG_AT] = 1;
	wr.wr.rdma.remote_addr = 0;
	wr.wr.rdma.rkey = rkey;
	side_post(side, &wr);
}

static uint32_t reads_key(struct side *side)
{
	struct ibv_sge sge = side_sge(side, KEY_AT, sizeof(uint32_t));
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_READ, 3);
	uint32_t ret;

	side_post(side, &wr);
	side_wait(side);
	memcpy(&ret, side->memory + KEY_AT, sizeof(ret));
	return ret;
}

static void child(struct apart *end, bool right)
{
	uint32_t rkey;

	side_recv(&end->side, 4, 256, 64);
	apart_hear(end);
	rkey = reads_key(&end->side);
	writes(&end->side);
	if (right)
		sets_flag(&end->side, rkey);
	apart_tell(end);
	apart_hear(end);
	if (!right)
		sets_flag(&end->side, rkey);
	side_wait(&end->side);
	side_wait(&end->side);
	apart_tell(end);
}

STACKED static void sends(struct side *side)
{
	side_send(side, 5, 0, 64);
}

void race_flag_dm_apart(bool right)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct apart end;
	uint64_t flag = 0;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	dm = ibv_alloc_dm(end.side.context, &attr);
	must(dm && ibv_memcpy_to_dm(dm, 0, &flag, sizeof(flag)) == 0, "allocate device memory");
	mr = ibv_reg_dm_mr(end.side.pd, dm, 0, 4096,
			   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_WRITE);
	must(mr != NULL, "register device memory");
	if (mr)
		memcpy(end.side.memory + KEY_AT, &mr->rkey, sizeof(mr->rkey));
	apart_tell(&end);
	apart_hear(&end);
	while (right && !flag)
		must(ibv_memcpy_from_dm(&flag, dm, 0, sizeof(flag)) == 0, "read device memory");
	sends(&end.side);
	side_wait(&end.side);
	apart_tell(&end);
	apart_hear(&end);
	must(ibv_dereg_mr(mr) == 0 && ibv_free_dm(dm) == 0, "free device memory");
	apart_close(&end, 1);
}
