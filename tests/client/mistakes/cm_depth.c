// SPDX-License-Identifier: MIT
/* Accepts a connection and wants more RDMA READs than the peer offers to answer. */
#include "cm_pair.h"
#include "mistakes.h"

STACKED static void accepts(struct rdma_cm_id *id, uint8_t depth)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = depth,
					 .rnr_retry_count = 6 };

	must(rdma_accept(id, &param) == 0, "accept");
}

void cm_depth(bool right)
{
	struct rdma_conn_param param = { .responder_resources = 2,
					 .initiator_depth = 1,
					 .rnr_retry_count = 6 };
	struct cm_pair pair;

	cm_open(&pair);
	cm_give_qp(pair.client);
	cm_request(&pair, &param);
	cm_give_qp(pair.server);
	accepts(pair.server, right ? 2 : 3);
	cm_expect(&pair, RDMA_CM_EVENT_ESTABLISHED);
	cm_expect(&pair, RDMA_CM_EVENT_ESTABLISHED);
	cm_disconnect(&pair);
	cm_close(&pair);
}
