// SPDX-License-Identifier: MIT
/* Requests that attach a process to a device and open, join and close contexts. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"

static int hand_out_rings(struct call *call, uint32_t slot)
{
	struct device *device = call->device;
	const struct memory_hub_slot *of = &device->memory.slot[slot];
	int rc = memory_device_attach(device, slot);

	if (rc)
		return rc;
	/* Closed once sent, as the event socket before them. */
	call->out_fd[4] = fcntl(of->fd, F_DUPFD_CLOEXEC, 0);
	call->out_fd[5] = fcntl(device->memory.fd, F_DUPFD_CLOEXEC, 0);
	if (call->out_fd[4] < 0 || call->out_fd[5] < 0) {
		rc = -errno;
		for (int i = 4; i < 6; i++)
			if (call->out_fd[i] >= 0)
				close(call->out_fd[i]);
		return rc;
	}
	call->out_fd[2] = of->doorbell;
	call->num_out = 6;
	return 0;
}

/* Hands out the slot's socket; of a memory link its doorbell and its rings; on an interface a new
 * pair, of which the server keeps a copy of the receive socket, for its drop count. */
static int hand_out_link(struct call *call, struct attachment *attachment)
{
	struct device *device = call->device;
	const uint32_t slot = attachment->slot;
	int rc;

	assert(attachment->device == device && attachment->lost_fd < 0);
	call->num_out = 4;
	call->keep_out = 3;
	if (device->link == CTL_LINK_UDP) {
		call->out_fd[2] = device->group.fd[slot];
		return 0;
	}
	if (device->link == CTL_LINK_MEMORY)
		return hand_out_rings(call, slot);
	call->num_out = 5;
	call->keep_out = 2;
	rc = ethernet_device_sockets(device, slot, &call->out_fd[2], &call->out_fd[4]);
	if (rc == 0)
		attachment->lost_fd = fcntl(call->out_fd[2], F_DUPFD_CLOEXEC, 0);
	return rc;
}

int serve_attach(struct call *call)
{
	struct device *device = call->device;
	struct attachment *attachment;
	int event_fd, rc;

	if (call->conn->attached[device->index])
		return -EALREADY;
	rc = slot_take(device, call->conn, &event_fd);
	if (rc)
		return rc;
	attachment = call->conn->attached[device->index];
	rc = hand_out_link(call, attachment);
	if (rc) {
		call->num_out = call->keep_out = 0;
		slot_give(attachment);
		close(event_fd);
		return rc;
	}
	slot_count_lost(device, attachment->slot);
	call->reply.attached = (struct ctl_msg_attached){
		.shared_bytes = sizeof(struct ctl_shared),
		.arena_bytes = device->arena.mapped,
		.slot = attachment->slot,
		.link = device->link,
	};
	call->out_fd[0] = device->shared_fd;
	call->out_fd[1] = device->arena.fd;
	call->out_fd[3] = event_fd;
	return 0;
}

int serve_meet(struct call *call)
{
	struct device *device = call->device;
	const struct attachment *attachment = call->conn->attached[device->index];

	if (device->link != CTL_LINK_MEMORY || !attachment || call->req.handle >= device->slots)
		return -EINVAL;
	call->out_fd[0] = memory_hub_meet(&device->memory, attachment->slot, call->req.handle,
					  &call->reply.met.epoch);
	if (call->out_fd[0] < 0)
		return call->out_fd[0];
	call->num_out = 1;
	return 0;
}

int serve_detach(struct call *call)
{
	struct attachment *attachment = call->conn->attached[call->device->index];

	if (!attachment)
		return -EINVAL;
	context_unbind(call->conn, call->device);
	slot_give(attachment);
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
	struct object *self = object_find(&call->device->objects, call->req.context);
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
