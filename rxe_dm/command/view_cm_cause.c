// SPDX-License-Identifier: MIT
/* Why an attempt to connect came to nothing, in words that say what to do. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "lib/control/cm.h"
#include "lib/control/rcm.h"
#include "net/wire/cm.h"
#include "rxe_dm/command/view.h"

struct cause {
	const struct view *view;
	const struct ctl_cm_failure *failure;
	char host[INET6_ADDRSTRLEN]; /* the other side's address */
	uint16_t port;
	char *text; /* VIEW_CAUSE_MAX */
};

static void take_remote(struct cause *cause)
{
	const union ctl_cm_sockaddr *remote = &cause->failure->remote;

	if (remote->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &remote->in6.sin6_addr, cause->host, sizeof(cause->host));
		cause->port = ntohs(remote->in6.sin6_port);
	} else {
		inet_ntop(AF_INET, &remote->in.sin_addr, cause->host, sizeof(cause->host));
		cause->port = ntohs(remote->in.sin_port);
	}
}

static uint16_t port_of(const union ctl_cm_sockaddr *addr)
{
	return ntohs(addr->any.sa_family == AF_INET6 ? addr->in6.sin6_port : addr->in.sin_port);
}

/* A listener of this instance on the same port number, at another address or in another port space;
 * NULL: none. */
static const struct ctl_cm_listed *find_listener(const struct cause *cause)
{
	for (size_t i = 0; i < cause->view->num_ids; i++) {
		const struct ctl_cm_listed *id = &cause->view->ids[i];

		if (id->state == CTL_CM_LISTENING && port_of(&id->local) == cause->port)
			return id;
	}
	return NULL;
}

static void no_listener(struct cause *cause)
{
	const struct ctl_cm_listed *listener = find_listener(cause);
	char where[VIEW_ENDPOINT_MAX];
	int n = snprintf(cause->text, VIEW_CAUSE_MAX, "no listener on port %u at %s: ", cause->port,
			 cause->host);
	const size_t used = n > 0 && n < VIEW_CAUSE_MAX ? (size_t)n : 0;

	if (listener)
		snprintf(cause->text + used, VIEW_CAUSE_MAX - used,
			 "now process %d listens at %s (%s)", (int)listener->pid,
			 view_endpoint(&listener->local, where),
			 view_port_space(listener->port_space));
	else
		snprintf(cause->text + used, VIEW_CAUSE_MAX - used, "start the server first");
}

static void rejected(struct cause *cause)
{
	const uint32_t reason = (uint32_t)cause->failure->status;

	switch (reason) {
	case CM_REJ_INVALID_SERVICE_ID: no_listener(cause); return;
	case CM_REJ_CONSUMER_DEFINED:
		snprintf(cause->text, VIEW_CAUSE_MAX,
			 "the program at port %u of %s refused: it called rdma_reject(), destroyed "
			 "the id, or exited",
			 cause->port, cause->host);
		return;
	case CM_REJ_TIMEOUT:
		snprintf(cause->text, VIEW_CAUSE_MAX,
			 "%s gave up: its program left before the connection was established",
			 cause->host);
		return;
	case CM_REJ_INVALID_MTU:
		snprintf(cause->text, VIEW_CAUSE_MAX,
			 "%s refused: its port has a smaller MTU (reject reason %u): give both "
			 "interfaces the same",
			 cause->host, reason);
		return;
	case CM_REJ_STALE_CONNECTION:
		snprintf(cause->text, VIEW_CAUSE_MAX,
			 "stale connection: %s has another one with this queue pair number, and "
			 "ends that; connect again",
			 cause->host);
		return;
	}
	snprintf(cause->text, VIEW_CAUSE_MAX, "%s refused: %s (reject reason %u)", cause->host,
		 view_reject(reason), reason);
}

/* A status of SIDR_REP. */
static void datagrams_refused(struct cause *cause)
{
	const int status = cause->failure->status;

	if (status == CM_SIDR_UNSUPPORTED)
		no_listener(cause);
	else if (status == CM_SIDR_REJECTED)
		snprintf(cause->text, VIEW_CAUSE_MAX,
			 "the program at port %u of %s refused: it called rdma_reject()",
			 cause->port, cause->host);
	else
		snprintf(cause->text, VIEW_CAUSE_MAX, "%s refused: SIDR status %d", cause->host,
			 status);
}

static void unreachable(struct cause *cause)
{
	if (cause->failure->status > 0)
		datagrams_refused(cause);
	else
		snprintf(cause->text, VIEW_CAUSE_MAX,
			 "no answer from %s: is a device there, is UDP port 4791 open between "
			 "both, does the listener read its requests?",
			 cause->host);
}

static void no_address(struct cause *cause)
{
	const int status = cause->failure->status;

	if (status == -ENODEV)
		snprintf(cause->text, VIEW_CAUSE_MAX,
			 "no device has a route to %s: give rxe_dm --address one of the network "
			 "that leads there",
			 cause->host);
	else if (status == -ETIMEDOUT)
		snprintf(cause->text, VIEW_CAUSE_MAX,
			 "nobody on the device's Ethernet answers for %s, or for the gateway to "
			 "it: is that host up?",
			 cause->host);
	else
		snprintf(cause->text, VIEW_CAUSE_MAX, "no route to %s: %s", cause->host,
			 strerror(-status));
}

const char *view_cm_cause(const struct view *view, const struct ctl_cm_failure *failure,
			  char ret[static VIEW_CAUSE_MAX])
{
	struct cause cause = { .view = view, .failure = failure, .text = ret };

	take_remote(&cause);
	switch (failure->event) {
	case RCM_EVENT_REJECTED: rejected(&cause); return ret;
	case RCM_EVENT_UNREACHABLE: unreachable(&cause); return ret;
	case RCM_EVENT_ADDR_ERROR: no_address(&cause); return ret;
	}
	snprintf(ret, VIEW_CAUSE_MAX, "%s, status %d", view_cm_event(failure->event),
		 failure->status);
	return ret;
}
