// SPDX-License-Identifier: MIT
/* Parses settings strictly: a value is accepted whole or refused with the reason. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/only_address.h"
#include "lib/control/settings.h"

#define ARENA_MIN (64ull << 10)
#define ARENA_MAX (1ull << 40)

static bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *ret)
{
	uint64_t value;

	if (!ctl_parse_number(text, 10, false, min, max, &value))
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* Copies a list's word, and moves to the comma after it or to the end. False: it is too long. */
static bool take_word(const char **at, char *ret, size_t size)
{
	const size_t len = strcspn(*at, ",");

	if (len >= size)
		return false;
	memcpy(ret, *at, len);
	ret[len] = '\0';
	*at += len;
	return true;
}

static bool parse_instance(struct ctl_settings *settings, const char *value)
{
	size_t len = strlen(value);

	if (len == 0 || len > CTL_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)value[i]) && !strchr("-_.", value[i]))
			return false;
	}
	memcpy(settings->instance, value, len + 1);
	return true;
}

bool ctl_gid_parse(struct gid *ret, const char *text)
{
	struct gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	if (inet_pton(AF_INET, text, gid.raw + 12) == 1 ||
	    inet_pton(AF_INET6, text, gid.raw) == 1) {
		*ret = gid;
		return true;
	}
	return false;
}

/* True: others can send to the address: it is no wildcard, multicast or broadcast address. */
static bool usable_address(const struct gid *gid)
{
	if (gid_is_multicast(gid) || gid_is_zero(gid))
		return false;
	return !gid_is_v4(gid) || (gid->raw[12] != 0 && gid->raw[12] < 240);
}

/* Parses "10.77.0.9/24": the address, and the length of its prefix in bits (0: not given). */
static bool parse_address_and_prefix(char *word, struct gid *ret, uint32_t *ret_prefix_len)
{
	char *slash = strchr(word, '/');

	*ret_prefix_len = 0;
	if (slash)
		*slash = '\0';
	if (!ctl_gid_parse(ret, word) || !usable_address(ret))
		return false;
	return !slash || parse_u32(slash + 1, 1, gid_is_v4(ret) ? 32 : 128, ret_prefix_len);
}

static bool parse_address(struct ctl_settings *settings, const char *value)
{
	struct gid list[CTL_DEVICE_MAX];
	uint32_t prefix_len[CTL_DEVICE_MAX];
	char word[CTL_GID_STR_MAX + 4];
	uint32_t n = 0;

	if (strcmp(value, "auto") == 0) {
		if (!ctl_only_address(&settings->address[0]))
			return false;
		settings->prefix_len[0] = 0;
		settings->num_addresses = 1;
		return true;
	}
	do {
		if (n == CTL_DEVICE_MAX || !take_word(&value, word, sizeof(word)) ||
		    !parse_address_and_prefix(word, &list[n], &prefix_len[n]))
			return false;
		for (uint32_t i = 0; i < n; i++) {
			if (gid_equal(&list[i], &list[n]))
				return false;
		}
		n++;
	} while (*value++ == ',');
	memcpy(settings->address, list, sizeof(list[0]) * n);
	memcpy(settings->prefix_len, prefix_len, sizeof(prefix_len[0]) * n);
	settings->num_addresses = n;
	return true;
}

static bool parse_interface(struct ctl_settings *settings, const char *value)
{
	size_t len = strlen(value);

	if (len == 0 || len >= sizeof(settings->interface) || strpbrk(value, "/ \t\n"))
		return false;
	memcpy(settings->interface, value, len + 1);
	return true;
}

static bool parse_gateway(struct ctl_settings *settings, const char *value)
{
	struct gid gid;

	if (!ctl_gid_parse(&gid, value) || !usable_address(&gid))
		return false;
	settings->gateway = gid;
	return true;
}

static bool parse_arena(struct ctl_settings *settings, const char *value)
{
	return ctl_parse_number(value, 10, true, ARENA_MIN, ARENA_MAX, &settings->arena_bytes);
}

static bool parse_allow_users(struct ctl_settings *settings, const char *value)
{
	uint32_t user[CTL_ALLOWED_USERS_MAX], n = 0;
	char word[12];

	settings->num_allowed_users = 0;
	settings->allow_all_users = strcmp(value, "all") == 0;
	if (settings->allow_all_users)
		return true;
	do {
		if (n == CTL_ALLOWED_USERS_MAX || !take_word(&value, word, sizeof(word)) ||
		    !parse_u32(word, 0, UINT32_MAX - 1, &user[n++]))
			return false;
	} while (*value++ == ',');
	memcpy(settings->allowed_user, user, sizeof(user[0]) * n);
	settings->num_allowed_users = n;
	return true;
}

/* A relative path is made absolute: the server runs in another directory. */
static bool take_path(char ret[static CTL_PATH_MAX], const char *value)
{
	size_t len = strlen(value);
	size_t at = 0;

	if (*value != '/') {
		if (!getcwd(ret, CTL_PATH_MAX))
			return false;
		at = strlen(ret);
		ret[at++] = '/';
	}
	if (len == 0 || at + len >= CTL_PATH_MAX)
		return false;
	memcpy(ret + at, value, len + 1);
	return true;
}

