// SPDX-License-Identifier: MIT
/* Destroys a queue pair whose asynchronous event was not acknowledged. */
#include <unistd.h>

#include "mistakes.h"
#include "pair.h"

STACKED static void destroys(struct side *side)
{
	ibv_destroy_qp(side->qp);
	side->qp = NULL;
}

void event_async_not_acked(bool right)
{
	struct ibv_async_event event;
	struct side a, b;

	pair_open(&a, &b, &(struct side_cfg){ .srq = true });
	side_modify(&a, IBV_QPS_ERR);
	/* The last receive was taken from the SRQ: there is none. */
	must(ibv_get_async_event(a.context, &event) == 0, "get an event");
	if (right)
		ibv_ack_async_event(&event);
	else
		alarm(1); /* the call never returns: the signal ends the program */
	destroys(&a);
	pair_close(&a, &b);
}
