/* SPDX-License-Identifier: MIT */
/* Ids: from their making to their end. */
#ifndef RXE_RDMACM_LIFE_H
#define RXE_RDMACM_LIFE_H

#include "lib/rdmacm/id.h"

/* An id for a connection request, on the listener's channel or its own as the listener has it.
 * NULL: the request was rejected. */
struct rcm_id *rcm_id_of_request(struct rcm_id *listener, const struct ctl_cm_event *event);
int rcm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type, struct rcm_id **ret);

#endif
