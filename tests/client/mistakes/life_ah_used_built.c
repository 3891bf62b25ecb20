// SPDX-License-Identifier: MIT
/* The same by ibv_wr_set_ud_addr(). */
#include "mistakes.h"
#include "pair.h"

STACKED static void destroys(struct side *side)
{
	must(ibv_destroy_ah(side->ah) == 0, "destroy an AH");
}

STACKED static void posts(const struct side *a, const struct side *b)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a->qp);

	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, a->ah, b->qp->qp_num, 0x11111111);
	ibv_wr_set_sge(qp, a->mr->lkey, (uintptr_t)a->memory, 64);
	must(ibv_wr_complete(qp) == 0, "send");
}

void life_ah_used_built(bool right)
{
	const struct side_cfg cfg = { .type = IBV_QPT_UD, .send_ops = IBV_QP_EX_WITH_SEND };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	if (right)
		posts(&a, &b);
	destroys(&a);
	if (!right)
		posts(&a, &b);
	a.ah = NULL;
	side_wait(&a);
	pair_close(&a, &b);
}
