// SPDX-License-Identifier: MIT
/* The last attempts to connect that came to nothing: most programs exit when they hear of one. */
#include <stdbool.h>

#include "lib/control/rcm.h"
#include "rxe_dm/server/cm.h"
#include "rxe_dm/server/conn.h"

static bool is_failure(uint32_t event)
{
	return event == RCM_EVENT_ADDR_ERROR || event == RCM_EVENT_ROUTE_ERROR ||
	       event == RCM_EVENT_CONNECT_ERROR || event == RCM_EVENT_UNREACHABLE ||
	       event == RCM_EVENT_REJECTED;
}

void cm_failures_note(struct cm_failures *failures, struct rdma_id *id,
		      const struct ctl_cm_event *event, uint64_t now_ns)
{
	struct ctl_cm_listed described;

	if (!is_failure(event->event))
		return;
	rdma_id_describe(id, &described);
	failures->at[failures->count++ % CTL_CM_FAILURES_KEPT] = (struct ctl_cm_failure){
		.time_ns = now_ns,
		.id = described.id,
		.pid = ((const struct conn *)rdma_id_user(id)->owner)->pid,
		.port_space = described.port_space,
		.event = event->event,
		.status = event->status,
		.local = described.local,
		.remote = described.remote,
	};
}

void cm_failures_list(const struct cm_failures *failures, uint32_t first,
		      struct ctl_cm_failures *ret)
{
	const uint32_t oldest =
		failures->count > CTL_CM_FAILURES_KEPT ? failures->count - CTL_CM_FAILURES_KEPT : 0;
	const uint32_t kept = failures->count - oldest;

	for (; first < kept && ret->count < CTL_CM_FAILURES_PAGE; first++)
		ret->at[ret->count++] = failures->at[(oldest + first) % CTL_CM_FAILURES_KEPT];
	ret->next = first < kept ? first : 0;
}
