// SPDX-License-Identifier: MIT
/* Ids of the connection manager, a line each, and as JSON. They belong to the instance: a port is
 * one port on all of its devices. */
#include <inttypes.h>
#include <jansson.h>

#include "lib/control/cm.h"
#include "net/link/clock.h"
#include "rxe_dm/command/view.h"

#define MAX_LINES    200 /* what is left out is said */
#define IN_THE_TABLE 5	 /* failures; --json lists all */

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
		fprintf(to, ", rejected: %s (%u)", view_reject(id->reject), id->reject);
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

		fprintf(to, "  %-5s %s%s%s %s, process %d", view_port_space(id->port_space),
			view_endpoint(&id->local, local), has_peer ? " -> " : "",
			has_peer ? view_endpoint(&id->remote, remote) : "",
			view_id_state(id->state), (int)id->pid);
		show_details(id, to);
	}
	if (view->num_ids > MAX_LINES)
		fprintf(to, "  ... and %zu more: --json lists all\n", view->num_ids - MAX_LINES);
}

static uint64_t age_s(const struct ctl_cm_failure *failure)
{
	const uint64_t now_ns = clock_now_ns();

	return now_ns > failure->time_ns ? (now_ns - failure->time_ns) / 1000000000 : 0;
}

void show_cm_failures(const struct view *view, FILE *to)
{
	const size_t n = view->num_cm_failures;
	char local[VIEW_ENDPOINT_MAX], remote[VIEW_ENDPOINT_MAX], cause[VIEW_CAUSE_MAX];

	if (n)
		fprintf(to, "\nconnections that failed:\n");
	for (size_t i = n > IN_THE_TABLE ? n - IN_THE_TABLE : 0; i < n; i++) {
		const struct ctl_cm_failure *failure = &view->cm_failures[i];

		fprintf(to, "  %" PRIu64 " s ago, process %d, %s %s -> %s: %s\n", age_s(failure),
			(int)failure->pid, view_port_space(failure->port_space),
			view_endpoint(&failure->local, local),
			view_endpoint(&failure->remote, remote),
			view_cm_cause(view, failure, cause));
	}
}

static json_t *json_failure(const struct view *view, const struct ctl_cm_failure *failure)
{
	char text[VIEW_CAUSE_MAX];
	json_t *ret = json_object();

	json_object_set_new(ret, "id", json_integer(failure->id));
	json_object_set_new(ret, "pid", json_integer(failure->pid));
	json_object_set_new(ret, "age_s", json_integer((json_int_t)age_s(failure)));
	json_object_set_new(ret, "port_space", json_string(view_port_space(failure->port_space)));
	json_object_set_new(ret, "local", json_string(view_endpoint(&failure->local, text)));
	json_object_set_new(ret, "remote", json_string(view_endpoint(&failure->remote, text)));
	json_object_set_new(ret, "event", json_string(view_cm_event(failure->event)));
	json_object_set_new(ret, "status", json_integer(failure->status));
	json_object_set_new(ret, "cause", json_string(view_cm_cause(view, failure, text)));
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
	json_object_set_new(ret, "port_space", json_string(view_port_space(id->port_space)));
	json_object_set_new(ret, "state", json_string(view_id_state(id->state)));
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
		json_object_set_new(ret, "reject", json_string(view_reject(id->reject)));
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
