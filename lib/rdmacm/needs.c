// SPDX-License-Identifier: MIT
/* The table of needs, by request, after the checks of rxe_dm/cma. */
#include "lib/rdmacm/needs.h"

#include <stddef.h>

#include "lib/control/cm_request.h"
#include "lib/refusal/refusal.h"

static const struct need {
	const char *sentence, *manual;
} needs[CTL_CM_OP_END] = {
	[CTL_CM_CREATE_ID] = {
		"the port space is none of RDMA_PS_TCP, UDP, IPOIB and IB, or the queue pair type "
		"is not of it",
		"rdma_create_id(3)",
	},
	[CTL_CM_BIND] = {
		"the id has an address already: an id is bound once, before it resolves an address",
		"rdma_bind_addr(3)",
	},
	[CTL_CM_RESOLVE_ADDR] = {
		"the id listens, resolves an address or has one resolved, or is bound to an address "
		"of the other family",
		"rdma_resolve_addr(3)",
	},
	[CTL_CM_RESOLVE_ROUTE] = {
		"the id has no resolved address, or has a route: wait for "
		"RDMA_CM_EVENT_ADDR_RESOLVED first",
		"rdma_resolve_route(3)",
	},
	[CTL_CM_LISTEN] = {
		"the id listens already, or resolves an address or is connected: listen on a new or "
		"a bound id",
		"rdma_listen(3)",
	},
	[CTL_CM_CONNECT] = {
		"the id has no resolved route (wait for RDMA_CM_EVENT_ROUTE_RESOLVED), connects "
		"already, or has more private data than its port space carries",
		"rdma_connect(3)",
	},
	[CTL_CM_ACCEPT] = {
		"the id has no connection request that waits for an answer, or more private data "
		"than its port space carries: accept the id of RDMA_CM_EVENT_CONNECT_REQUEST, once",
		"rdma_accept(3)",
	},
	[CTL_CM_REJECT] = {
		"the id has no connection request that waits for an answer, or more private data "
		"than its port space carries",
		"rdma_reject(3)",
	},
	[CTL_CM_ESTABLISH] = {
		"the id has no answer to complete: wait for RDMA_CM_EVENT_CONNECT_RESPONSE",
		"rdma_establish(3)",
	},
	[CTL_CM_NOTIFY] = {
		"the id has no connection that waits for its first message, or the event is not "
		"IBV_EVENT_COMM_EST",
		"rdma_notify(3)",
	},
	[CTL_CM_DISCONNECT] = {
		"the id was never connected: connect or accept first",
		"rdma_disconnect(3)",
	},
	[CTL_CM_INIT_QP_ATTR] = {
		"the id has not exchanged what a queue pair needs for this qp_state",
		"rdma_init_qp_attr(3)",
	},
	[CTL_CM_SET_OPTION] = {
		"the option's value has another length or is out of range, or the id is too far "
		"for it: set options before the id is bound",
		"rdma_set_option(3)",
	},
	[CTL_CM_JOIN] = {
		"the id must be of RDMA_PS_UDP or IPOIB and bound to a device, the address a "
		"multicast address of its family",
		"rdma_join_multicast(3)",
	},
};

int rcm_refuse_by_need(uint32_t op)
{
	const struct need *need = op < CTL_CM_OP_END ? &needs[op] : NULL;

	if (!need || !need->sentence)
		return refuse(WHY_CM_STATE(NULL),
			      "an argument is out of range, or the id is not in "
			      "the state that this call needs");
	return refuse(WHY_CM_STATE(need->manual), need->sentence);
}
