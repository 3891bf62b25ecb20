// SPDX-License-Identifier: MIT
/* Ids of the connection manager and failures to connect, a line each, and as JSON. They belong to
 * the instance: a port is one port on all of its devices. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "lib/control/cm_numbers.h"
#include "lib/control/cm_request.h"
#include "net/link/clock.h"
#include "net/wire/cm_msg.h"
#include "rxe_dm/command/view.h"

#define MAX_LINES    200 /* what is left out is said */
#define IN_THE_TABLE 5	 /* failures; --json lists all */
#define CAUSE_MAX    256

static const char *port_space_str(uint32_t port_space)
{
	switch ((enum ctl_cm_port_space)port_space) {
	case CTL_CM_PS_TCP: return "tcp";
	case CTL_CM_PS_UDP: return "udp";
	case CTL_CM_PS_IB: return "ib";
	case CTL_CM_PS_IPOIB: return "ipoib";
	}
	return "?";
}

static const char *id_state_str(uint32_t state)
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

static const char *cm_event_str(uint32_t event)
{
	switch (event) {
	case CTL_CM_EVENT_ADDR_ERROR: return "ADDR_ERROR";
	case CTL_CM_EVENT_ROUTE_ERROR: return "ROUTE_ERROR";
	case CTL_CM_EVENT_CONNECT_ERROR: return "CONNECT_ERROR";
	case CTL_CM_EVENT_UNREACHABLE: return "UNREACHABLE";
	case CTL_CM_EVENT_REJECTED: return "REJECTED";
	}
	return "?";
}

static const char *reject_str(uint32_t reason)
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

static void show_details(const struct ctl_cm_listed *id, FILE *to)
{
	if (id->state == CTL_CM_LISTENING)
		fprintf(to, ", %u of %u requests not read", id->unread, id->backlog);
	if (id->dropped)
		fprintf(to, ", %u requests dropped: the backlog was full", id->dropped);
	if (id->qpn)
		fprintf(to, ", QP %06x", id->qpn);
	if (id->remote_qpn)
		fprintf(to, ", peer QP %06x", id->remote_qpn);
	if (id->port_num)
		fprintf(to, ", rxe_dm%u", id->device);
	if (id->reject)
		fprintf(to, ", rejected: %s (%u)", reject_str(id->reject), id->reject);
	fprintf(to, "\n");
}

void show_ids(const struct view *view, FILE *to)
{
	char local[VIEW_ENDPOINT_MAX], remote[VIEW_ENDPOINT_MAX];

	if (view->num_ids)
		fprintf(to, "\nrdma_cm:\n");
	for (size_t i = 0; i < view->num_ids && i < MAX_LINES; i++) {
		const struct ctl_cm_listed *id = &view->ids[i];
		const bool has_peer = id->state != CTL_CM_LISTENING && id->state != CTL_CM_BOUND &&
				      id->state != CTL_CM_IDLE;

		fprintf(to, "  %-5s %s%s%s %s, process %d", port_space_str(id->port_space),
			view_endpoint(&id->local, local), has_peer ? " -> " : "",
			has_peer ? view_endpoint(&id->remote, remote) : "", id_state_str(id->state),
			(int)id->pid);
		show_details(id, to);
	}
	if (view->num_ids > MAX_LINES)
		fprintf(to, "  ... and %zu more: --json lists all\n", view->num_ids - MAX_LINES);
}

struct cause {
	const struct view *view;
	const struct ctl_cm_failure *failure;
	char host[INET6_ADDRSTRLEN]; /* the other side's address */
	uint16_t port;
	struct view_text text;
};

static uint16_t port_of(const union ctl_cm_sockaddr *addr)
{
	return ntohs(addr->any.sa_family == AF_INET6 ? addr->in6.sin6_port : addr->in.sin_port);
}

static void take_remote(struct cause *cause)
{
	const union ctl_cm_sockaddr *remote = &cause->failure->remote;
	const bool is_v6 = remote->any.sa_family == AF_INET6;

	inet_ntop(is_v6 ? AF_INET6 : AF_INET,
		  is_v6 ? (const void *)&remote->in6.sin6_addr : &remote->in.sin_addr, cause->host,
		  sizeof(cause->host));
	cause->port = port_of(remote);
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

	view_add(&cause->text, "no listener on port %u at %s: ", cause->port, cause->host);
	if (listener)
		view_add(&cause->text, "now process %d listens at %s (%s)", (int)listener->pid,
			 view_endpoint(&listener->local, where),
			 port_space_str(listener->port_space));
	else
		view_add(&cause->text, "start the server first");
}

