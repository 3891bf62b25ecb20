// SPDX-License-Identifier: MIT
/* Lines of `rdma`, as text or JSON, and rdma resource: how many objects of each kind a device has,
 * and lists of them. SRQs that are not of XRC have no numbers: they are counted, and left out of
 * the list. */
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lib/control/cm.h"
#include "lib/control/rcm.h"
#include "rxe_dm/command/rdma.h"

static struct rdma_line begin(struct rdma_output *output, const struct view_device *device)
{
	struct rdma_line ret = { .output = output };

	if (output->json) {
		ret.object = json_object();
		rdma_json_number(&ret, "ifindex", device->info.index);
		rdma_text(&ret, "ifname", device->info.name);
	}
	return ret;
}

struct rdma_line rdma_begin(struct rdma_output *output, const struct view_device *device)
{
	if (!output->json)
		printf("%u: %s: ", device->info.index, device->info.name);
	return begin(output, device);
}

struct rdma_line rdma_begin_dev(struct rdma_output *output, const struct view_device *device)
{
	if (!output->json)
		printf("dev %s ", device->info.name);
	return begin(output, device);
}

struct rdma_line rdma_begin_link(struct rdma_output *output, const struct view_device *device)
{
	struct rdma_line ret = begin(output, device);

	if (output->json)
		rdma_json_number(&ret, "port", 1);
	else
		printf("link %s/1 ", device->info.name);
	return ret;
}

void rdma_text(struct rdma_line *line, const char *name, const char *value)
{
	json_t *string;

	if (!line->output->json) {
		printf("%s %s ", name, value);
		return;
	}
	string = json_string(value); /* the name of a program need not be UTF-8 */
	json_object_set_new(line->object, name, string ? string : json_string("?"));
}

void rdma_json_number(struct rdma_line *line, const char *name, uint64_t value)
{
	if (line->output->json)
		json_object_set_new(line->object, name, json_integer((json_int_t)value));
}

void rdma_number(struct rdma_line *line, const char *name, uint64_t value)
{
	rdma_json_number(line, name, value);
	if (!line->output->json)
		printf("%s %" PRIu64 " ", name, value);
}

void rdma_key(struct rdma_line *line, const char *name, uint64_t value)
{
	rdma_json_number(line, name, value);
	if (!line->output->json)
		printf("%s 0x%" PRIx64 " ", name, value);
}

void rdma_counter(struct rdma_line *line, const char *name, uint64_t value)
{
	if (line->output->pretty && !line->output->json)
		printf("\n    ");
	rdma_number(line, name, value);
}

void rdma_end(struct rdma_line *line)
{
	if (line->output->json)
		json_array_append_new(line->output->lines, line->object);
	else
		printf("\n");
}

#define COMM_MAX 16

/* The process's name; pid 0: the server's own objects. */
static const char *comm_of(const struct view_device *device, int32_t pid, char ret[static COMM_MAX])
{
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];

		if (pid && slot->pid == pid)
			return view_plain(ret, COMM_MAX, slot->comm, sizeof(slot->comm));
	}
	return "?";
}

static void put_process(struct rdma_line *line, const struct view_device *device, int32_t pid)
{
	char comm[COMM_MAX];

	rdma_number(line, "pid", (uint64_t)pid);
	rdma_text(line, "comm", comm_of(device, pid, comm));
}

static bool is_on(const struct ctl_cm_listed *id, const struct view_device *device)
{
	return id->port_num && id->device == device->info.index;
}

static void summary(struct rdma_output *output, const struct view *view,
		    const struct view_device *device)
{
	struct rdma_line line = rdma_begin(output, device);
	uint32_t qps = 0, cqs = 0, srqs = 0, ids = 0;

	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];

		if (!slot->pid)
			continue;
		qps += view_num_qps(slot);
		cqs += view_num_cqs(slot);
		srqs += view_num_srqs(slot);
	}
	for (size_t i = 0; i < view->num_ids; i++)
		ids += is_on(&view->ids[i], device);
	rdma_number(&line, "pd", view_count(device, CTL_KIND_PD, 0));
	rdma_number(&line, "cq", cqs);
	rdma_number(&line, "qp", qps);
	rdma_number(&line, "cm_id", ids);
	rdma_number(&line, "mr", view_count(device, CTL_KIND_MR, 0));
	rdma_number(&line, "ctx", view_count(device, CTL_KIND_CONTEXT, 0));
	rdma_number(&line, "srq", srqs);
	rdma_end(&line);
}

