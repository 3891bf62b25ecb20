// SPDX-License-Identifier: MIT
/* The file has one setting a line, "address=127.0.0.2", as the table of settings parses it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/settings.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#define FOLDER	  "/dev/shm/"
#define STAYS	  "stays\n"
#define NAMESPACE "namespace"
#define PROCESS	  "process"

/* "rxe_dm-0-4026531840-default": an instance belongs to one user and one network namespace. */
static void file_name(char ret[static 100], const char *instance)
{
	struct stat net = { 0 };

	if (stat("/proc/self/ns/net", &net))
		net.st_ino = 0;
	snprintf(ret, 100, "rxe_dm-%u-%llu-%.32s", (unsigned int)geteuid(),
		 (unsigned long long)net.st_ino, instance);
}

/* Linux gives the inode of a namespace that has ended to the next one, and this number never again.
 * 0: unknown, before Linux 5.14. */
static unsigned long long namespace_cookie(void)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	if (fd < 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len))
		cookie = 0;
	close(fd);
	return cookie;
}

/* Any user may create a file of that name, or a link to a file of this user: both are refused, and
 * nothing in them changes. */
static FILE *open_file(const char *name, int flags, const char *mode)
{
	char path[sizeof(FOLDER) + NAME_MAX];
	struct stat st;
	FILE *ret = NULL;
	int fd;

	snprintf(path, sizeof(path), FOLDER "%s", name);
	fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_nlink == 1)
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

/* Whether a server of a namespace that has ended left the file. */
static bool is_of_ended_namespace(const char *name, unsigned long long now)
{
	unsigned long long then = now;
	char line[64];
	FILE *f = open_file(name, O_RDONLY, "r");

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f) || sscanf(line, NAMESPACE "=%llu", &then) != 1)
		then = now;
	fclose(f);
	return then != now && then != 0 && now != 0;
}

static void remove_file(const char *name)
{
	char path[sizeof(FOLDER) + NAME_MAX];

	snprintf(path, sizeof(path), FOLDER "%s", name);
	unlink(path); /* the sticky bit protects files of other users */
}

/* Removes what servers of ended namespaces left that had this one's inode. */
static void sweep(void)
{
	const unsigned long long cookie = namespace_cookie();
	const struct dirent *entry;
	char prefix[100];
	DIR *folder = opendir(FOLDER);

	if (!folder)
		return;
	file_name(prefix, "");
	while ((entry = readdir(folder))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    is_of_ended_namespace(entry->d_name, cookie))
			remove_file(entry->d_name);
	}
	closedir(folder);
}

void ctl_saved_write(const struct ctl_settings *settings, bool stays)
{
	char name[100];
	FILE *f;

	sweep();
	file_name(name, settings->instance);
	f = open_file(name, O_WRONLY | O_CREAT, "w");
	if (!f)
		return;
	if (ftruncate(fileno(f), 0) == 0) {
		fprintf(f, NAMESPACE "=%llu\n" PROCESS "=%d\n", namespace_cookie(), (int)getpid());
		write_settings(f, settings);
		if (stays)
			fprintf(f, STAYS);
	}
	fclose(f);
}

/* A killed server's number may be that of another program. */
static bool is_server(int pid)
{
	char path[64], comm[20] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	fclose(f);
	return strcmp(comm, "rxe_dm\n") == 0;
}

/* The process that wrote the file, if it is in the network namespace; else 0. */
static pid_t running(const char *name, unsigned long long net)
{
	char line[64], path[64];
	struct stat st;
	int pid = 0;
	FILE *f = open_file(name, O_RDONLY, "r");

	while (f && pid == 0 && fgets(line, sizeof(line), f))
		sscanf(line, PROCESS "=%d", &pid);
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	if (pid <= 0 || stat(path, &st) || st.st_ino != net || !is_server(pid))
		return 0;
	return (pid_t)pid;
}

pid_t ctl_saved_elsewhere(const char *instance, unsigned long long *ret_namespace)
{
	char own[100], wanted[100], name[100];
	const struct dirent *entry;
	unsigned long long net;
	DIR *folder = opendir(FOLDER);
	pid_t pid = 0;

	file_name(own, instance);
	while (folder && pid == 0 && (entry = readdir(folder))) {
		snprintf(name, sizeof(name), "%.99s", entry->d_name);
		if (sscanf(name, "rxe_dm-%*u-%llu-", &net) != 1 || strcmp(name, own) == 0)
			continue;
		snprintf(wanted, sizeof(wanted), "rxe_dm-%u-%llu-%.32s", (unsigned int)geteuid(),
			 net, instance);
		if (strcmp(name, wanted) == 0)
			pid = running(name, net);
		if (pid)
			*ret_namespace = net;
	}
	if (folder)
		closedir(folder);
	return pid;
}

void ctl_saved_remove(const char *instance)
{
	char name[100];

	file_name(name, instance);
	remove_file(name);
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
	char line[CTL_DEVICE_MAX * (CTL_GID_STR_MAX + 5) + 300], name[100];
	FILE *f;

	if (is_given("address") || is_given("link") || is_given("interface") ||
	    is_given("gateway") || is_given("devices"))
		return false;
	file_name(name, settings->instance);
	if (is_of_ended_namespace(name, namespace_cookie()))
		return false;
	f = open_file(name, O_RDONLY, "r");
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
