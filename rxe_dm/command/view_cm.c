// SPDX-License-Identifier: MIT
/* Names of what the numbers of the connection manager mean. */
#include <arpa/inet.h>

#include "lib/control/cm.h"
#include "lib/control/rcm.h"
#include "net/wire/cm.h"
#include "rxe_dm/command/view.h"

const char *view_port_space(uint32_t port_space)
{
	switch ((enum rcm_port_space)port_space) {
	case RCM_PS_TCP: return "tcp";
	case RCM_PS_UDP: return "udp";
	case RCM_PS_IB: return "ib";
	case RCM_PS_IPOIB: return "ipoib";
	}
	return "?";
}

const char *view_id_state(uint32_t state)
{
	static const char *const names[] = {
		[CTL_CM_IDLE] = "idle",
		[CTL_CM_BOUND] = "bound",
		[CTL_CM_ADDR_RESOLVED] = "address resolved",
		[CTL_CM_ROUTE_RESOLVED] = "route resolved",
		[CTL_CM_LISTENING] = "listening",
		[CTL_CM_CONNECTING] = "connecting",
		[CTL_CM_REQUESTED] = "requested",
		[CTL_CM_ESTABLISHED] = "established",
		[CTL_CM_DISCONNECTING] = "disconnecting",
		[CTL_CM_DISCONNECTED] = "disconnected",
		[CTL_CM_REJECTED] = "failed",
		[CTL_CM_ADDR_QUERY] = "resolving the address",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

const char *view_cm_event(uint32_t event)
{
	switch (event) {
	case RCM_EVENT_ADDR_ERROR: return "ADDR_ERROR";
	case RCM_EVENT_ROUTE_ERROR: return "ROUTE_ERROR";
	case RCM_EVENT_CONNECT_ERROR: return "CONNECT_ERROR";
	case RCM_EVENT_UNREACHABLE: return "UNREACHABLE";
	case RCM_EVENT_REJECTED: return "REJECTED";
	}
	return "?";
}

const char *view_reject(uint32_t reason)
{
	static const char *const names[] = {
		[CM_REJ_NO_QP] = "no queue pair",
		[CM_REJ_NO_RESOURCES] = "no resources",
		[CM_REJ_TIMEOUT] = "timeout",
		[CM_REJ_UNSUPPORTED] = "unsupported request",
		[CM_REJ_INVALID_COMM_ID] = "unknown connection",
		[CM_REJ_INVALID_COMM_INSTANCE] = "unknown connection instance",
		[CM_REJ_INVALID_SERVICE_ID] = "no listener on the port",
		[CM_REJ_INVALID_TRANSPORT_TYPE] = "transport not supported",
		[CM_REJ_STALE_CONNECTION] = "stale connection: the queue pair number is in use",
		[CM_REJ_INVALID_GID] = "invalid GID",
		[CM_REJ_INVALID_MTU] = "invalid MTU",
		[CM_REJ_INSUFFICIENT_RESP_RESOURCES] = "too few responder resources",
		[CM_REJ_CONSUMER_DEFINED] = "by the program",
		[CM_REJ_INVALID_RNR_RETRY] = "invalid RNR retry count",
		[CM_REJ_DUPLICATE_LOCAL_COMM_ID] = "duplicate connection",
		[CM_REJ_INVALID_CLASS_VERSION] = "unsupported version",
		[CM_REJ_VENDOR_OPTION_UNSUPPORTED] = "vendor option not supported",
	};

	return reason < sizeof(names) / sizeof(names[0]) && names[reason] ? names[reason]
									  : "other reason";
}

const char *view_endpoint(const union ctl_cm_sockaddr *addr, char ret[static VIEW_ENDPOINT_MAX])
{
	char text[INET6_ADDRSTRLEN] = "";

	ret[0] = '\0';
	if (addr->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &addr->in.sin_addr, text, sizeof(text));
		snprintf(ret, VIEW_ENDPOINT_MAX, "%s:%u", text, ntohs(addr->in.sin_port));
	} else if (addr->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &addr->in6.sin6_addr, text, sizeof(text));
		snprintf(ret, VIEW_ENDPOINT_MAX, "[%s]:%u", text, ntohs(addr->in6.sin6_port));
	}
	return ret;
}
