// SPDX-License-Identifier: MIT
/* Destroys an event channel before the id that is on it. */
#include <rdma/rdma_cma.h>

#include "mistakes.h"
#include "pair.h"

STACKED static struct rdma_event_channel *makes_channel(void)
{
	return rdma_create_event_channel();
}

STACKED static void makes_id(struct rdma_event_channel *channel, struct rdma_cm_id **id)
{
	must(rdma_create_id(channel, id, NULL, RDMA_PS_TCP) == 0, "create an id");
}

STACKED static void destroys(struct rdma_event_channel *channel)
{
	rdma_destroy_event_channel(channel);
}

void cm_channel_in_use(bool right)
{
	struct rdma_event_channel *channel = makes_channel();
	struct rdma_cm_id *id;

	must(channel != NULL, "create an event channel");
	makes_id(channel, &id);
	if (right)
		must(rdma_destroy_id(id) == 0, "destroy an id");
	destroys(channel);
	if (!right)
		must(rdma_destroy_id(id) == 0, "destroy an id");
}
