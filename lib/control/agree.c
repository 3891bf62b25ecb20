// SPDX-License-Identifier: MIT
/* Compares the settings of a running server with the environment. Settings take effect when a
 * server starts: a program that asks for others later gets the reason on its log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/agree.h"
#include "lib/control/client.h"
#include "lib/control/log.h"
#include "lib/control/settings.h"

static bool has_address(const struct ctl_device *device, size_t n, const struct gid *gid)
{
	for (size_t i = 0; i < n; i++) {
		if (gid_equal(&device[i].gids[0], gid))
			return true;
	}
	return false;
}

/* Returns the first variable that the server does not match, or NULL. RXE_DM_TRAINS=off always
 * matches: each program applies it itself. Arenas have whole pages. */
static const char *disagrees(const struct ctl_settings *wish, const struct ctl_device *device,
			     size_t n)
{
	for (uint32_t i = 0; i < wish->num_addresses; i++) {
		if (!has_address(device, n, &wish->address[i]))
			return "RXE_DM_ADDRESS";
	}
	if (secure_getenv("RXE_DM_LINK") && device->link != wish->link)
		return "RXE_DM_LINK";
	if (wish->interface[0] && strcmp(device->if_name, wish->interface) != 0)
		return "RXE_DM_INTERFACE";
	if (wish->devices && wish->devices != n)
		return "RXE_DM_DEVICES";
	if (secure_getenv("RXE_DM_ARENA") && (device->arena_bytes < wish->arena_bytes ||
					      device->arena_bytes - wish->arena_bytes >= 4096))
		return "RXE_DM_ARENA";
	if (secure_getenv("RXE_DM_ARENA_PAGES") && device->arena_pages != wish->arena_pages)
		return "RXE_DM_ARENA_PAGES";
	if (secure_getenv("RXE_DM_MLX5") && device->mlx5 != wish->mlx5)
		return "RXE_DM_MLX5";
	if (secure_getenv("RXE_DM_TRAINS") && wish->trains && !device->trains)
		return "RXE_DM_TRAINS";
	return NULL;
}

void ctl_agree(const char *instance, const struct ctl_device *device, size_t n)
{
	struct ctl_settings wish;
	const char *variable;
	char why[CTL_WHY_MAX];

	ctl_settings_init(&wish);
	if (n == 0 || !ctl_settings_from_env(&wish, why))
		return;
	variable = disagrees(&wish, device, n);
	if (variable)
		ctl_log(CTL_LOG_ERROR,
			"%s is not what instance '%s' was started with, and changes nothing now: "
			"'rxe_dm stop' it first, or choose another instance with RXE_DM_INSTANCE",
			variable, instance);
}