static const char *qp_type(uint32_t type)
{
	if (type == IBV_QPT_XRC_SEND)
		return "XRC_INI";
	return type == IBV_QPT_XRC_RECV ? "XRC_TGT" : view_qp_type(type);
}

static const char *mig_state(uint32_t state)
{
	if (state == IBV_MIG_MIGRATED)
		return "MIGRATED";
	return state == IBV_MIG_REARM ? "REARM" : "ARMED";
}

static void put_qp(struct rdma_output *output, const struct view_device *device,
		   const struct ctl_slot *slot, uint32_t index)
{
	const struct ctl_shared_qp *qp = &slot->qp[index];
	const bool connected = qp->type != IBV_QPT_UD;
	struct rdma_line line;

	if (!qp->qpn)
		return;
	line = rdma_begin_link(output, device);
	rdma_number(&line, "lqpn", qp->qpn);
	rdma_number(&line, "pdn", qp->pd);
	if (connected)
		rdma_number(&line, "rqpn", qp->dest_qpn);
	rdma_text(&line, "type", qp_type(qp->type));
	rdma_text(&line, "state", view_qp_state(qp->state));
	if (connected)
		rdma_number(&line, "rq-psn", qp->rq_psn);
	rdma_number(&line, "sq-psn", qp->sq_psn);
	if (connected)
		rdma_text(&line, "path-mig-state", mig_state(qp->path_mig_state));
	put_process(&line, device, slot->pid);
	rdma_end(&line);
}

static void put_cq(struct rdma_output *output, const struct view_device *device,
		   const struct ctl_slot *slot, uint32_t index)
{
	struct rdma_line line;

	if (!slot->cq[index].cqn)
		return;
	line = rdma_begin_dev(output, device);
	rdma_number(&line, "cqn", slot->cq[index].cqn);
	rdma_number(&line, "cqe", slot->cq[index].cqe);
	put_process(&line, device, slot->pid);
	rdma_end(&line);
}

static void put_srq(struct rdma_output *output, const struct view_device *device,
		    const struct ctl_slot *slot, uint32_t index)
{
	struct rdma_line line;

	if (!slot->srq[index].srqn)
		return;
	line = rdma_begin_dev(output, device);
	rdma_number(&line, "srqn", slot->srq[index].srqn);
	rdma_text(&line, "type", "XRC"); /* basic ones are their process's alone */
	rdma_number(&line, "pdn", slot->srq[index].pd);
	put_process(&line, device, slot->pid);
	rdma_end(&line);
}

