// SPDX-License-Identifier: MIT
/* Destroys a listener before it acknowledges the request of a connection. */
#include <unistd.h>

#include "cm_pair.h"
#include "mistakes.h"

STACKED static struct rdma_cm_event *reads(struct cm_pair *pair)
{
	return cm_event(pair, RDMA_CM_EVENT_CONNECT_REQUEST);
}

STACKED static void destroys(struct rdma_cm_id *id)
{
	rdma_destroy_id(id);
}

/* The listener serves one connection. */
void cm_listener_event(bool right)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 6 };
	struct rdma_cm_event *event;
	struct cm_pair pair;

	cm_open(&pair);
	cm_give_qp(pair.client);
	must(rdma_connect(pair.client, &param) == 0, "connect");
	event = reads(&pair);
	pair.server = event->id;
	if (right)
		rdma_ack_cm_event(event);
	else
		alarm(3); /* The call never returns: the signal ends the program. */
	destroys(pair.listener);
	pair.listener = NULL;
	if (!right)
		rdma_ack_cm_event(event);
	must(rdma_reject(pair.server, NULL, 0) == 0, "reject");
	cm_expect(&pair, RDMA_CM_EVENT_REJECTED);
	cm_close(&pair);
}
