// SPDX-License-Identifier: MIT
/* The settings of the instance and the addresses of its devices, as one record. */
#include "rxe_dm/server/saved.h"

#include "lib/control/saved_settings.h"
#include "rxe_dm/server/instance.h"

/* The addresses that the devices have, also where the settings left the choice to the server. */
void saved_write(const struct instance *instance)
{
	struct ctl_settings running = instance->settings;

	running.num_addresses = instance->num_devices;
	for (uint32_t i = 0; i < instance->num_devices; i++)
		running.address[i] = instance->devices[i].gid;
	ctl_saved_write(&running, instance->persistent);
}