static void rejected(struct cause *cause)
{
	const uint32_t reason = (uint32_t)cause->failure->status;

	switch (reason) {
	case CM_REJ_INVALID_SERVICE_ID: no_listener(cause); return;
	case CM_REJ_CONSUMER_DEFINED:
		view_add(&cause->text,
			 "the program at port %u of %s refused: it called rdma_reject(), destroyed "
			 "the id, or exited",
			 cause->port, cause->host);
		return;
	case CM_REJ_TIMEOUT:
		view_add(&cause->text,
			 "%s gave up: its program left before the connection was established",
			 cause->host);
		return;
	case CM_REJ_INVALID_MTU:
		view_add(&cause->text,
			 "%s refused: its port has a smaller MTU (reject reason %u): give both "
			 "interfaces the same",
			 cause->host, reason);
		return;
	case CM_REJ_STALE_CONNECTION:
		view_add(&cause->text,
			 "stale connection: %s has another one with this queue pair number, and "
			 "ends that; connect again",
			 cause->host);
		return;
	}
	view_add(&cause->text, "%s refused: %s (reject reason %u)", cause->host, reject_str(reason),
		 reason);
}

/* A status of SIDR_REP. */
static void datagrams_refused(struct cause *cause)
{
	const int status = cause->failure->status;

	if (status == CM_SIDR_UNSUPPORTED)
		no_listener(cause);
	else if (status == CM_SIDR_REJECTED)
		view_add(&cause->text,
			 "the program at port %u of %s refused: it called rdma_reject()",
			 cause->port, cause->host);
	else
		view_add(&cause->text, "%s refused: SIDR status %d", cause->host, status);
}

static void unreachable(struct cause *cause)
{
	if (cause->failure->status > 0)
		datagrams_refused(cause);
	else
		view_add(&cause->text,
			 "no answer from %s: is a device there, is UDP port 4791 open between "
			 "both, does the listener read its requests?",
			 cause->host);
}

static void no_address(struct cause *cause)
{
	const int status = cause->failure->status;

	if (status == -ENODEV)
		view_add(&cause->text,
			 "no device has a route to %s: give rxe_dm --address one of the network "
			 "that leads there",
			 cause->host);
	else if (status == -ETIMEDOUT)
		view_add(&cause->text,
			 "nobody on the device's Ethernet answers for %s, or for the gateway to "
			 "it: is that host up?",
			 cause->host);
	else
		view_add(&cause->text, "no route to %s: %s", cause->host, strerror(-status));
}

static void too_many(struct cause *cause, const char *what, const char *key)
{
	const struct ctl_cm_refusal *refusal = &cause->failure->refusal;

	view_add(
		&cause->text,
		"the program asked for %s %u, its device has %u READs and atomics: ask for at most "
		"%u, or raise %s in the device's profile, rxe_dm-profile(5)",
		what, refusal->asked, refusal->most, refusal->most, key);
}

/* False: the other side, or the network. */
static bool refused_here(struct cause *cause)
{
	switch ((enum ctl_cm_refusal_reason)cause->failure->refusal.reason) {
	case CTL_CM_NO_REFUSAL: break;
	case CTL_CM_REFUSED_RESPONDER_RESOURCES:
		too_many(cause, "responder_resources", "max_qp_rd_atom");
		return true;
	case CTL_CM_REFUSED_INITIATOR_DEPTH:
		too_many(cause, "initiator_depth", "max_qp_init_rd_atom");
		return true;
	case CTL_CM_REFUSED_QP:
		view_add(&cause->text,
			 "the program's own queue pair did not go to RTS (%s): has the program "
			 "moved it itself, or does a fault rule apply ('rxe_dm fault list')?",
			 strerror(-cause->failure->status));
		return true;
	}
	return false;
}

/* Why an attempt to connect came to nothing, and what to do. */
static const char *cause_of(const struct view *view, const struct ctl_cm_failure *failure,
			    char ret[static CAUSE_MAX])
{
	struct cause cause = { .view = view, .failure = failure, .text = { ret, CAUSE_MAX, 0 } };

	take_remote(&cause);
	if (refused_here(&cause))
		return ret;
	switch (failure->event) {
	case CTL_CM_EVENT_REJECTED: rejected(&cause); return ret;
	case CTL_CM_EVENT_UNREACHABLE: unreachable(&cause); return ret;
	case CTL_CM_EVENT_ADDR_ERROR: no_address(&cause); return ret;
	}
	view_add(&cause.text, "%s, status %d", cm_event_str(failure->event), failure->status);
	return ret;
}

