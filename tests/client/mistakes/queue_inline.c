// SPDX-License-Identifier: MIT
/* Sends more inline data than the queue pair was granted. */
#include "mistakes.h"
#include "pair.h"

#define ASKED 64u

STACKED static void posts(struct side *side, uint32_t len)
{
	struct ibv_sge sge = side_sge(side, 0, len);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);
	struct ibv_send_wr *bad;

	wr.send_flags |= IBV_SEND_INLINE;
	if (ibv_post_send(side->qp, &wr, &bad) == 0)
		side_wait(side);
}

void queue_inline(bool right)
{
	const struct side_cfg cfg = { .inline_data = ASKED };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	posts(&a, right ? ASKED : 32 * ASKED);
	pair_close(&a, &b);
}
