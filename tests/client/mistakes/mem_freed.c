// SPDX-License-Identifier: MIT
/* Frees the memory of a posted receive. */
#include "mistakes.h"
#include "pair.h"

#include <stdlib.h>

STACKED static struct ibv_mr *registers(const struct side *side, void *bytes, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(side->pd, bytes, len, IBV_ACCESS_LOCAL_WRITE);

	must(mr != NULL, "register memory");
	return mr;
}

STACKED static void receives(struct side *side, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, 64, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	must(ibv_post_recv(side->qp, &wr, &bad) == 0, "post a receive");
}

STACKED static void frees(void *volatile bytes)
{
	free(bytes);
	bytes = NULL;
}

void mem_freed(bool right)
{
	struct side a, b;
	struct ibv_mr *mr;
	uint8_t *bytes;

	pair_open(&a, &b, NULL);
	bytes = malloc(100);
	must(bytes != NULL, "allocate memory");
	mr = registers(&a, bytes, 100);
	receives(&a, mr);
	if (right)
		side_modify(&a, IBV_QPS_ERR);
	frees(bytes);
	side_modify(&a, IBV_QPS_ERR);
	must(ibv_dereg_mr(mr) == 0, "deregister memory");
	pair_close(&a, &b);
}
