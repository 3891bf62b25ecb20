// SPDX-License-Identifier: MIT
/* Asks for a connection with more private data than a request carries. */
#include "cm_pair.h"
#include "mistakes.h"

STACKED static int connects(struct rdma_cm_id *id, uint8_t len)
{
	static const uint8_t data[64];
	struct rdma_conn_param param = { .private_data = data, .private_data_len = len };

	return rdma_connect(id, &param);
}

void cm_private(bool right)
{
	struct cm_pair pair;

	cm_open(&pair);
	cm_give_qp(pair.client);
	if (connects(pair.client, right ? 56 : 57) == 0) {
		struct rdma_cm_event *event = cm_event(&pair, RDMA_CM_EVENT_CONNECT_REQUEST);

		pair.server = event->id;
		must(rdma_ack_cm_event(event) == 0, "acknowledge an event");
		must(rdma_reject(pair.server, NULL, 0) == 0, "reject a request");
		cm_expect(&pair, RDMA_CM_EVENT_REJECTED);
	}
	cm_close(&pair);
}
