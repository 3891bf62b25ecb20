// SPDX-License-Identifier: MIT
/* Destroys an id that has been disconnected, and acknowledges the event of that afterwards. */
#include <unistd.h>

#include "cm_pair.h"
#include "mistakes.h"

STACKED static struct rdma_cm_event *reads(struct cm_pair *pair)
{
	return cm_event(pair, RDMA_CM_EVENT_DISCONNECTED);
}

STACKED static void destroys(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

void cm_own_event(bool right)
{
	struct rdma_cm_event *event;
	struct cm_pair pair;

	cm_open(&pair);
	cm_connect(&pair);
	must(rdma_disconnect(pair.server) == 0, "disconnect");
	event = reads(&pair);
	pair.client = NULL;
	if (right) {
		struct rdma_cm_id *id = event->id;

		rdma_ack_cm_event(event);
		destroys(id);
	} else {
		/* The call never returns: the signal ends the program. */
		alarm(4);
		destroys(event->id);
		rdma_ack_cm_event(event);
	}
	cm_close(&pair);
}
