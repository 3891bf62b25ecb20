// SPDX-License-Identifier: MIT
/* rdma resource: how many objects of each kind a device has, and lists of them. SRQs that
 * are not of XRC have no numbers: they are counted, and left out of the list. */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lib/control/cm.h"
#include "lib/control/rcm.h"
#include "rxe_dm/command/rdma.h"

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
		   const struct ctl_slot *slot, const struct ctl_shared_qp *qp)
{
	struct rdma_line line = rdma_begin_link(output, device);
	const bool connected = qp->type != IBV_QPT_UD;

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

static void list_qps(struct rdma_output *output, const struct view_device *device)
{
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];

		for (uint32_t j = 0; slot->pid && j < RXE_MAX_QP; j++) {
			if (slot->qp[j].qpn)
				put_qp(output, device, slot, &slot->qp[j]);
		}
	}
}

static void list_cqs(struct rdma_output *output, const struct view_device *device)
{
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];

		for (uint32_t j = 0; slot->pid && j < RXE_MAX_CQ; j++) {
			struct rdma_line line;

			if (!slot->cq[j].cqn)
				continue;
			line = rdma_begin_dev(output, device);
			rdma_number(&line, "cqn", slot->cq[j].cqn);
			rdma_number(&line, "cqe", slot->cq[j].cqe);
			put_process(&line, device, slot->pid);
			rdma_end(&line);
		}
	}
}

static void list_srqs(struct rdma_output *output, const struct view_device *device)
{
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];

		for (uint32_t j = 0; slot->pid && j < RXE_MAX_SRQ; j++) {
			struct rdma_line line;

			if (!slot->srq[j].srqn)
				continue;
			line = rdma_begin_dev(output, device);
			rdma_number(&line, "srqn", slot->srq[j].srqn);
			rdma_text(&line, "type", "XRC"); /* basic ones are their process's alone */
			rdma_number(&line, "pdn", slot->srq[j].pd);
			put_process(&line, device, slot->pid);
			rdma_end(&line);
		}
	}
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

static void list_objects(struct rdma_output *output, const struct view_device *device,
			 enum ctl_kind kind)
{
	for (size_t i = 0; i < device->num_objects; i++) {
		if (device->objects[i].kind == (uint32_t)kind)
			put_object(output, device, &device->objects[i]);
	}
}

void rdma_resource(struct rdma_output *output, const struct view *view,
		   const struct view_device *device, const char *kind)
{
	if (!kind)
		summary(output, view, device);
	else if (strcmp(kind, "qp") == 0)
		list_qps(output, device);
	else if (strcmp(kind, "cq") == 0)
		list_cqs(output, device);
	else if (strcmp(kind, "srq") == 0)
		list_srqs(output, device);
	else if (strcmp(kind, "mr") == 0)
		list_objects(output, device, CTL_KIND_MR);
	else if (strcmp(kind, "pd") == 0)
		list_objects(output, device, CTL_KIND_PD);
	else if (strcmp(kind, "ctx") == 0)
		list_objects(output, device, CTL_KIND_CONTEXT);
	else if (strcmp(kind, "cm_id") == 0)
		for (size_t i = 0; i < view->num_ids; i++) {
			if (is_on(&view->ids[i], device))
				put_id(output, device, &view->ids[i]);
		}
}
