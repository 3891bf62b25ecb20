// SPDX-License-Identifier: MIT
/* "rxe_dm.at-UID-PIDNS-ADDRESS-NETNS-INSTANCE" is a link to "/proc/PID/fd/N". */
#include "lib/control/published.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/folder.h"
#include "lib/control/process.h"
#include "lib/control/settings.h"
#include "lib/control/shared.h"

#ifndef F_GET_SEALS
#define F_GET_SEALS   1034
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW   4
#endif

#define SEALS	   (F_SEAL_SHRINK | F_SEAL_GROW)
#define PREFIX_MAX 128

static char folder_path[PATH_MAX] = "/dev/shm";
static pthread_once_t folder_once = PTHREAD_ONCE_INIT;

static void read_folder(void)
{
	const char *lab = secure_getenv("RXE_DM_LAB_FOLDER");

	if (lab && *lab)
		snprintf(folder_path, sizeof(folder_path), "%s", lab);
}

void ctl_published_init(void)
{
	pthread_once(&folder_once, read_folder);
}

static unsigned long long inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* The beginning of the names of all links to devices with this address; gid NULL: of all links. */
static size_t name_prefix(char ret[static PREFIX_MAX], const struct gid *gid)
{
	char address[CTL_GID_STR_MAX];

	return (size_t)snprintf(ret, PREFIX_MAX, "rxe_dm.at-%u-%llu-%s%s", (unsigned int)geteuid(),
				inode_of("/proc/self/ns/pid"), gid ? ctl_gid_str(gid, address) : "",
				gid ? "-" : "");
}

static bool link_path(char ret[static PATH_MAX], const char *instance, const struct gid *gid)
{
	char prefix[PREFIX_MAX];

	(void)name_prefix(prefix, gid);
	return snprintf(ret, PATH_MAX, "%s/%s%llu-%.32s", folder_path, prefix,
			inode_of("/proc/self/ns/net"), instance) < PATH_MAX;
}

