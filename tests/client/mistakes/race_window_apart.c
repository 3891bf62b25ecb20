// SPDX-License-Identifier: MIT
/* Sends from memory to which another process writes at the same time, through a memory window. */
#include <string.h>

#include "apart.h"
#include "mistakes.h"

#define KEY_AT 1024u

/* At the same address in both processes. */
static uint8_t bytes[64];

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
	struct ibv_sge sge = side_sge(side, 0, sizeof(bytes));
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 2);

	wr.wr.rdma.remote_addr = (uintptr_t)bytes;
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

/* Peers reach the region through the window only. */
STACKED static struct ibv_mr *registers(const struct side *side)
{
	struct ibv_mr *mr = ibv_reg_mr(side->pd, bytes, sizeof(bytes),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);

	must(mr != NULL, "register memory");
	return mr;
}

static struct ibv_mw *binds(struct side *side, struct ibv_mr *mr)
{
	struct ibv_mw *mw = ibv_alloc_mw(side->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED };

	bind.bind_info = (struct ibv_mw_bind_info){ .mr = mr,
						    .addr = (uintptr_t)bytes,
						    .length = sizeof(bytes),
						    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	must(mw && ibv_bind_mw(side->qp, mw, &bind) == 0, "bind a window");
	side_wait(side);
	if (mw)
		memcpy(side->memory + KEY_AT, &mw->rkey, sizeof(mw->rkey));
	return mw;
}

STACKED static void sends(struct side *side, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)bytes, sizeof(bytes), mr->lkey };
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_SEND, 6);

	side_post(side, &wr);
}

void race_window_apart(bool right)
{
	struct apart end;
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	mr = registers(&end.side);
	mw = binds(&end.side, mr);
	side_recv(&end.side, 7, 256, 64);
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
	must(ibv_dealloc_mw(mw) == 0 && ibv_dereg_mr(mr) == 0, "free the window");
	apart_close(&end, 1);
}
