// SPDX-License-Identifier: MIT
/* The life of the tree: made on request, brought up to date, removed. */
#include "rxe_dm/server/sysfs/sysfs.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/control/socket.h"
#include "net/link/clock.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/listener.h"
#include "rxe_dm/server/serve.h"
#include "rxe_dm/server/sysfs/device.h"
#include "rxe_dm/server/sysfs/file.h"

/* A process that has asked for the files. It keeps its number when it executes the program. */
struct user_process {
	struct user_process *prev, *next;
	struct loop_source death; /* pidfd */
	pid_t pid;
	struct instance *instance;
};

struct sysfs {
	char path[CTL_SYSFS_PATH_MAX];
	int root;
	struct listener asked; /* the socket `refresh` */
	struct instance *instance;
	struct user_process *users;
	uint32_t num_users;
	uint64_t due_ns;
	struct sysfs_device held[CTL_DEVICE_MAX];
};

#define NAME "rxe_dm.sysfs-"

/* An instance belongs to one user and one network namespace. */
static void make_path(char ret[static CTL_SYSFS_PATH_MAX], const char *folder, const char *instance)
{
	struct stat net = { 0 };

	if (stat("/proc/self/ns/net", &net))
		net.st_ino = 0;
	snprintf(ret, CTL_SYSFS_PATH_MAX, "%s/" NAME "%u-%llu-%.32s", folder,
		 (unsigned int)geteuid(), (unsigned long long)net.st_ino, instance);
}

static void update_counters(struct sysfs *sysfs)
{
	struct instance *instance = sysfs->instance;

	for (uint32_t i = 0; i < instance->num_devices; i++)
		sysfs_update_counters(sysfs->root, &instance->devices[i], &sysfs->held[i]);
}

static void refresh_asked(struct listener *listener, int fd)
{
	update_counters(container_of(listener, struct sysfs, asked));
	close(fd);
}

/* Best effort: without the socket, counters are up to a second old. */
static void listen_for_refresh(struct sysfs *sysfs)
{
	struct ctl_name name = { .addr.sun_family = AF_UNIX, .len = sizeof(name.addr) };
	int fd;

	snprintf(name.addr.sun_path, sizeof(name.addr.sun_path), "%s/refresh", sysfs->path);
	fd = listener_bind(&name, SOCK_STREAM);
	sysfs->asked = (struct listener){ .all = &sysfs->instance->listeners,
					  .loop = &sysfs->instance->loop,
					  .source.fd = fd,
					  .accepted = refresh_asked };
	if (fd >= 0 && listener_watch(&sysfs->asked))
		listener_close(&sysfs->asked);
}

static void make_classes(int root, bool *ok)
{
	static const char *const folders[] = { "sys",
					       "sys/class",
					       "sys/class/infiniband",
					       "sys/class/infiniband_verbs",
					       "sys/class/infiniband_mad",
					       "dev",
					       "dev/infiniband",
					       "bin",
					       "host",
					       "host/sys",
					       "host/sys/class",
					       "host/dev" };
	char exe[PATH_MAX] = "";

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		sysfs_folder(root, ok, folders[i]);
	sysfs_write(root, ok, "sys/class/infiniband_verbs/abi_version", "6");
	sysfs_write(root, ok, "sys/class/infiniband_mad/abi_version", "5");
	sysfs_node(root, ok, "dev/infiniband/rdma_cm");
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0)
		sysfs_link(root, ok, "bin/rdma", exe);
}

/* Links to all that is in a folder, under its name in host/; names that are taken stay. from: of
 * the host, or the same below the tree. */
static void link_all(int root, const char *folder, const char *from)
{
	DIR *dir = opendir(from);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char below[PATH_MAX], to[PATH_MAX], name[PATH_MAX];
		bool ok = true;

		if (entry->d_name[0] == '.' ||
		    snprintf(below, sizeof(below), "%s/%s", from, entry->d_name) >= PATH_MAX ||
		    !realpath(below, to) ||
		    snprintf(name, sizeof(name), "host/%s/%s", folder, entry->d_name) >= PATH_MAX)
			continue;
		sysfs_link(root, &ok, name, to);
	}
	if (dir)
		closedir(dir);
}

/* host/: the same folders with the host's adapters beside our devices, as links. Where both have a
 * name (uverbs0) it is the host's. Adapters that come later are not there. */
static void make_host(int root, bool *ok, const char *tree)
{
	static const char *const folders[] = { "sys/class/infiniband", "sys/class/infiniband_verbs",
					       "sys/class/infiniband_mad", "dev/infiniband" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "host/%s", folders[i]);
		sysfs_folder(root, ok, path);
		snprintf(path, sizeof(path), "/%s", folders[i]);
		link_all(root, folders[i], path);
		snprintf(path, sizeof(path), "%.200s/%s", tree, folders[i]);
		link_all(root, folders[i], path);
	}
}

