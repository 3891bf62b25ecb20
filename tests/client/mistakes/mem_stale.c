// SPDX-License-Identifier: MIT
/* Frees memory, and sends from the region that it registered over it. */
#include "mistakes.h"
#include "pair.h"

#include <stdlib.h>

#define LEN 100u

STACKED static struct ibv_mr *registers(const struct side *side, void *bytes)
{
	struct ibv_mr *mr = ibv_reg_mr(side->pd, bytes, LEN, 0);

	must(mr != NULL, "register memory");
	return mr;
}

STACKED static void frees(void *volatile bytes)
{
	free(bytes);
	bytes = NULL;
}

STACKED static void sends(struct side *side, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, LEN, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	side_post(side, &wr);
	side_wait(side);
}

void mem_stale(bool right)
{
	struct side a, b;
	struct ibv_mr *mr;
	void *bytes;

	pair_open(&a, &b, NULL);
	side_recv(&b, 2, 0, LEN);
	bytes = calloc(1, LEN);
	must(bytes != NULL, "allocate memory");
	mr = registers(&a, bytes);
	if (!right)
		frees(bytes);
	sends(&a, mr);
	if (right)
		frees(bytes);
	side_wait(&b);
	must(ibv_dereg_mr(mr) == 0, "deregister memory");
	pair_close(&a, &b);
}