static bool parse_faults(struct ctl_settings *settings, const char *value)
{
	return take_path(settings->faults, value);
}

static bool parse_profile(struct ctl_settings *settings, const char *value)
{
	const size_t len = strlen(value);

	if (strchr(value, '/'))
		return take_path(settings->profile, value);
	if (len == 0 || len >= CTL_PROFILE_NAME)
		return false;
	memcpy(settings->profile, value, len + 1);
	return true;
}

#define NUMBER(member, least, most)                                                                \
	.at = offsetof(struct ctl_settings, member), .min = least, .max = most
#define WORDS(member, ...)                                                                         \
	.at = offsetof(struct ctl_settings, member), .words = (const char *const[])                \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}
#define SWITCH(member) WORDS(member, "off", "on", "no", "yes", "0", "1"), .max = 1

const struct ctl_setting ctl_setting_table[] = {
	{ "instance", "RXE_DM_INSTANCE", "NAME", "which instance, default 'default'",
	  "up to 32 letters, digits, '-', '_' or '.'", .parse = parse_instance },
	{ "address", "RXE_DM_ADDRESS", "ADDR[/LEN][,...]|auto",
	  "address of each device, or auto: that of the only interface that is up; default the "
	  "first free ones from 127.0.0.1 on",
	  "auto, where one interface is up beside the loopback interface, or IPv4 or IPv6 "
	  "addresses "
	  "of this machine, each once, separated by commas (no wildcard, no "
	  "multicast)",
	  .parse = parse_address },
	{ "link", "RXE_DM_LINK", "auto|udp|ethernet|memory",
	  "UDP sockets, frames on an Ethernet interface, or shared memory; default auto: UDP where "
	  "the kernel can do it, else memory",
	  "auto, udp, ethernet or memory", WORDS(link, "udp", "ethernet", "memory", "auto"),
	  .max = CTL_LINK_AUTO },
	{ "interface", "RXE_DM_INTERFACE", "IF", "with --link ethernet: the interface",
	  "the name of a network interface", .parse = parse_interface },
	{ "gateway", "RXE_DM_GATEWAY", "ADDR",
	  "with --link ethernet: router to other networks, default none", "an IPv4 or IPv6 address",
	  .parse = parse_gateway },
	{ "arena", "RXE_DM_ARENA", "SIZE", "device memory of each device, default 64M",
	  "a size such as 64M, from 64K to 1T", .parse = parse_arena },
	{ "arena-pages", "RXE_DM_ARENA_PAGES", "auto|huge|small",
	  "huge pages for it: if as many stay free (default), always, never", "auto, huge or small",
	  WORDS(arena_pages, "auto", "huge", "small"), .max = CTL_PAGES_SMALL },
	{ "devices", "RXE_DM_DEVICES", "N", "number of devices, default 1", "a number from 1 to 16",
	  NUMBER(devices, 1, CTL_DEVICE_MAX) },
	{ "linger", "RXE_DM_LINGER", "SECONDS",
	  "a server that a program started ends this long after the last one, default 30",
	  "a number of seconds", NUMBER(linger_s, 0, 1000000) },
	{ "slots", "RXE_DM_SLOTS", "N",
	  "maximum number of programs, plus 1 for the server, default 256",
	  "a number from 2 to 256", NUMBER(slots, 2, RXE_MAX_SLOTS) },
	{ "trains", "RXE_DM_TRAINS", "on|off",
	  "UDP_SEGMENT and UDP_GRO, default on; off for tcpdump", "on or off", SWITCH(trains) },
	{ "icrc", "RXE_DM_ICRC", "on|off",
	  "with --link memory: fill ICRCs in, and check them, default off", "on or off",
	  SWITCH(icrc) },
	{ "allow-users", "RXE_DM_ALLOW_USERS", "UID[,...]|all",
	  "other users of this host whose devices may send to ours, default none",
	  "up to 16 numbers of users ('id -u NAME' shows one), or all",
	  .parse = parse_allow_users },
	{ "mlx5", "RXE_DM_MLX5", "on|off", "let mlx5dv_is_supported() return true, default off",
	  "on or off", SWITCH(mlx5) },
	{ "raw-privilege", "RXE_DM_RAW_PRIVILEGE", "on|off",
	  "raw packets need CAP_NET_RAW without --link ethernet, too, default off", "on or off",
	  SWITCH(raw_privilege) },
	{ "stopped", "RXE_DM_STOPPED", "wait|lose",
	  "peers of a stopped program wait for it (default), or run out of retries", "wait or lose",
	  WORDS(stopped, "wait", "lose"), .max = CTL_STOPPED_LOSE },
	{ "faults", "RXE_DM_FAULTS", "FILE",
	  "fault rules that every device starts with, one per line",
	  "an absolute path of at most 255 characters", .parse = parse_faults },
	{ "profile", "RXE_DM_PROFILE", "NAME|PATH",
	  "limits and features of another device: default, rxe, connectx, tiny, or a file",
	  "a name, or a path with a '/'", .parse = parse_profile },
};
const size_t ctl_setting_count = sizeof(ctl_setting_table) / sizeof(ctl_setting_table[0]);

