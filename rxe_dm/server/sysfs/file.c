// SPDX-License-Identifier: MIT
/* Folders and files of the tree. Other users may take names in /dev/shm: a folder of theirs is
 * refused, and no symbolic link is followed. A running server holds a lock (flock) on the root. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rxe_dm/server/sysfs/file.h"
#include "rxe_dm/server/sysfs/sysfs.h"

#define FOLDER_FLAGS  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define LOCK_TRIES    100
#define LOCK_PAUSE_MS 1

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

/* False: another process holds the lock, or has removed the folder. */
static bool take_lock(int fd)
{
	struct stat st;

	return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

static bool is_itself(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Recursive: as deep as the tree that the server makes. */
static void empty(int root)
{
	const int fd = openat(root, ".", FOLDER_FLAGS);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		int below;

		if (is_itself(entry->d_name) || unlinkat(root, entry->d_name, 0) == 0)
			continue;
		below = openat(root, entry->d_name, FOLDER_FLAGS);
		if (below < 0)
			continue;
		empty(below);
		close(below);
		unlinkat(root, entry->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
}

/* -EAGAIN: a server that starts is about to remove the folder, which a killed one has left. */
static int open_root(const char *path)
{
	int fd, rc = 0;

	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	fd = open(path, FOLDER_FLAGS);
	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (!is_ours(fd))
		rc = -EPERM;
	else if (!take_lock(fd))
		rc = -EAGAIN;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int sysfs_make_root(const char *path)
{
	int fd = -EAGAIN;

	for (int i = 0; i < LOCK_TRIES && fd == -EAGAIN; i++) {
		if (i > 0)
			poll(NULL, 0, LOCK_PAUSE_MS);
		fd = open_root(path);
	}
	if (fd >= 0)
		empty(fd);
	return fd;
}

void sysfs_remove_root(int root, const char *path)
{
	empty(root);
	rmdir(path);
	close(root);
}

void sysfs_remove_dead(const char *folder, const char *prefix)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		fd = openat(dirfd(dir), entry->d_name, FOLDER_FLAGS);
		if (fd >= 0 && is_ours(fd) && take_lock(fd)) {
			empty(fd);
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
		}
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

void sysfs_folder(int root, bool *ok, const char *path)
{
	*ok = *ok && mkdirat(root, path, 0755) == 0;
}

void sysfs_link(int root, bool *ok, const char *path, const char *to)
{
	*ok = *ok && symlinkat(to, root, path) == 0;
}

void sysfs_write(int root, bool *ok, const char *path, const char *text)
{
	char line[128];
	int len = snprintf(line, sizeof(line), "%s\n", text);
	int fd;

	if (!*ok)
		return;
	fd = openat(root, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	/* Shortened only after the write: a reader finds a value at any time. */
	*ok = fd >= 0 && len < (int)sizeof(line) && pwrite(fd, line, (size_t)len, 0) == len &&
	      ftruncate(fd, len) == 0;
	if (fd >= 0)
		close(fd);
}

void sysfs_node(int root, bool *ok, const char *path)
{
	const int fd =
		*ok ? openat(root, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644) : -1;

	*ok = fd >= 0;
	if (fd >= 0)
		close(fd);
}
