// SPDX-License-Identifier: MIT
/* The end of a call: a synchronous id waits for its event. */
#include "lib/rdmacm/finish.h"

#include <stdlib.h>

#include "lib/rdmacm/ack.h"
#include "lib/rdmacm/ask.h"
#include "lib/rdmacm/error.h"
#include "lib/refusal/refusal.h"

int rcm_id_finish(struct rcm_id *id)
{
	int status;

	if (!id->sync)
		return 0;
	rcm_id_drop_event(id);
	if (rdma_get_cm_event(id->base.channel, &id->base.event))
		return rcm_errno();
	status = id->base.event->status;
	/* The event is not what the call waits for, though its status is 0. */
	if (id->base.event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return refuse(WHY_SERVER_EXITED(ENODEV));
	if (status && id->base.event->event == RDMA_CM_EVENT_REJECTED)
		return refuse(WHY_CM_EVENT(ECONNREFUSED), rdma_event_str(id->base.event->event),
			      status);
	return status ? refuse(WHY_CM_EVENT(abs(status)), rdma_event_str(id->base.event->event),
			       status)
		      : 0;
}

int rcm_id_call(struct rcm_id *id, struct ctl_msg_cm *req)
{
	int err = rcm_id_ask(id, req, NULL);

	return err ? err : rcm_id_finish(id);
}
