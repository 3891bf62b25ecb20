// SPDX-License-Identifier: MIT
/* The file has one setting a line, "address=127.0.0.2", as the table of settings parses it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/settings.h"

#define STAYS "stays\n"

/* An instance belongs to one user and one network namespace. */
static void file_path(char ret[static 128], const char *instance)
{
	struct stat net = { 0 };

	if (stat("/proc/self/ns/net", &net))
		net.st_ino = 0;
	snprintf(ret, 128, "/dev/shm/rxe_dm-%u-%llu-%.32s", (unsigned int)geteuid(),
		 (unsigned long long)net.st_ino, instance);
}

/* Any user may create a file of that name: one of another user is refused. */
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

static void write_addresses(FILE *f, const struct ctl_settings *settings)
{
	for (uint32_t i = 0; i < settings->num_addresses; i++) {
		char text[CTL_GID_STR_MAX];

		fprintf(f, "%s%s", i ? "," : "address=", ctl_gid_str(&settings->address[i], text));
		if (settings->prefix_len[i])
			fprintf(f, "/%u", settings->prefix_len[i]);
	}
	fprintf(f, "\n");
}

static void write_allowed_users(FILE *f, const struct ctl_settings *settings)
{
	if (settings->allow_all_users)
		fprintf(f, "allow-users=all\n");
	for (uint32_t i = 0; i < settings->num_allowed_users; i++)
		fprintf(f, "%s%u%s", i ? "," : "allow-users=", settings->allowed_user[i],
			i + 1 == settings->num_allowed_users ? "\n" : "");
}

static void write_settings(FILE *f, const struct ctl_settings *settings)
{
	char text[CTL_GID_STR_MAX];

	for (size_t i = 0; i < ctl_setting_count; i++) {
		const struct ctl_setting *setting = &ctl_setting_table[i];
		uint32_t value;

		if (setting->parse)
			continue;
		memcpy(&value, (const char *)settings + setting->at, sizeof(value));
		if (setting->words)
			fprintf(f, "%s=%s\n", setting->option, setting->words[value]);
		else
			fprintf(f, "%s=%u\n", setting->option, value);
	}
	write_addresses(f, settings);
	write_allowed_users(f, settings);
	if (settings->interface[0])
		fprintf(f, "interface=%s\n", settings->interface);
	if (!gid_is_zero(&settings->gateway))
		fprintf(f, "gateway=%s\n", ctl_gid_str(&settings->gateway, text));
	fprintf(f, "arena=%llu\n", (unsigned long long)settings->arena_bytes);
	fprintf(f, "profile=%s\n", settings->profile);
	if (settings->faults[0])
		fprintf(f, "faults=%s\n", settings->faults);
}

void ctl_saved_write(const struct ctl_settings *settings, bool stays)
{
	FILE *f = open_file(settings->instance, O_WRONLY | O_CREAT | O_TRUNC, "w");

	if (!f)
		return;
	write_settings(f, settings);
	if (stays)
		fprintf(f, STAYS);
	fclose(f);
}

void ctl_saved_remove(const char *instance)
{
	char path[128];

	file_path(path, instance);
	unlink(path); /* the sticky bit protects files of other users */
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

bool ctl_saved_read(struct ctl_settings *settings, bool *ret_stays)
{
	char line[CTL_DEVICE_MAX * (CTL_GID_STR_MAX + 5) + 300];
	FILE *f;

	if (is_given("address") || is_given("link") || is_given("interface") ||
	    is_given("gateway") || is_given("devices"))
		return false;
	f = open_file(settings->instance, O_RDONLY, "r");
	if (!f)
		return false;
	settings->devices = 0; /* one for each saved address */
	*ret_stays = false;
	while (fgets(line, sizeof(line), f)) {
		*ret_stays |= strcmp(line, STAYS) == 0;
		take_line(settings, line);
	}
	fclose(f);
	return true;
}
