// SPDX-License-Identifier: MIT
/* Requests about the instance as a whole: its devices, their users and objects, and its end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/settings.h"
#include "net/link/clock.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/serve.h"
#include "rxe_dm/server/slot.h"

int serve_device(struct call *call)
{
	const struct instance *instance = call->conn->instance;
	struct ctl_device *ret = &call->reply.device;
	const struct device *device;

	if (call->req.handle >= instance->num_devices)
		return -ENODEV;
	device = &instance->devices[call->req.handle];
	*ret = (struct ctl_device){
		.index = device->index,
		.count = instance->num_devices,
		.node_guid = device->guids.node,
		.sys_image_guid = device->guids.system_image,
		.arena_bytes = device->memory.ranges.len,
		.arena_used = device->memory.ranges.used,
		.arena_locked = device->memory.arena.locked,
		.arena_pages = instance->settings.arena_pages,
		.max_mtu = device->link.max_mtu,
		.if_index = device->link.if_index,
		.trains = instance->settings.trains,
		.mlx5 = instance->settings.mlx5,
		.slots = device->link.slots,
		.slots_used = device->link.slots - 1 - device->slots.free.count,
		.rcvbuf = device->link.rcvbuf,
		.link = device->link.kind,
		.link_fallback = device->link.is_fallback,
		.icrc = instance->settings.icrc != 0,
		.raw_privilege = instance->settings.raw_privilege != 0,
		.stopped = (uint8_t)instance->settings.stopped,
		.prefix_len = device->link.ethernet.prefix_len,
		.gateway = device->link.ethernet.gateway,
		.gids = { device->link.gid },
		.profile = instance->profile,
	};
	snprintf(ret->name, sizeof(ret->name), "rxe_dm%u", device->index);
	memcpy(ret->mac, device->link.ethernet.mac, sizeof(ret->mac));
	memcpy(ret->if_name, device->link.if_name, sizeof(ret->if_name));
	memcpy(ret->arena_kind, device->memory.arena.kind, sizeof(ret->arena_kind));
	memcpy(ret->arena_why, device->memory.arena.why, sizeof(ret->arena_why));
	return 0;
}

int serve_observe(struct call *call)
{
	slots_update_lost(call->device);
	call->out_fd[0] = call->device->shared_fd;
	call->num_out = call->keep_out = 1;
	return 0;
}

void serve_describe(const struct object *object, struct ctl_object *ret)
{
	*ret = (struct ctl_object){
		.handle = object->handle,
		.kind = object->kind,
		.context = object->context->self->handle,
		.pd = object->pd ? object->pd->handle : 0,
		.addr = object->addr,
		.len = object->len,
		.iova = object->iova,
		.key = object->key,
		.rights = object->rights,
		.mr_kind = object->mr_kind,
		.dm = object->dm ? object->dm->handle : 0,
		.dmah = object->dmah ? object->dmah->handle : 0,
		.umem = object->umem ? object->umem->handle : 0,
		.refs = object->refs,
		.slot = object->slot,
		.pid = object->owner ? object->owner->conn->pid : 0,
		.hints = object->hints,
	};
	if (object->kind == CTL_KIND_CONTEXT) {
		for (const struct user *user = object->context->users; user; user = user->next)
			ret->users++;
		if (object->context->users)
			ret->pid = object->context->users->conn->pid;
	}
}

int serve_objects(struct call *call)
{
	const struct objects *objects = &call->device->tables.objects;
	const struct object *object = object_from(objects, call->req.handle);
	struct ctl_msg_page *page = &call->reply.page;

	while (object && page->count < CTL_PAGE_OBJECTS) {
		serve_describe(object, &page->object[page->count++]);
		object = object_from(objects, object_index(object) + 1);
	}
	page->next = object ? object_index(object) : 0;
	return 0;
}

int serve_status(struct call *call)
{
	const struct instance *instance = call->conn->instance;
	struct ctl_msg_status *ret = &call->reply.info;

	*ret = (struct ctl_msg_status){
		.uptime_ns = clock_now_ns() - instance->life.started_ns,
		.pid = getpid(),
		.devices = instance->num_devices,
		.persistent = instance->life.persistent,
		.linger_s = instance->settings.linger_s,
		.version = RXE_DM_VERSION,
	};
	for (uint32_t i = 0; i < instance->num_devices; i++) {
		ret->held |= instance->devices[i].faults.count ? CTL_HELD_BY_FAULTS : 0;
		ret->held |= instance->devices[i].captures.running ? CTL_HELD_BY_CAPTURE : 0;
	}
	for (const struct conn *conn = instance->conns.all; conn; conn = conn->next)
		ret->programs += conn->role == CTL_ROLE_PROGRAM;
	snprintf(ret->instance, sizeof(ret->instance), "%s", instance->settings.instance);
	return 0;
}

int serve_stay(struct call *call)
{
	struct instance *instance = call->conn->instance;

	instance->life.persistent = true;
	ctl_saved_write(&instance->settings, true);
	return 0;
}
