// SPDX-License-Identifier: MIT
/* Requests that attach a process to a device and open, join and close contexts. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/link/ethernet.h"
#include "rxe_dm/server/memory.h"
#include "rxe_dm/server/serve.h"
#include "rxe_dm/server/slot.h"

/* Hands out the slot's socket; of a memory link its doorbell and its rings; on an interface a new
 * pair, of which the server keeps a copy of the receive socket, for its drop count. */
static int hand_out_link(struct call *call)
{
	struct device *device = call->device;
	const uint32_t slot = call->attachment->slot;
	int rc = 0;

	switch (device->link.kind) {
	case CTL_LINK_UDP:
		call->out_fd[2] = device->link.udp.fd[slot];
		call->keep_out |= 1u << 2;
		break;
	case CTL_LINK_MEMORY:
		rc = memory_device_attach(device, slot);
		call->out_fd[2] = device->link.memory.hub.slot[slot].doorbell;
		call->out_fd[4] = device->link.memory.hub.slot[slot].fd;
		call->out_fd[5] = device->link.memory.hub.fd;
		call->keep_out |= 1u << 2 | 1u << 4 | 1u << 5;
		call->num_out = 6;
		break;
	case CTL_LINK_ETHERNET:
		rc = ethernet_device_sockets(device, slot, &call->out_fd[2], &call->out_fd[4]);
		if (rc == 0)
			call->attachment->lost_fd = fcntl(call->out_fd[2], F_DUPFD_CLOEXEC, 0);
		call->num_out = 5;
		break;
	}
	return rc;
}

int serve_attach(struct call *call)
{
	struct device *device = call->device;
	int rc;

	if (call->attachment)
		return -EALREADY;
	rc = slot_take(device, call->conn, &call->out_fd[3]);
	if (rc)
		return rc;
	call->attachment = call->conn->attached[device->index];
	call->out_fd[0] = device->shared_fd;
	call->out_fd[1] = device->memory.arena.fd;
	call->keep_out = 1u << 0 | 1u << 1;
	call->num_out = 4;
	rc = hand_out_link(call);
	if (rc) {
		call->num_out = 0;
		close(call->out_fd[3]);
		slot_give(call->attachment);
		return rc;
	}
	slot_count_lost(device, call->attachment->slot);
	call->reply.attached = (struct ctl_msg_attached){
		.shared_bytes = sizeof(struct ctl_shared),
		.arena_bytes = device->memory.arena.mapped,
		.slot = call->attachment->slot,
		.link = device->link.kind,
	};
	return 0;
}

int serve_meet(struct call *call)
{
	struct device *device = call->device;

	if (device->link.kind != CTL_LINK_MEMORY || !call->attachment ||
	    call->req.handle >= device->link.slots)
		return -EINVAL;
	call->out_fd[0] = memory_hub_meet(&device->link.memory.hub, call->attachment->slot,
					  call->req.handle, &call->reply.met.epoch);
	if (call->out_fd[0] < 0)
		return call->out_fd[0];
	call->num_out = 1;
	return 0;
}

int serve_detach(struct call *call)
{
	if (!call->attachment)
		return -EINVAL;
	context_unbind(call->conn, call->device);
	slot_give(call->attachment);
	return 0;
}

static void reply_opened(struct call *call, const struct context *context)
{
	call->reply.opened = (struct ctl_msg_opened){
		.handle = context->self->handle,
		.device = context->device->index,
		.token = context->token,
	};
	call->num_out = 1;
}

int serve_open(struct call *call)
{
	struct context *context;
	int rc = context_open(call->device, call->conn, &context, &call->out_fd[0]);

	if (rc == 0)
		reply_opened(call, context);
	return rc;
}

int serve_adopt(struct call *call)
{
	struct object *self = object_find(&call->device->tables.objects, call->req.context);
	int rc;

	if (!self || self->kind != CTL_KIND_CONTEXT)
		return -ENOENT;
	if (self->context->token != call->req.token)
		return -EACCES;
	rc = context_join(self->context, call->conn, &call->out_fd[0]);
	if (rc == 0)
		reply_opened(call, self->context);
	return rc;
}

int serve_close(struct call *call)
{
	context_leave(call->user);
	return 0;
}
