// SPDX-License-Identifier: MIT
/* Requests about XRC domains, each of which belongs to an inode (ibv_open_xrcd(3)). Several
 * contexts and processes may have a domain open, each by a handle of its own; the domain lasts
 * until the last handle is closed. Engines compare domains by number.
 *
 * Then handles of XRC targets (ibv_open_qp(3)). A target queue pair is in the engine of the process
 * that created it; each process that created or opened it has a handle here. The server counts
 * them, and passes the queue pair's events on to all who opened it. The process ends the queue pair
 * when the last handle is freed. */
#include "rxe_dm/server/xrc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/limits.h"
#include "lib/control/client.h"
#include "lib/control/socket.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/serve.h"
#include "rxe_dm/server/slot.h"

/* Returns any handle of the inode's domain; NULL: it has none. */
static const struct object *find_domain(const struct device *device, const struct stat *of)
{
	const struct objects *objects = &device->tables.objects;
	const struct object *object = object_from(objects, 0);

	for (; object; object = object_from(objects, object_index(object) + 1)) {
		if (object->kind == CTL_KIND_XRCD && object->fd >= 0 &&
		    object->addr == (uint64_t)of->st_ino && object->len == (uint64_t)of->st_dev)
			return object;
	}
	return NULL;
}

/* Opens an O_PATH descriptor, which only keeps the inode number from being reused. */
static int hold_inode(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int check_flags(uint32_t flags, bool exists)
{
	if (flags & ~(uint32_t)(CTL_XRCD_CREATE | CTL_XRCD_EXCLUSIVE))
		return -EINVAL;
	if (!exists)
		return flags & CTL_XRCD_CREATE ? 0 : -EAGAIN;
	return (flags & CTL_XRCD_CREATE) && (flags & CTL_XRCD_EXCLUSIVE) ? -EINVAL : 0;
}

int serve_open_xrcd(struct call *call)
{
	const struct object *domain = NULL;
	struct stat inode = { 0 };
	struct object *xrcd;
	int rc, fd = -1;

	if (!call->device->instance->profile.xrc)
		return -EOPNOTSUPP;
	if (call->in_fd >= 0) {
		if (fstat(call->in_fd, &inode))
			return -errno;
		domain = find_domain(call->device, &inode);
	}
	rc = check_flags(call->req.xrcd.flags, domain != NULL);
	if (rc)
		return rc;
	if (call->in_fd >= 0) {
		fd = hold_inode(call->in_fd);
		if (fd < 0)
			return fd;
	}
	xrcd = context_new_object(call->context, CTL_KIND_XRCD);
	if (!xrcd) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	xrcd->fd = fd;
	xrcd->addr = inode.st_ino;
	xrcd->len = inode.st_dev;
	xrcd->key = domain ? domain->key : ++call->device->xrc.last_domain;
	call->reply.made.handle = xrcd->handle;
	call->reply.made.key = xrcd->key;
	return 0;
}

static uint32_t slot_of(uint32_t qpn)
{
	return qpn >> RXE_SLOT_SHIFT;
}

static void send_event(const struct device *device, uint32_t slot, uint32_t type, uint32_t qpn)
{
	const struct ctl_event event = { .type = CTL_EVENT_QP | type, .port = qpn };

	if (slot < RXE_MAX_SLOTS && device->slots.at[slot])
		ctl_send(device->slots.at[slot]->event.fd, &event, sizeof(event), NULL, 0,
			 MSG_DONTWAIT);
}

static uint32_t count_handles(const struct device *device, uint32_t qpn)
{
	const struct object *handle;
	uint32_t ret = 0;

	DL_FOREACH2(device->xrc.targets, handle, wnext)
	{
		ret += qpn && handle->key == qpn;
	}
	return ret;
}

uint32_t target_others(const struct object *handle)
{
	return handle->key ? count_handles(handle->context->device, handle->key) - 1 : 0;
}

static bool is_in_domain(const struct device *device, uint32_t qpn, uint32_t domain)
{
	const struct object *handle;

	DL_FOREACH2(device->xrc.targets, handle, wnext)
	{
		if (handle->key == qpn)
			return handle->addr == domain;
	}
	return false;
}

static void end_handle(struct object *handle)
{
	struct device *device = handle->context->device;

	assert(handle->kind == CTL_KIND_QP);
	DL_DELETE2(device->xrc.targets, handle, wprev, wnext);
	if (handle->key && count_handles(device, handle->key) == 0)
		send_event(device, slot_of(handle->key), 0, handle->key);
}

int serve_open_qp(struct call *call)
{
	const struct object *xrcd = context_find(call->context, call->req.qp.xrcd, CTL_KIND_XRCD);
	const uint32_t qpn = call->req.qp.qpn;
	struct object *handle;

	if (!call->attachment || !xrcd || !qpn || slot_of(qpn) >= RXE_MAX_SLOTS)
		return -EINVAL;
	if (call->req.qp.is_new ? slot_of(qpn) != call->attachment->slot ||
					  count_handles(call->device, qpn) != 0
				: !is_in_domain(call->device, qpn, xrcd->key))
		return -EINVAL;
	handle = context_new_object(call->context, CTL_KIND_QP);
	if (!handle)
		return -ENOMEM;
	handle->end = end_handle;
	handle->key = qpn;
	handle->addr = xrcd->key;
	handle->slot = call->attachment->slot;
	object_own(handle, call->user);
	DL_APPEND2(call->device->xrc.targets, handle, wprev, wnext);
	call->reply.made.handle = handle->handle;
	call->reply.made.key = atomic_load(&call->device->shared->slot[slot_of(qpn)].epoch);
	return 0;
}

/* To each process once, however many handles it has. */
static void send_to_all(const struct device *device, uint32_t type, uint32_t qpn)
{
	uint64_t sent[RXE_MAX_SLOTS / 64] = { 0 };
	const struct object *handle;

	DL_FOREACH2(device->xrc.targets, handle, wnext)
	{
		const uint64_t bit = 1ull << (handle->slot % 64);

		if (handle->key != qpn || (sent[handle->slot / 64] & bit))
			continue;
		sent[handle->slot / 64] |= bit;
		send_event(device, handle->slot, type, qpn);
	}
}

/* Handles stay, and name no queue pair any more. */
static void end_target(struct device *device, uint32_t qpn)
{
	struct object *handle;

	send_to_all(device, IBV_EVENT_QP_FATAL, qpn);
	DL_FOREACH2(device->xrc.targets, handle, wnext)
	{
		if (handle->key == qpn)
			handle->key = 0;
	}
}

void targets_of_slot_ended(struct device *device, uint32_t slot)
{
	const struct object *handle;

	DL_FOREACH2(device->xrc.targets, handle, wnext)
	{
		if (handle->key && slot_of(handle->key) == slot)
			end_target(device, handle->key);
	}
}

void target_event(struct device *device, uint32_t slot, uint32_t type, uint32_t qpn)
{
	if (!qpn || slot_of(qpn) != slot)
		return;
	if (type == CTL_EVENT_QP_ENDED)
		end_target(device, qpn);
	else if ((type & CTL_EVENT_QP) && (type & ~CTL_EVENT_QP) <= IBV_EVENT_QP_LAST_WQE_REACHED)
		send_to_all(device, type & ~CTL_EVENT_QP, qpn);
}