static uint64_t age_s(const struct ctl_cm_failure *failure)
{
	const uint64_t now_ns = clock_now_ns();

	return now_ns > failure->time_ns ? (now_ns - failure->time_ns) / 1000000000 : 0;
}

void show_cm_failures(const struct view *view, FILE *to)
{
	const size_t n = view->num_cm_failures;
	char local[VIEW_ENDPOINT_MAX], remote[VIEW_ENDPOINT_MAX], cause[CAUSE_MAX];

	if (n)
		fprintf(to, "\nconnections that failed:\n");
	for (size_t i = n > IN_THE_TABLE ? n - IN_THE_TABLE : 0; i < n; i++) {
		const struct ctl_cm_failure *failure = &view->cm_failures[i];

		fprintf(to, "  %" PRIu64 " s ago, process %d, %s %s -> %s: %s\n", age_s(failure),
			(int)failure->pid, port_space_str(failure->port_space),
			view_endpoint(&failure->local, local),
			view_endpoint(&failure->remote, remote), cause_of(view, failure, cause));
	}
}

static json_t *json_failure(const struct view *view, const struct ctl_cm_failure *failure)
{
	char text[CAUSE_MAX];
	json_t *ret = json_object();

	json_object_set_new(ret, "id", json_integer(failure->id));
	json_object_set_new(ret, "pid", json_integer(failure->pid));
	json_object_set_new(ret, "age_s", json_integer((json_int_t)age_s(failure)));
	json_object_set_new(ret, "port_space", json_string(port_space_str(failure->port_space)));
	json_object_set_new(ret, "local", json_string(view_endpoint(&failure->local, text)));
	json_object_set_new(ret, "remote", json_string(view_endpoint(&failure->remote, text)));
	json_object_set_new(ret, "event", json_string(cm_event_str(failure->event)));
	json_object_set_new(ret, "status", json_integer(failure->status));
	if (failure->refusal.asked) {
		json_object_set_new(ret, "asked", json_integer(failure->refusal.asked));
		json_object_set_new(ret, "most", json_integer(failure->refusal.most));
	}
	json_object_set_new(ret, "cause", json_string(cause_of(view, failure, text)));
	return ret;
}

json_t *show_json_cm_failures(const struct view *view)
{
	json_t *ret = json_array();

	for (size_t i = 0; i < view->num_cm_failures; i++)
		json_array_append_new(ret, json_failure(view, &view->cm_failures[i]));
	return ret;
}

static json_t *json_id(const struct ctl_cm_listed *id)
{
	char text[VIEW_ENDPOINT_MAX];
	json_t *ret = json_object();

	json_object_set_new(ret, "id", json_integer(id->id));
	json_object_set_new(ret, "pid", json_integer(id->pid));
	json_object_set_new(ret, "port_space", json_string(port_space_str(id->port_space)));
	json_object_set_new(ret, "state", json_string(id_state_str(id->state)));
	json_object_set_new(ret, "local", json_string(view_endpoint(&id->local, text)));
	json_object_set_new(ret, "remote", json_string(view_endpoint(&id->remote, text)));
	if (id->port_num)
		json_object_set_new(ret, "device", json_integer(id->device));
	json_object_set_new(ret, "qpn", json_integer(id->qpn));
	json_object_set_new(ret, "remote_qpn", json_integer(id->remote_qpn));
	json_object_set_new(ret, "backlog", json_integer(id->backlog));
	json_object_set_new(ret, "unread", json_integer(id->unread));
	json_object_set_new(ret, "dropped", json_integer(id->dropped));
	if (id->reject) {
		json_object_set_new(ret, "reject_reason", json_integer(id->reject));
		json_object_set_new(ret, "reject", json_string(reject_str(id->reject)));
	}
	return ret;
}

json_t *show_json_ids(const struct view *view)
{
	json_t *ret = json_array();

	for (size_t i = 0; i < view->num_ids; i++)
		json_array_append_new(ret, json_id(&view->ids[i]));
	return ret;
}
