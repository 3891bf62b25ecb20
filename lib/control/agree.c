// SPDX-License-Identifier: MIT
/* Compares each setting that is given with what the devices report. */
#include "lib/control/agree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/settings.h"

/* A setting that was compared. */
struct compared {
	const char *variable;
	bool differs;
	char has[CTL_HAS_MAX];
};

static bool is_given(const char *variable)
{
	const char *value = secure_getenv(variable);

	return value && *value;
}

static bool has_address(const struct ctl_device *device, size_t n, const struct gid *gid)
{
	for (size_t i = 0; i < n; i++) {
		if (gid_equal(&device[i].gids[0], gid))
			return true;
	}
	return false;
}

static void compare_addresses(struct compared *ret, const struct ctl_settings *wish,
			      const struct ctl_device *device, size_t n)
{
	size_t len = 0;

	for (uint32_t i = 0; i < wish->num_addresses; i++)
		ret->differs |= !has_address(device, n, &wish->address[i]);
	for (size_t i = 0; i < n && len < sizeof(ret->has) - CTL_GID_STR_MAX - 1; i++) {
		char text[CTL_GID_STR_MAX];

		len += (size_t)snprintf(ret->has + len, sizeof(ret->has) - len, "%s%s",
					i ? "," : "", ctl_gid_str(&device[i].gids[0], text));
	}
}

/* Arenas have whole pages. */
static void compare_arena(struct compared *ret, const struct ctl_settings *wish,
			  const struct ctl_device *device)
{
	ret->differs = device->arena_bytes < wish->arena_bytes ||
		       device->arena_bytes - wish->arena_bytes >= 4096;
	snprintf(ret->has, sizeof(ret->has), "%" PRIu64 "K", device->arena_bytes >> 10);
}

/* The device has the last part of the profile's path. */
static void compare_profile(struct compared *ret, const struct ctl_settings *wish,
			    const struct ctl_device *device)
{
	const char *slash = strrchr(wish->profile, '/');

	ret->differs = strncmp(device->profile.name, slash ? slash + 1 : wish->profile,
			       CTL_PROFILE_NAME - 1) != 0;
	snprintf(ret->has, sizeof(ret->has), "%.64s", device->profile.name);
}

/* A setting that is a number in both; words are those of the table of settings, or NULL. */
static void compare_number(struct compared *ret, const char *option, uint32_t wish, uint32_t has)
{
	const struct ctl_setting *setting = ctl_setting_find(option);

	ret->differs = wish != has;
	if (setting->words)
		snprintf(ret->has, sizeof(ret->has), "%s", setting->words[has]);
	else
		snprintf(ret->has, sizeof(ret->has), "%u", has);
}

static void compare(struct compared *ret, const char *option, const struct ctl_settings *wish,
		    const struct ctl_device *device, size_t n)
{
	if (strcmp(option, "address") == 0)
		compare_addresses(ret, wish, device, n);
	else if (strcmp(option, "link") == 0 && wish->link != CTL_LINK_AUTO)
		compare_number(ret, option, wish->link, device->link);
	else if (strcmp(option, "interface") == 0) {
		ret->differs = strcmp(device->if_name, wish->interface) != 0;
		snprintf(ret->has, sizeof(ret->has), "%s", device->if_name);
	} else if (strcmp(option, "devices") == 0)
		compare_number(ret, option, wish->devices, (uint32_t)n);
	else if (strcmp(option, "arena") == 0)
		compare_arena(ret, wish, device);
	else if (strcmp(option, "arena-pages") == 0)
		compare_number(ret, option, wish->arena_pages, device->arena_pages);
	else if (strcmp(option, "profile") == 0)
		compare_profile(ret, wish, device);
	else if (strcmp(option, "mlx5") == 0)
		compare_number(ret, option, wish->mlx5, device->mlx5);
	else if (strcmp(option, "raw-privilege") == 0)
		compare_number(ret, option, wish->raw_privilege, device->raw_privilege);
	else if (strcmp(option, "stopped") == 0)
		compare_number(ret, option, wish->stopped, device->stopped);
	else if (strcmp(option, "icrc") == 0)
		compare_number(ret, option, wish->icrc, device->icrc);
	/* Off always matches: each program applies it itself. */
	else if (strcmp(option, "trains") == 0 && wish->trains)
		compare_number(ret, option, wish->trains, device->trains);
}

const char *ctl_contradicts(const struct ctl_device *device, size_t n,
			    char ret_has[static CTL_HAS_MAX])
{
	struct ctl_settings wish;
	char why[CTL_WHY_MAX];

	ctl_settings_init(&wish);
	if (n == 0 || !ctl_settings_from_env(&wish, why))
		return NULL;
	for (size_t i = 0; i < ctl_setting_count; i++) {
		const struct ctl_setting *setting = &ctl_setting_table[i];
		struct compared compared = { .variable = setting->env };

		if (is_given(setting->env))
			compare(&compared, setting->option, &wish, device, n);
		if (compared.differs) {
			memcpy(ret_has, compared.has, sizeof(compared.has));
			return compared.variable;
		}
	}
	return NULL;
}