/* 0 or a negative errno: the folder cannot be made there. */
static int make_tree(struct sysfs *sysfs, const char *folder)
{
	struct instance *instance = sysfs->instance;
	bool ok = true;
	int rc;

	make_path(sysfs->path, folder, instance->settings.instance);
	sysfs->root = sysfs_make_root(sysfs->path);
	if (sysfs->root < 0)
		return sysfs->root;
	make_classes(sysfs->root, &ok);
	for (uint32_t i = 0; i < instance->num_devices; i++)
		sysfs_make_device(sysfs->root, &ok, &instance->devices[i], &sysfs->held[i]);
	rc = ok ? 0 : -errno;
	make_host(sysfs->root, &ok, sysfs->path);
	if (ok)
		return 0;
	rc = rc ? rc : -errno;
	sysfs_remove_root(sysfs->root, sysfs->path);
	return rc;
}

/* The name is taken: by another user, another server, or something that is no folder. */
static bool is_taken(int rc)
{
	return rc == -EPERM || rc == -EAGAIN || rc == -ENOTDIR || rc == -ELOOP;
}

static int open_sysfs(struct instance *instance)
{
	struct sysfs *sysfs = (struct sysfs *)calloc(1, sizeof(*sysfs));
	int rc, second = 0;

	if (!sysfs)
		return -ENOMEM;
	sysfs->instance = instance;
	rc = make_tree(sysfs, "/dev/shm");
	if (rc)
		second = make_tree(sysfs, "/tmp");
	if (second) {
		free(sysfs);
		return is_taken(rc) || is_taken(second) ? -EEXIST : rc;
	}
	listen_for_refresh(sysfs);
	instance->sysfs = sysfs;
	return 0;
}

void sysfs_resume(struct instance *instance)
{
	char path[CTL_SYSFS_PATH_MAX];

	make_path(path, "/dev/shm", instance->settings.instance);
	if (getenv("RXE_DM_SYSFS") || access(path, F_OK) == 0)
		open_sysfs(instance);
	snprintf(path, sizeof(path), NAME "%u-", (unsigned int)geteuid());
	sysfs_remove_dead("/dev/shm", path);
}

static void forget(struct user_process *user)
{
	struct sysfs *sysfs = user->instance->sysfs;

	loop_close(&user->instance->loop, &user->death);
	DL_DELETE(sysfs->users, user);
	sysfs->num_users--;
	free(user);
}

static void user_exited(struct loop_source *source, uint32_t events)
{
	(void)events;
	forget(container_of(source, struct user_process, death));
}

void sysfs_close(struct instance *instance)
{
	struct sysfs *sysfs = instance->sysfs;

	if (!sysfs)
		return;
	while (sysfs->users)
		forget(sysfs->users);
	assert(sysfs->num_users == 0);
	listener_close(&sysfs->asked);
	sysfs_remove_root(sysfs->root, sysfs->path);
	free(sysfs);
	instance->sysfs = NULL;
}

bool sysfs_in_use(const struct instance *instance)
{
	return instance->sysfs && instance->sysfs->num_users > 0;
}

uint64_t sysfs_run(struct instance *instance, uint64_t now_ns)
{
	struct sysfs *sysfs = instance->sysfs;

	if (!sysfs)
		return UINT64_MAX;
	for (uint32_t i = 0; i < instance->num_devices; i++)
		sysfs_update_state(sysfs->root, &instance->devices[i], &sysfs->held[i]);
	if (!sysfs->users)
		return UINT64_MAX;
	if (now_ns >= sysfs->due_ns) {
		update_counters(sysfs);
		sysfs->due_ns = now_ns + NSEC_PER_SEC;
	}
	return sysfs->due_ns;
}

/* The server stays while the process runs. */
static void watch(struct sysfs *sysfs, pid_t pid)
{
	struct user_process *user;
	int fd;

	DL_FOREACH (sysfs->users, user) {
		if (user->pid == pid)
			return;
	}
	if (sysfs->num_users >= SYSFS_MAX_USERS)
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	user = fd >= 0 ? (struct user_process *)calloc(1, sizeof(*user)) : NULL;
	if (!user) {
		if (fd >= 0)
			close(fd);
		return;
	}
	user->instance = sysfs->instance;
	user->pid = pid;
	user->death = (struct loop_source){ .fd = fd, .ready = user_exited };
	if (loop_add(&sysfs->instance->loop, &user->death, EPOLLIN)) {
		close(fd);
		free(user);
		return;
	}
	DL_APPEND(sysfs->users, user);
	sysfs->num_users++;
}

int serve_sysfs(struct call *call)
{
	struct instance *instance = call->conn->instance;
	const int rc = instance->sysfs ? 0 : open_sysfs(instance);

	if (rc)
		return rc;
	watch(instance->sysfs, call->conn->pid);
	memcpy(call->reply.sysfs.path, instance->sysfs->path, sizeof(instance->sysfs->path));
	return 0;
}
