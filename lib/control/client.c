// SPDX-License-Identifier: MIT
/* The first call of a program: connects to the instance that the environment names. */
#include "lib/control/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/cancel.h"
#include "lib/control/connection.h"
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

/* The device knows the last part of a path. */
static bool is_profile(const struct ctl_device *device, const char *choice)
{
	const char *slash = strrchr(choice, '/');

	return strncmp(device->profile.name, slash ? slash + 1 : choice, CTL_PROFILE_NAME - 1) == 0;
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
	if (wish->link != CTL_LINK_AUTO && device->link != wish->link)
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
	if (secure_getenv("RXE_DM_PROFILE") && !is_profile(device, wish->profile))
		return "RXE_DM_PROFILE";
	if (secure_getenv("RXE_DM_MLX5") && device->mlx5 != wish->mlx5)
		return "RXE_DM_MLX5";
	if (secure_getenv("RXE_DM_RAW_PRIVILEGE") && device->raw_privilege != wish->raw_privilege)
		return "RXE_DM_RAW_PRIVILEGE";
	if (secure_getenv("RXE_DM_ICRC") && device->icrc != wish->icrc)
		return "RXE_DM_ICRC";
	if (secure_getenv("RXE_DM_TRAINS") && wish->trains && !device->trains)
		return "RXE_DM_TRAINS";
	return NULL;
}

/* Logs one line if a variable of the environment differs from what the running instance has:
 * settings take effect when a server starts. */
static void agree(const char *instance, const struct ctl_device *device, size_t n)
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

int ctl_connect(struct ctl_client **ret)
{
	struct ctl_device device[CTL_DEVICE_MAX];
	struct ctl_settings settings;
	char why[CTL_WHY_MAX];
	size_t n;
	int rc;
	NO_CANCEL;

	ctl_settings_init(&settings);
	if (!ctl_setting_from_env(&settings, ctl_setting_find("instance"), why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return -EINVAL;
	}
	rc = ctl_connect_as(ret, settings.instance, CTL_ROLE_PROGRAM, true);
	if (rc == 0 && ctl_list_devices(*ret, device, CTL_DEVICE_MAX, &n) == 0)
		agree(settings.instance, device, n);
	return rc;
}
