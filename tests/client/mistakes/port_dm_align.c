// SPDX-License-Identifier: MIT
/* Adds to a number in device memory that was allocated without an alignment. */
#include "mistakes.h"
#include "pair.h"

STACKED static struct ibv_dm *allocates(struct ibv_context *context, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .log_align_req = log_align };

	return ibv_alloc_dm(context, &attr);
}

STACKED static void adds(struct side *side, const struct ibv_mr *there)
{
	struct ibv_sge sge = side_sge(side, 0, 8);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, 1);

	wr.wr.atomic.remote_addr = 0;
	wr.wr.atomic.rkey = there->rkey;
	wr.wr.atomic.compare_add = 1;
	side_post(side, &wr);
}

void port_dm_align(bool right)
{
	struct side a, b;
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	pair_open(&a, &b, NULL);
	dm = allocates(b.context, right ? 3 : 0);
	must(dm != NULL, "allocate device memory");
	mr = ibv_reg_dm_mr(b.pd, dm, 0, 64,
			   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_ATOMIC);
	must(mr != NULL, "register device memory");
	adds(&a, mr);
	must(side_wait(&a).status == IBV_WC_SUCCESS, "add");
	must(ibv_dereg_mr(mr) == 0, "deregister device memory");
	must(ibv_free_dm(dm) == 0, "free device memory");
	pair_close(&a, &b);
}
