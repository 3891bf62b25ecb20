// SPDX-License-Identifier: MIT
/* Events of channels. */
#include "lib/record/cm/cm.h"

BELOW(rdma_get_cm_event);
BELOW(rdma_ack_cm_event);

/* Events of datagrams and of groups have other parameters. */
static uint64_t private_bytes(const struct rdma_cm_event *event)
{
	if (event->id && event->id->qp_type == IBV_QPT_UD)
		return event->param.ud.private_data_len;
	return event->param.conn.private_data_len;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **ret)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_get_cm_event(channel, ret);
	const struct rdma_cm_event *event = rc ? NULL : *ret;

	if (event)
		RECORD_CM(RECORD_CM_GET_EVENT, began, 0, record_cm_fd(channel), event->event,
			  (uint64_t)event->status, record_cm_id(event->id), record_cm_qp(event->id),
			  record_cm_id(event->listen_id), private_bytes(event));
	else
		RECORD_CM(RECORD_CM_GET_EVENT, began, errno, record_cm_fd(channel));
	return rc;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	const uint64_t began = rxe_dm_record_now();
	const uint64_t type = event ? event->event : 0, id = event ? record_cm_id(event->id) : 0;
	const int rc = below_rdma_ack_cm_event(event);

	RECORD_CM(RECORD_CM_ACK_EVENT, began, record_cm_error(rc), type, id);
	return rc;
}
