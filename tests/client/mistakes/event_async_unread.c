// SPDX-License-Identifier: MIT
/* Destroys a queue pair that failed, and has not read the event of that. */
#include "mistakes.h"
#include "pair.h"

STACKED static void destroys(struct side *side)
{
	must(ibv_destroy_qp(side->qp) == 0, "destroy a QP");
	side->qp = NULL;
}

/* The peer's queue pair refuses a key that it does not know: both enter the error state. */
static void fails(struct side *side)
{
	struct ibv_sge sge = side_sge(side, 0, 64);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, 1);

	wr.wr.rdma.rkey = 0;
	side_post(side, &wr);
	must(side_wait(side).status == IBV_WC_REM_ACCESS_ERR, "be refused");
}

void event_async_unread(bool right)
{
	struct ibv_async_event event;
	struct side a, b;

	pair_open(&a, &b, NULL);
	fails(&a);
	if (right) {
		must(ibv_get_async_event(a.context, &event) == 0, "get an event");
		ibv_ack_async_event(&event);
	}
	destroys(&b);
	pair_close(&a, &b);
}
