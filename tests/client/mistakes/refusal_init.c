// SPDX-License-Identifier: MIT
/* Posts a send to a queue pair that is not connected. */
#include "mistakes.h"
#include "pair.h"

STACKED static int posts(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	return ibv_post_send(side->qp, &wr, &bad);
}

void refusal_init(bool right)
{
	struct side a, b;

	side_open(&a, NULL, NULL);
	side_open(&b, a.context, NULL);
	if (right) {
		side_connect(&a, &b);
		side_connect(&b, &a);
		side_recv(&b, 2, 0, 64);
	}
	if (posts(&a) == 0)
		side_wait(&a);
	pair_close(&a, &b);
}
