// SPDX-License-Identifier: MIT
/* Tries again to post to a full send queue, and does not poll. */
#include "mistakes.h"
#include "pair.h"

#define TRIES 1100u

static bool writes(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 8);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);
	struct ibv_send_wr *bad;

	return ibv_post_send(side->qp, &wr, &bad) == 0;
}

STACKED static void posts(struct side *side, bool right)
{
	uint32_t outstanding = 0;

	for (uint32_t i = 0; i < TRIES; i++) {
		if (right && outstanding == side->cfg.wrs) {
			side_wait(side);
			outstanding--;
		}
		outstanding += writes(side);
	}
	while (outstanding-- > 0)
		side_wait(side);
}

void queue_unpolled(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	posts(&a, right);
	pair_close(&a, &b);
}
