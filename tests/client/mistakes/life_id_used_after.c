// SPDX-License-Identifier: MIT
/* Disconnects an id that has been destroyed. */
#include "cm_pair.h"
#include "mistakes.h"

STACKED static void destroys(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	must(rdma_destroy_id(id) == 0, "destroy an id");
}

STACKED static void disconnects(struct rdma_cm_id *id)
{
	rdma_disconnect(id);
}

void life_id_used_after(bool right)
{
	struct cm_pair pair;

	cm_open(&pair);
	cm_connect(&pair);
	cm_disconnect(&pair);
	if (right)
		disconnects(pair.client);
	destroys(pair.client);
	if (!right)
		disconnects(pair.client);
	pair.client = NULL;
	cm_close(&pair);
}
