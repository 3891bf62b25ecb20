// SPDX-License-Identifier: MIT
/* Packets that the kernel threw away since a program's receive buffer was full: it counts them for each socket, and the server, which
 * has the sockets, looks when somebody asks and when a program goes. The program itself may be stopped, which is when it happens.
 *
 * A socket's count goes on for ever and wraps; a slot's is what was added while its process had it. */
#include "rxe_dm/server/lost.h"

#include <unistd.h>

#include "rxe_dm/server/device.h"

static int socket_of(const struct device *device, uint32_t slot)
{
	switch (device->link) {
	case CTL_LINK_UDP: return device->group.fd[slot];
	case CTL_LINK_VETH:
		if (slot == 0)
			return device->veth.rx_fd;
		return device->slot[slot] ? device->slot[slot]->lost_fd : -1;
	}
	return -1;
}

void lost_begin(struct device *device, uint32_t slot)
{
	device->lost_before[slot] = link_socket_drops(socket_of(device, slot));
}

static void look_at(struct device *device, uint32_t slot)
{
	const uint32_t now = link_socket_drops(socket_of(device, slot));

	device->shared->slot[slot].lost.link_recv_drops += now - device->lost_before[slot];
	device->lost_before[slot] = now;
}

static void look_at_sink(struct device *device)
{
	const uint32_t now = udp_group_foreign(&device->group);

	device->shared->lost.foreign_drops += now - device->foreign_before;
	device->foreign_before = now;
}

void lost_look(struct device *device)
{
	look_at_sink(device);
	look_at(device, 0);
	for (uint32_t slot = 1; slot < device->slots; slot++) {
		if (device->slot[slot])
			look_at(device, slot);
	}
}

void lost_retire(struct device *device, uint32_t slot)
{
	struct ctl_lost *lost = &device->shared->slot[slot].lost;

	look_at(device, slot);
#define X(name) device->shared->lost.name += lost->name;
	CTL_LOST(X)
#undef X
	*lost = (struct ctl_lost){ 0 };
}
