// SPDX-License-Identifier: MIT
/* Destroys a completion queue whose event was not acknowledged. */
#include <unistd.h>

#include "mistakes.h"
#include "pair.h"

STACKED static void destroys(struct side *side)
{
	ibv_destroy_cq(side->cq);
	side->cq = NULL;
}

void event_not_acked(bool right)
{
	const struct side_cfg cfg = { .channel = true };
	struct ibv_cq *cq;
	struct side a, b;
	void *arg;

	pair_open(&a, &b, &cfg);
	side_recv(&b, 1, 0, 64);
	must(ibv_req_notify_cq(b.cq, 0) == 0, "arm a CQ");
	side_send(&a, 2, 0, 64);
	side_wait(&a);
	must(ibv_get_cq_event(b.channel, &cq, &arg) == 0, "get an event");
	if (right)
		ibv_ack_cq_events(cq, 1);
	side_wait(&b);
	must(ibv_destroy_qp(b.qp) == 0, "destroy a QP");
	b.qp = NULL;
	/* The call never returns: the signal ends the program. */
	if (!right)
		alarm(1);
	destroys(&b);
	pair_close(&a, &b);
}
