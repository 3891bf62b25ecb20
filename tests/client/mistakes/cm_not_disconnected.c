// SPDX-License-Identifier: MIT
/* Destroys an id that is connected. */
#include "cm_pair.h"
#include "mistakes.h"

STACKED static void destroys(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	must(rdma_destroy_id(id) == 0, "destroy an id");
}

void cm_not_disconnected(bool right)
{
	struct cm_pair pair;

	cm_open(&pair);
	cm_connect(&pair);
	if (right)
		cm_disconnect(&pair);
	destroys(pair.client);
	pair.client = NULL;
	if (!right)
		cm_expect(&pair, RDMA_CM_EVENT_DISCONNECTED);
	cm_close(&pair);
}