void ctl_settings_init(struct ctl_settings *ret)
{
	*ret = (struct ctl_settings){
		.instance = "default",
		.devices = 0,
		.slots = RXE_MAX_SLOTS,
		.link = CTL_LINK_AUTO,
		.linger_s = 30,
		.arena_bytes = 64ull << 20,
		.trains = true,
		.profile = "default",
	};
}

const struct ctl_setting *ctl_setting_find(const char *option)
{
	for (size_t i = 0; i < ctl_setting_count; i++) {
		if (strcmp(ctl_setting_table[i].option, option) == 0)
			return &ctl_setting_table[i];
	}
	return NULL;
}

static bool parse(struct ctl_settings *settings, const struct ctl_setting *setting,
		  const char *value)
{
	uint32_t *at = (void *)((char *)settings + setting->at);

	if (setting->parse)
		return setting->parse(settings, value);
	if (!setting->words)
		return parse_u32(value, setting->min, setting->max, at);
	for (uint32_t i = 0; setting->words[i]; i++) {
		if (strcmp(value, setting->words[i]) == 0) {
			*at = i % (setting->max + 1);
			return true;
		}
	}
	return false;
}

bool ctl_settings_set(struct ctl_settings *settings, const struct ctl_setting *setting,
		      const char *name, const char *value, char why[static CTL_WHY_MAX])
{
	if (parse(settings, setting, value))
		return true;
	snprintf(why, CTL_WHY_MAX, "%s is '%.40s': it expects %s", name, value, setting->expects);
	return false;
}

bool ctl_setting_from_env(struct ctl_settings *settings, const struct ctl_setting *setting,
			  char why[static CTL_WHY_MAX])
{
	const char *value = secure_getenv(setting->env);

	return !value || !*value || ctl_settings_set(settings, setting, setting->env, value, why);
}

bool ctl_settings_from_env(struct ctl_settings *settings, char why[static CTL_WHY_MAX])
{
	for (size_t i = 0; i < ctl_setting_count; i++) {
		if (!ctl_setting_from_env(settings, &ctl_setting_table[i], why))
			return false;
	}
	return true;
}

/* Returns a setting that only a device on an interface has, or NULL. */
static const char *wrong_without_interface(const struct ctl_settings *settings)
{
	if (settings->interface[0])
		return "an interface";
	if (!gid_is_zero(&settings->gateway))
		return "a gateway";
	for (uint32_t i = 0; i < settings->num_addresses; i++) {
		if (settings->prefix_len[i])
			return "the length of a network's prefix";
	}
	return NULL;
}

static const char *wrong_for_ethernet(const struct ctl_settings *settings)
{
	if (!settings->interface[0])
		return "an interface: --interface or RXE_DM_INTERFACE";
	if (settings->num_addresses == 0)
		return "an unused address: --address or RXE_DM_ADDRESS";
	for (uint32_t i = 0; i < settings->num_addresses; i++) {
		if (!gid_is_zero(&settings->gateway) &&
		    gid_is_v4(&settings->gateway) != gid_is_v4(&settings->address[i]))
			return "a gateway of the addresses' family: --gateway or RXE_DM_GATEWAY";
	}
	return NULL;
}

/* Checks that the settings of the link are complete, and that none is without effect. */
static bool check_link(const struct ctl_settings *settings, char why[static CTL_WHY_MAX])
{
	const char *what;

	if (settings->link == CTL_LINK_ETHERNET) {
		what = wrong_for_ethernet(settings);
		if (what)
			snprintf(why, CTL_WHY_MAX, "a device with --link ethernet needs %s", what);
		return !what;
	}
	what = wrong_without_interface(settings);
	if (what)
		snprintf(why, CTL_WHY_MAX,
			 "a device %s has no use for %s: remove it, or set --link ethernet "
			 "(RXE_DM_LINK=ethernet)",
			 settings->link == CTL_LINK_MEMORY ? "in shared memory" : "on UDP sockets",
			 what);
	return !what;
}

bool ctl_settings_check(struct ctl_settings *settings, char why[static CTL_WHY_MAX])
{
	if (settings->devices == 0)
		settings->devices = settings->num_addresses ? settings->num_addresses : 1;
	if (settings->num_addresses && settings->num_addresses != settings->devices) {
		snprintf(why, CTL_WHY_MAX,
			 "%u devices but %u addresses: give each device its own address, or none",
			 settings->devices, settings->num_addresses);
		return false;
	}
	return check_link(settings, why);
}

const char *ctl_gid_str(const struct gid *gid, char ret[static CTL_GID_STR_MAX])
{
	bool v4 = gid_is_v4(gid);

	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid->raw + 12 : gid->raw, ret, CTL_GID_STR_MAX);
	return ret;
}
