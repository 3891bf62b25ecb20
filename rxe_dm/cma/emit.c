// SPDX-License-Identifier: MIT
/* Events on their way to the host. */
#include "rxe_dm/cma/emit.h"

#include "rxe_dm/cma/query.h"

void cma_id_emit(struct cma_id *id, struct ctl_cm_event *event)
{
	if (!id->user.token)
		return;
	event->id = id->handle;
	event->token = id->user.token;
	if (event->event != CTL_CM_EVENT_CONNECT_REQUEST) {
		cma_id_query(id, &event->addr);
		cma_id_all_attr(id, &event->attr);
	}
	id->ids->ops->event(id->ids->host, id, event);
}

void cma_id_emit_status(struct cma_id *id, enum ctl_cm_event_type type, int status)
{
	struct ctl_cm_event event = { .event = type, .status = status };

	cma_id_emit(id, &event);
}
