// SPDX-License-Identifier: MIT
/* librxe_dm_uverbs.so, preloaded by `rxe_dm run --uverbs`: makes /dev/infiniband/uverbsN appear to
 * exist.
 *
 * UCX uses a device only if stat() and access() find that node, which only root can create. UCX
 * never opens the node, it opens the device by verbs. So this library replaces these two calls,
 * under all names they have had in the C library. Each asks the system first. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NODE	    "/dev/infiniband/uverbs"
#define MAJOR	    231 /* of real nodes in Linux */
#define FIRST_MINOR 192
#define MAX_DEVICES 16

#define EXPORTED __attribute__((visibility("default")))

/* The number N of /dev/infiniband/uverbsN, or -1. */
static int node_of(const char *path)
{
	int number = 0, digits = 0;

	if (!path || strncmp(path, NODE, strlen(NODE)) != 0)
		return -1;
	for (path += strlen(NODE); *path >= '0' && *path <= '9' && digits < 2; path++, digits++)
		number = number * 10 + (*path - '0');
	return digits && !*path && number < MAX_DEVICES ? number : -1;
}

static int stat_node(const char *path, struct stat *ret)
{
	const int before = errno;
	int rc = fstatat(AT_FDCWD, path, ret, 0);
	int number = rc && errno == ENOENT ? node_of(path) : -1;

	if (number < 0)
		return rc;
	*ret = (struct stat){
		.st_mode = S_IFCHR | 0666,
		.st_nlink = 1,
		.st_rdev = makedev(MAJOR, (unsigned int)(FIRST_MINOR + number)),
		.st_blksize = 4096,
	};
	errno = before;
	return 0;
}

EXPORTED int stat(const char *restrict path, struct stat *restrict ret)
{
	return stat_node(path, ret);
}

/* glibc's further names of stat(). */
#ifdef __GLIBC__
static_assert(sizeof(struct stat) == sizeof(struct stat64), "one structure under two names");
EXPORTED int stat64(const char *restrict path, struct stat64 *restrict ret)
{
	return stat_node(path, (struct stat *)ret);
}

/* Called by programs built before glibc 2.33. 64-bit systems have one version of the structure. */
int __xstat(int version, const char *path, struct stat *ret);
int __xstat64(int version, const char *path, struct stat64 *ret);

EXPORTED int __xstat(int version, const char *path, struct stat *ret)
{
	(void)version;
	return stat_node(path, ret);
}

EXPORTED int __xstat64(int version, const char *path, struct stat64 *ret)
{
	(void)version;
	return stat_node(path, (struct stat *)ret);
}
#endif

EXPORTED int access(const char *path, int mode)
{
	const int before = errno;
	int rc = faccessat(AT_FDCWD, path, mode, 0);

	if (!rc || errno != ENOENT || node_of(path) < 0)
		return rc;
	if (mode & X_OK) {
		errno = EACCES;
		return -1;
	}
	errno = before;
	return 0;
}
