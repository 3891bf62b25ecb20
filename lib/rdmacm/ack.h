/* SPDX-License-Identifier: MIT */
/* Events that a program holds, until it acknowledges them. */
#ifndef RXE_RDMACM_ACK_H
#define RXE_RDMACM_ACK_H

#include "lib/rdmacm/id.h"

struct rcm_event {
	struct rdma_cm_event base;
	struct rcm_claim claim;
	uint8_t private_data[CTL_CM_PRIVATE];
};

/* A synchronous id: acknowledges the event of the last call. */
void rcm_id_drop_event(struct rcm_id *id);

#endif
