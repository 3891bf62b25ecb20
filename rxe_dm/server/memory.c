// SPDX-License-Identifier: MIT
/* A device in shared memory: the server makes the files of the rings and the doorbells, shows the
 * processes who is there, and has a link of its own as slot 0. */
#include "rxe_dm/server/memory.h"

#include "net/link/clock.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/limit.h"
#include "rxe_dm/server/random.h"

#define MAX_MTU 4096u
/* What processes that have exited sent is tried to be freed so often. */
#define REAP_NS NSEC_PER_SEC

int memory_device_open(struct device *device)
{
	uint64_t cookie;
	int rc;

	random_fill(&cookie, sizeof(cookie));
	rc = memory_hub_open(&device->link.memory.hub, device->link.slots, cookie);
	if (rc)
		return limit_explain(rc, "no shared memory for packets of rxe_dm%u", device->index);
	device->link.max_mtu = MAX_MTU;
	device->link.rcvbuf = memory_ring_bytes();
	return 0;
}

int memory_device_attach(struct device *device, uint32_t slot)
{
	const int rc = memory_hub_attach(&device->link.memory.hub, slot);

	device->link.memory.is_left[slot] = false;
	return rc ? limit_explain(rc, "no rings for slot %u of rxe_dm%u", slot, device->index) : 0;
}

int memory_device_link(struct device *device, uint32_t slot, struct link **ret, int *ret_wait_fd)
{
	const struct memory_hub_slot *of = &device->link.memory.hub.slot[slot];
	int rc = of->file ? 0 : memory_device_attach(device, slot);
	const struct memory_cfg cfg = {
		.gid = device->link.gid,
		.slot = slot,
		.hub_fd = device->link.memory.hub.fd,
		.file_fd = of->fd,
		.file = of->file,
		.doorbell_fd = of->doorbell,
		.bells = device->link.memory.hub.bells,
		.meet = memory_hub_meet,
		.meet_arg = &device->link.memory.hub,
		.icrc = device->instance->settings.icrc,
		.complete = true,
	};

	if (rc == 0)
		rc = memory_open(ret, &cfg);
	if (rc)
		return rc;
	*ret_wait_fd = cfg.doorbell_fd;
	memory_device_wait(*ret);
	return 0;
}

void memory_device_wait(struct link *link)
{
	if (link_wait_begins(link))
		memory_wake_self(link);
}

void memory_device_detach(struct device *device, uint32_t slot)
{
	/* The device ends before its programs: the hub is closed. */
	if (!device->link.memory.hub.page)
		return;
	memory_hub_detach(&device->link.memory.hub, slot);
	device->link.memory.is_left[slot] = true;
}

uint64_t memory_device_settle(struct device *device, uint64_t now_ns)
{
	bool left = false;

	for (uint32_t slot = 0; slot < device->link.slots; slot++) {
		if (!device->link.memory.is_left[slot] || device->slots.at[slot])
			continue;
		device->link.memory.is_left[slot] =
			!memory_hub_reap(&device->link.memory.hub, slot);
		left |= device->link.memory.is_left[slot];
	}
	return left ? now_ns + REAP_NS : UINT64_MAX;
}
