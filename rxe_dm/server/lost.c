// SPDX-License-Identifier: MIT
/* The kernel counts for each socket what it drops at a full receive buffer. The server reads the
 * counts on request and when a program exits, because the program may be stopped.
 *
 * A socket's count wraps and is never reset; a slot gets what its socket adds while a process has
 * it. */
#include <assert.h>
#include <unistd.h>

#include "net/link/socket.h"
#include "rxe_dm/server/device.h"

/* -1: none, or the link is closed already: instance_fini() closes addresses first. */
static int socket_of(const struct device *device, uint32_t slot)
{
	if (device->address_lock < 0)
		return -1;
	switch (device->link) {
	case CTL_LINK_UDP: return device->group.fd[slot];
	case CTL_LINK_ETHERNET:
		if (slot == 0)
			return device->ethernet.rx_fd;
		return device->slot[slot] ? device->slot[slot]->lost_fd : -1;
	case CTL_LINK_MEMORY: return -1;
	}
	return -1;
}

void lost_begin(struct device *device, uint32_t slot)
{
	assert(slot > 0 && device->slot[slot]);
	device->lost_before[slot] = socket_drops(socket_of(device, slot));
}

static void update_slot(struct device *device, uint32_t slot)
{
	const int fd = socket_of(device, slot);
	uint32_t now;

	if (fd < 0)
		return;
	now = socket_drops(fd);
	device->shared->slot[slot].lost.link_recv_drops += now - device->lost_before[slot];
	device->lost_before[slot] = now;
}

static void update_foreign(struct device *device)
{
	const uint32_t now = udp_group_foreign(&device->group);

	device->shared->lost.foreign_drops += now - device->foreign_before;
	device->foreign_before = now;
}

void lost_update(struct device *device)
{
	update_foreign(device);
	update_slot(device, 0);
	for (uint32_t slot = 1; slot < device->slots; slot++) {
		if (device->slot[slot])
			update_slot(device, slot);
	}
}

void lost_retire(struct device *device, uint32_t slot)
{
	struct ctl_lost *lost = &device->shared->slot[slot].lost;

	update_slot(device, slot);
#define X(name) device->shared->lost.name += lost->name;
	CTL_LOST(X)
#undef X
	*lost = (struct ctl_lost){ 0 };
}
