// SPDX-License-Identifier: MIT
/* Asynchronous events over the socket that each process got when it attached. */
#include "rxe_dm/server/event.h"

#include "lib/control/client.h"
#include "lib/control/socket.h"
#include "rxe_dm/server/device.h"

void event_send(const struct device *device, uint32_t type)
{
	struct ctl_event event = { .type = type, .port = 1 };

	for (uint32_t slot = 1; slot < RXE_MAX_SLOTS; slot++) {
		if (device->slot[slot])
			ctl_send(device->slot[slot]->event_fd, &event, sizeof(event), NULL, 0,
				 MSG_DONTWAIT);
	}
}
