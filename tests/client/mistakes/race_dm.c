// SPDX-License-Identifier: MIT
/* Writes to the same device memory by two queue pairs at once. */
#include "mistakes.h"
#include "pair.h"

#define LEN 64u

STACKED static struct ibv_mr *registers(const struct side *side, struct ibv_dm *dm)
{
	struct ibv_mr *mr =
		ibv_reg_dm_mr(side->pd, dm, 0, LEN,
			      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);

	must(mr != NULL, "register device memory");
	return mr;
}

STACKED static void writes(struct side *side, const struct ibv_mr *there)
{
	struct ibv_sge sge = side_sge(side, 0, LEN);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	wr.wr.rdma.remote_addr = 0;
	wr.wr.rdma.rkey = there->rkey;
	side_post(side, &wr);
}

STACKED static void adds(struct side *side, const struct ibv_mr *there)
{
	struct ibv_sge sge = side_sge(side, 128, 8);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, 2);

	wr.wr.atomic.remote_addr = LEN - 8;
	wr.wr.atomic.rkey = there->rkey;
	side_post(side, &wr);
}

/* Two connections to one side: its device memory is reached by both. */
void race_dm(bool right)
{
	struct ibv_alloc_dm_attr attr = { .length = LEN, .log_align_req = 3 };
	struct side a, b, c, d;
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	pair_open(&a, &b, NULL);
	side_open(&c, a.context, NULL);
	side_open(&d, a.context, &(struct side_cfg){ .pd = b.pd });
	side_connect(&c, &d);
	side_connect(&d, &c);
	dm = ibv_alloc_dm(b.context, &attr);
	must(dm != NULL, "allocate device memory");
	mr = registers(&b, dm);
	writes(&a, mr);
	if (right)
		side_wait(&a);
	adds(&c, mr);
	if (!right)
		side_wait(&a);
	side_wait(&c);
	must(ibv_dereg_mr(mr) == 0 && ibv_free_dm(dm) == 0, "free device memory");
	side_close(&d);
	side_close(&c);
	pair_close(&a, &b);
}
