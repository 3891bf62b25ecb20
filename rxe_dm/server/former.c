// SPDX-License-Identifier: MIT
/* The file of a running server: "address=127.0.0.2", one setting a line, as the table of settings names and parses them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rxe_dm/server/former.h"

#define STAYS "stays\n"

/* Instances are of a user and of a network namespace. */
static void file_path(char ret[static 128], const char *instance)
{
	struct stat net = { 0 };

	if (stat("/proc/self/ns/net", &net))
		net.st_ino = 0;
	snprintf(ret, 128, "/dev/shm/rxe_dm-%u-%llu-%.32s", (unsigned int)geteuid(),
		 (unsigned long long)net.st_ino, instance);
}

/* Anybody may make a file of that name: only one of our own counts. */
static FILE *open_file(const char *instance, int flags, const char *mode)
{
	char path[128];
	struct stat st;
	FILE *ret = NULL;
	int fd;

	file_path(path, instance);
	fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		ret = fdopen(fd, mode);
	if (fd >= 0 && !ret)
		close(fd);
	return ret;
}

static void write_addresses(FILE *f, const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->num_devices; i++) {
		char text[CTL_GID_STR_MAX];

		fprintf(f, "%s%s",
			i ? "," : "address=", ctl_gid_str(&instance->devices[i].gid, text));
		if (instance->settings.prefix_len[i])
			fprintf(f, "/%u", instance->settings.prefix_len[i]);
	}
	fprintf(f, "\n");
}

static void write_settings(FILE *f, const struct instance *instance)
{
	static const struct gid none;
	const struct ctl_settings *settings = &instance->settings;
	char text[CTL_GID_STR_MAX];

	write_addresses(f, instance);
	fprintf(f, "link=%s\n", settings->link == CTL_LINK_VETH ? "veth" : "udp");
	if (settings->interface[0])
		fprintf(f, "interface=%s\n", settings->interface);
	if (!gid_equal(&settings->gateway, &none))
		fprintf(f, "gateway=%s\n", ctl_gid_str(&settings->gateway, text));
	fprintf(f, "arena=%llu\n", (unsigned long long)settings->arena_bytes);
	fprintf(f, "slots=%u\nlinger=%u\n", settings->slots, settings->linger_s);
	fprintf(f, "trains=%s\n", settings->trains ? "on" : "off");
	fprintf(f, "mlx5=%s\n", settings->mlx5 ? "on" : "off");
	if (settings->faults[0])
		fprintf(f, "faults=%s\n", settings->faults);
	if (instance->persistent)
		fprintf(f, STAYS);
}

void former_keep(const struct instance *instance)
{
	FILE *f = open_file(instance->settings.instance, O_WRONLY | O_CREAT | O_TRUNC, "w");

	if (!f)
		return;
	write_settings(f, instance);
	fclose(f);
}

void former_forget(const char *instance)
{
	char path[128];

	file_path(path, instance);
	unlink(path); /* in a folder with the sticky bit: only a file of our own */
}

static bool is_given(const char *option)
{
	const char *value = secure_getenv(ctl_setting_find(option)->env);

	return value && *value;
}

static void take_line(struct ctl_settings *settings, char *line)
{
	char *value = strchr(line, '=');
	const struct ctl_setting *setting;
	char why[CTL_WHY_MAX];

	if (!value)
		return;
	*value++ = '\0';
	value[strcspn(value, "\n")] = '\0';
	setting = ctl_setting_find(line);
	if (setting && !is_given(line))
		ctl_settings_set(settings, setting, setting->env, value, why);
}

bool former_take(struct ctl_settings *settings, bool *ret_stays)
{
	char line[CTL_DEVICE_MAX * (CTL_GID_STR_MAX + 5) + 300];
	FILE *f;

	if (is_given("address") || is_given("link") || is_given("interface") ||
	    is_given("gateway") || is_given("devices"))
		return false;
	f = open_file(settings->instance, O_RDONLY, "r");
	if (!f)
		return false;
	settings->devices = 0; /* as many as there are addresses */
	*ret_stays = false;
	while (fgets(line, sizeof(line), f)) {
		*ret_stays |= strcmp(line, STAYS) == 0;
		take_line(settings, line);
	}
	fclose(f);
	return true;
}