/* Follows no link of another user: any user may make one in /dev/shm. */
static bool read_link(const char *name, char ret[static PATH_MAX])
{
	char path[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%s", folder_path, name) >= PATH_MAX)
		return false;
	if (lstat(path, &st) || !S_ISLNK(st.st_mode) || st.st_uid != geteuid())
		return false;
	n = readlink(path, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static void sweep(void)
{
	char prefix[PREFIX_MAX], target[PATH_MAX], path[PATH_MAX];
	const size_t len = name_prefix(prefix, NULL);
	struct ctl_folder folder;
	const char *name;

	ctl_folder_open(&folder, folder_path);
	while ((name = ctl_folder_next(&folder))) {
		if (strncmp(name, prefix, len) == 0 && read_link(name, target) &&
		    access(target, F_OK) &&
		    snprintf(path, sizeof(path), "%s/%s", folder_path, name) < PATH_MAX)
			unlink(path);
	}
	ctl_folder_close(&folder);
}

void ctl_publish(const char *instance, const struct gid *gid, int shared_fd)
{
	char path[PATH_MAX], target[64];

	ctl_published_init();
	sweep();
	if (!link_path(path, instance, gid))
		return;
	snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), shared_fd);
	unlink(path);
	if (symlink(target, path))
		return; /* peers on other instances do not wait */
}

void ctl_unpublish(const char *instance, const struct gid *gid)
{
	char path[PATH_MAX];

	if (link_path(path, instance, gid))
		unlink(path);
}

static bool is_shared_memory(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       st.st_size == (off_t)sizeof(struct ctl_shared) &&
	       (fcntl(fd, F_GET_SEALS) & SEALS) == SEALS;
}

static bool read_at(int fd, size_t at, void *ret, size_t len)
{
	return pread(fd, ret, len, (off_t)at) == (ssize_t)len;
}

/* -1: the server has exited, or the link leads to something else. */
static int open_shared(const char *name, const struct gid *gid)
{
	char target[PATH_MAX];
	int pid, number, end = 0, fd;
	struct gid own;

	if (!read_link(name, target) ||
	    sscanf(target, "/proc/%d/fd/%d%n", &pid, &number, &end) != 2 || target[end])
		return -1;
	fd = open(target, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (is_shared_memory(fd) &&
	    read_at(fd, offsetof(struct ctl_shared, gids), &own, sizeof(own)) &&
	    gid_equal(&own, gid))
		return fd;
	close(fd);
	return -1;
}

static size_t slot_at(uint32_t slot)
{
	return offsetof(struct ctl_shared, slot) + (size_t)slot * sizeof(struct ctl_slot);
}

/* The descriptor is read instead of mapped: a look needs a few dozen bytes of it. */
static bool read_peer(int fd, uint32_t qpn, uint32_t dest_qpn, struct ctl_published_peer *ret)
{
	const size_t slot = slot_at(qpn >> RXE_SLOT_SHIFT);
	const size_t qp = slot + offsetof(struct ctl_slot, qp) +
			  (size_t)(qpn % RXE_MAX_QP) * sizeof(struct ctl_shared_qp);
	struct ctl_shared_qp found;

	if (qpn >> RXE_SLOT_SHIFT >= RXE_MAX_SLOTS || !read_at(fd, qp, &found, sizeof(found)) ||
	    atomic_load(&found.qpn) != qpn || found.dest_qpn != dest_qpn)
		return false;
	return read_at(fd, slot + offsetof(struct ctl_slot, epoch), &ret->epoch,
		       sizeof(ret->epoch)) &&
	       read_at(fd, slot + offsetof(struct ctl_slot, comm), ret->comm, sizeof(ret->comm)) &&
	       read_at(fd, slot + offsetof(struct ctl_slot, pid), &ret->pid, sizeof(ret->pid)) &&
	       ret->pid != 0;
}

/* Calls look() with the memory of each device with this address, until it returns true. */
static bool look_at_all(const struct gid *gid,
			bool (*look)(int fd, const char *instance, void *context), void *context)
{
	char prefix[PREFIX_MAX];
	const size_t len = name_prefix(prefix, gid);
	struct ctl_folder folder;
	const char *name, *dash;
	bool found = false;

	ctl_folder_open(&folder, folder_path);
	while (!found && (name = ctl_folder_next(&folder))) {
		int fd;

		if (strncmp(name, prefix, len) != 0 || !(dash = strchr(name + len, '-')))
			continue;
		fd = open_shared(name, gid);
		if (fd < 0)
			continue;
		found = look(fd, dash + 1, context);
		close(fd);
	}
	ctl_folder_close(&folder);
	return found;
}

struct wanted {
	uint32_t qpn, dest_qpn;
	struct ctl_published_peer *ret;
};

static bool is_wanted(int fd, const char *instance, void *context)
{
	const struct wanted *wanted = context;

	if (!read_peer(fd, wanted->qpn, wanted->dest_qpn, wanted->ret))
		return false;
	snprintf(wanted->ret->instance, sizeof(wanted->ret->instance), "%s", instance);
	return true;
}

bool ctl_published_find(const struct gid *gid, uint32_t qpn, uint32_t dest_qpn,
			struct ctl_published_peer *ret)
{
	struct wanted wanted = { .qpn = qpn, .dest_qpn = dest_qpn, .ret = ret };

	return look_at_all(gid, is_wanted, &wanted);
}

static bool has_stopped(int fd, const char *instance, void *context)
{
	int32_t pid;

	(void)instance;
	(void)context;
	for (uint32_t slot = 0; slot < RXE_MAX_SLOTS; slot++) {
		if (read_at(fd, slot_at(slot) + offsetof(struct ctl_slot, pid), &pid,
			    sizeof(pid)) &&
		    pid != 0 && ctl_process_is_stopped(pid))
			return true;
	}
	return false;
}

bool ctl_published_has_stopped(const struct gid *gid)
{
	return look_at_all(gid, has_stopped, NULL);
}
