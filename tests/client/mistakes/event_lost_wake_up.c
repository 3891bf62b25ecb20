// SPDX-License-Identifier: MIT
/* Arms a completion queue after the last poll, and waits without another. */
#include "mistakes.h"
#include "pair.h"

STACKED static void arms(struct side *side)
{
	must(ibv_req_notify_cq(side->cq, 0) == 0, "arm a CQ");
}

STACKED static void waits(struct side *side)
{
	struct ibv_cq *cq;
	void *arg;

	must(ibv_get_cq_event(side->channel, &cq, &arg) == 0, "get an event");
	ibv_ack_cq_events(cq, 1);
}

void event_lost_wake_up(bool right)
{
	const struct side_cfg cfg = { .channel = true };
	struct ibv_wc wc;
	struct side a, b;

	pair_open(&a, &b, &cfg);
	side_recv(&b, 1, 0, 64);
	if (right)
		arms(&b);
	must(ibv_poll_cq(b.cq, 1, &wc) == 0, "find an empty CQ");
	if (!right)
		arms(&b);
	side_send(&a, 2, 0, 64);
	side_wait(&a);
	waits(&b);
	side_wait(&b);
	pair_close(&a, &b);
}
