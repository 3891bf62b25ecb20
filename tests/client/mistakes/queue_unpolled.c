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

/* Returns when a completion waits. */
static void await_completion(struct side *side)
{
	struct ibv_cq *cq;
	void *context;

	must(ibv_get_cq_event(side->channel, &cq, &context) == 0, "get a completion event");
	ibv_ack_cq_events(cq, 1);
}

STACKED static void posts(struct side *side, bool right)
{
	uint32_t outstanding = 0;

	must(ibv_req_notify_cq(side->cq, 0) == 0, "arm a CQ");
	for (uint32_t i = 0; i < TRIES; i++) {
		if (right && outstanding == side->cfg.wrs) {
			side_wait(side);
			outstanding--;
		}
		outstanding += writes(side);
		if (i == 0)
			await_completion(side);
	}
	while (outstanding-- > 0)
		side_wait(side);
}

void queue_unpolled(bool right)
{
	struct side a, b;

	pair_open(&a, &b, &(struct side_cfg){ .channel = true });
	posts(&a, right);
	pair_close(&a, &b);
}