/* In Linux's words. */
static const char *id_state(uint32_t state)
{
	static const char *const names[] = {
		[CTL_CM_IDLE] = "IDLE",
		[CTL_CM_BOUND] = "ADDR_BOUND",
		[CTL_CM_ADDR_RESOLVED] = "ADDR_RESOLVED",
		[CTL_CM_ROUTE_RESOLVED] = "ROUTE_RESOLVED",
		[CTL_CM_LISTENING] = "LISTEN",
		[CTL_CM_CONNECTING] = "CONNECT",
		[CTL_CM_REQUESTED] = "CONNECT",
		[CTL_CM_ESTABLISHED] = "CONNECT",
		[CTL_CM_DISCONNECTING] = "DISCONNECT",
		[CTL_CM_DISCONNECTED] = "DISCONNECT",
		[CTL_CM_REJECTED] = "ROUTE_RESOLVED",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "UNKNOWN";
}

static const char *id_space(uint32_t port_space)
{
	switch ((enum rcm_port_space)port_space) {
	case RCM_PS_TCP: return "TCP";
	case RCM_PS_UDP: return "UDP";
	case RCM_PS_IB: return "IB";
	case RCM_PS_IPOIB: return "IPoIB";
	}
	return "---";
}

static void put_id(struct rdma_output *output, const struct view_device *device,
		   const struct ctl_cm_listed *id)
{
	struct rdma_line line = rdma_begin_link(output, device);
	char text[VIEW_ENDPOINT_MAX];

	rdma_number(&line, "cm-idn", id->id);
	if (id->qpn) {
		rdma_number(&line, "lqpn", id->qpn);
		rdma_text(&line, "qp-type",
			  id->port_space == RCM_PS_UDP || id->port_space == RCM_PS_IPOIB ? "UD"
											 : "RC");
	}
	rdma_text(&line, "state", id_state(id->state));
	rdma_text(&line, "ps", id_space(id->port_space));
	put_process(&line, device, id->pid);
	if (*view_endpoint(&id->local, text))
		rdma_text(&line, "src-addr", text);
	if (*view_endpoint(&id->remote, text))
		rdma_text(&line, "dst-addr", text);
	rdma_end(&line);
}

static void put_object(struct rdma_output *output, const struct view_device *device,
		       const struct ctl_object *object)
{
	struct rdma_line line = rdma_begin_dev(output, device);

	if (object->kind == CTL_KIND_MR) {
		rdma_key(&line, "rkey", object->key);
		rdma_key(&line, "lkey", object->key);
		rdma_key(&line, "iova", object->iova);
		rdma_number(&line, "mrlen", object->len);
		put_process(&line, device, object->pid);
		rdma_number(&line, "mrn", object->handle);
		rdma_number(&line, "pdn", object->pd);
	} else if (object->kind == CTL_KIND_PD) {
		rdma_number(&line, "pdn", object->handle);
		rdma_number(&line, "users", object->refs);
		rdma_number(&line, "ctxn", object->context);
	} else {
		rdma_number(&line, "ctxn", object->handle);
		put_process(&line, device, object->pid);
	}
	rdma_end(&line);
}

/* Entries that processes keep in their slots: a line each, if it is in use. */
struct list {
	const char *kind;
	uint32_t most;
	void (*put)(struct rdma_output *output, const struct view_device *device,
		    const struct ctl_slot *slot, uint32_t index);
};

static void list_slots(struct rdma_output *output, const struct view_device *device,
		       const struct list *list)
{
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];

		for (uint32_t j = 0; slot->pid && j < list->most; j++)
			list->put(output, device, slot, j);
	}
}

static void list_objects(struct rdma_output *output, const struct view_device *device,
			 enum ctl_kind kind)
{
	for (size_t i = 0; i < device->num_objects; i++) {
		if (device->objects[i].kind == (uint32_t)kind)
			put_object(output, device, &device->objects[i]);
	}
}

static void list_ids(struct rdma_output *output, const struct view *view,
		     const struct view_device *device)
{
	for (size_t i = 0; i < view->num_ids; i++) {
		if (is_on(&view->ids[i], device))
			put_id(output, device, &view->ids[i]);
	}
}

void rdma_resource(struct rdma_output *output, const struct view *view,
		   const struct view_device *device, const char *kind)
{
	static const struct list lists[] = { { "qp", RXE_MAX_QP, put_qp },
					     { "cq", RXE_MAX_CQ, put_cq },
					     { "srq", RXE_MAX_SRQ, put_srq } };

	for (size_t i = 0; kind && i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (strcmp(kind, lists[i].kind) == 0)
			list_slots(output, device, &lists[i]);
	}
	if (!kind)
		summary(output, view, device);
	else if (strcmp(kind, "mr") == 0)
		list_objects(output, device, CTL_KIND_MR);
	else if (strcmp(kind, "pd") == 0)
		list_objects(output, device, CTL_KIND_PD);
	else if (strcmp(kind, "ctx") == 0)
		list_objects(output, device, CTL_KIND_CONTEXT);
	else if (strcmp(kind, "cm_id") == 0)
		list_ids(output, view, device);
}
