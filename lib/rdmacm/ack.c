// SPDX-License-Identifier: MIT
/* Events that a program holds, until it acknowledges them. */
#include "lib/rdmacm/ack.h"

#include <stdlib.h>

#include "emu/container_of.h"
#include "lib/rdmacm/error.h"
#include "lib/refusal/refusal.h"

int rdma_ack_cm_event(struct rdma_cm_event *base)
{
	struct rcm_event *event = container_of(base, struct rcm_event, base);
	struct rcm_claim claim;

	if (!base)
		return rcm_result(refuse(WHY_NULL, "event"));
	claim = event->claim;
	free(event);
	rcm_id_ack(&claim);
	return 0;
}

void rcm_id_drop_event(struct rcm_id *id)
{
	struct rdma_cm_event *event = id->base.event;

	id->base.event = NULL;
	if (event)
		rdma_ack_cm_event(event);
}
