// SPDX-License-Identifier: MIT
/* Prepares a receive buffer that it has posted before. */
#include "mistakes.h"
#include "pair.h"

#include <string.h>

static uint8_t bytes[64];

STACKED static struct ibv_mr *registers(const struct side *side)
{
	struct ibv_mr *mr = ibv_reg_mr(side->pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);

	must(mr != NULL, "register memory");
	return mr;
}

STACKED static void receives(struct side *side, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)bytes, sizeof(bytes), mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	must(ibv_post_recv(side->qp, &wr, &bad) == 0, "post a receive");
}

void mem_arrival(bool right)
{
	struct side a, b;
	struct ibv_mr *mr;

	pair_open(&a, &b, NULL);
	mr = registers(&b);
	if (right)
		memset(bytes, 0xff, sizeof(bytes));
	receives(&b, mr);
	if (!right)
		memset(bytes, 0xff, sizeof(bytes));
	side_send(&a, 2, 0, sizeof(bytes));
	side_wait(&a);
	side_wait(&b);
	must(ibv_dereg_mr(mr) == 0, "deregister memory");
	pair_close(&a, &b);
}
