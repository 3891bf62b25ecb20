// SPDX-License-Identifier: MIT
/* Posts to a queue pair that was destroyed. */
#include "mistakes.h"
#include "pair.h"

STACKED static void destroys(struct ibv_qp *qp)
{
	must(ibv_destroy_qp(qp) == 0, "destroy a QP");
}

STACKED static void posts(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	ibv_post_recv(side->qp, &wr, &bad);
}

void life_used_after(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	if (right)
		posts(&a);
	destroys(a.qp);
	if (!right)
		posts(&a);
	a.qp = NULL;
	pair_close(&a, &b);
}
