// SPDX-License-Identifier: MIT
/* The same on a queue pair that fails later. A queue pair that has failed accesses no memory. */
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

/* No region has this lkey. */
static void fails(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 2);

	sge.lkey ^= 0x5555;
	side_post(side, &wr);
	must(side_wait(side).status == IBV_WC_LOC_PROT_ERR, "fail");
}

void mem_freed_failed(bool right)
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
		fails(&a);
	frees(bytes);
	if (!right)
		fails(&a);
	must(ibv_dereg_mr(mr) == 0, "deregister memory");
	pair_close(&a, &b);
}
