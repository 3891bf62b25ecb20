// SPDX-License-Identifier: MIT
/* Accepts a connection with an id that has no queue pair. */
#include "cm_pair.h"
#include "mistakes.h"

STACKED static void accepts(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .rnr_retry_count = 6 };

	if (rdma_accept(id, &param))
		rdma_reject(id, NULL, 0);
}

void cm_no_qp(bool right)
{
	struct rdma_cm_event *event;
	struct cm_pair pair;

	cm_open(&pair);
	cm_give_qp(pair.client);
	cm_request(&pair, NULL);
	if (right)
		cm_give_qp(pair.server);
	accepts(pair.server);
	must(rdma_get_cm_event(pair.channel, &event) == 0, "get an event");
	rdma_ack_cm_event(event);
	if (right) {
		cm_expect(&pair, RDMA_CM_EVENT_ESTABLISHED);
		cm_disconnect(&pair);
	} else {
		rdma_disconnect(pair.client);
	}
	cm_close(&pair);
}
