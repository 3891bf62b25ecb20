// SPDX-License-Identifier: MIT
/* Unmaps the memory of a posted receive. */
#include "mistakes.h"
#include "pair.h"

#include <sys/mman.h>

#define LEN 8192u

STACKED static struct ibv_mr *registers(const struct side *side, void *bytes)
{
	struct ibv_mr *mr = ibv_reg_mr(side->pd, bytes, LEN, IBV_ACCESS_LOCAL_WRITE);

	must(mr != NULL, "register memory");
	return mr;
}

STACKED static void receives(struct side *side, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, LEN, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	must(ibv_post_recv(side->qp, &wr, &bad) == 0, "post a receive");
}

STACKED static void unmaps(void *bytes)
{
	must(munmap(bytes, LEN) == 0, "unmap memory");
}

void mem_unmapped(bool right)
{
	struct side a, b;
	struct ibv_mr *mr;
	void *bytes;

	pair_open(&a, &b, NULL);
	bytes = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(bytes != MAP_FAILED, "map memory");
	mr = registers(&a, bytes);
	receives(&a, mr);
	if (right)
		side_modify(&a, IBV_QPS_ERR);
	unmaps(bytes);
	side_modify(&a, IBV_QPS_ERR);
	must(ibv_dereg_mr(mr) == 0, "deregister memory");
	pair_close(&a, &b);
}
