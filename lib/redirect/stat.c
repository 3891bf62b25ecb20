// SPDX-License-Identifier: MIT
/* What files are, under all names in the C library: the family of stat(), access(), symbolic links,
 * resolved paths, extended attributes (which ls asks for). */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/redirect/place.h"

/* The server's file for a device node is a plain one. */
static int as_node(int rc, const char *placed, const char *path, struct stat *st)
{
	unsigned int major_number, minor_number;

	if (rc == 0 && placed != path && S_ISREG(st->st_mode) &&
	    place_is_node(placed, &major_number, &minor_number)) {
		st->st_mode = S_IFCHR | 0666;
		st->st_rdev = makedev(major_number, minor_number);
	}
	return rc;
}

/* Calls the next definition of the same name: sanitizers watch some names and not others. */
#define STAT(name, path, ret, ...)                                                                 \
	(__extension__({                                                                           \
		char buf_[PATH_MAX];                                                               \
		const char *placed_ = place(path, buf_);                                           \
		as_node(NEXT(name)(__VA_ARGS__), placed_, path, (struct stat *)(ret));             \
	}))

EXPORTED int stat(const char *restrict path, struct stat *restrict ret)
{
	return STAT(stat, path, ret, placed_, ret);
}

EXPORTED int lstat(const char *restrict path, struct stat *restrict ret)
{
	return STAT(lstat, path, ret, placed_, ret);
}

EXPORTED int fstatat(int dir, const char *restrict path, struct stat *restrict ret, int flags)
{
	return STAT(fstatat, path, ret, dir, placed_, ret, flags);
}

/* glibc's further names. */
#ifdef __GLIBC__
static_assert(sizeof(struct stat) == sizeof(struct stat64), "one structure under two names");
EXPORTED int stat64(const char *restrict path, struct stat64 *restrict ret)
{
	return STAT(stat64, path, ret, placed_, ret);
}

EXPORTED int lstat64(const char *restrict path, struct stat64 *restrict ret)
{
	return STAT(lstat64, path, ret, placed_, ret);
}

EXPORTED int fstatat64(int dir, const char *restrict path, struct stat64 *restrict ret, int flags)
{
	return STAT(fstatat64, path, ret, dir, placed_, ret, flags);
}

/* Called by programs built before glibc 2.33. 64-bit systems have one version of the structure. */
#define OLD(suffix, type)                                                                          \
	int __xstat##suffix(int version, const char *path, type *ret);                             \
	int __lxstat##suffix(int version, const char *path, type *ret);                            \
	int __fxstatat##suffix(int version, int dir, const char *path, type *ret, int flags);      \
	EXPORTED int __xstat##suffix(int version, const char *path, type *ret)                     \
	{                                                                                          \
		return STAT(__xstat##suffix, path, ret, version, placed_, ret);                    \
	}                                                                                          \
	EXPORTED int __lxstat##suffix(int version, const char *path, type *ret)                    \
	{                                                                                          \
		return STAT(__lxstat##suffix, path, ret, version, placed_, ret);                   \
	}                                                                                          \
	EXPORTED int __fxstatat##suffix(int version, int dir, const char *path, type *ret,         \
					int flags)                                                 \
	{                                                                                          \
		return STAT(__fxstatat##suffix, path, ret, version, dir, placed_, ret, flags);     \
	}
OLD(, struct stat)
OLD(64, struct stat64)
#endif

#ifdef STATX_TYPE
EXPORTED int statx(int dir, const char *restrict path, int flags, unsigned int mask,
		   struct statx *restrict ret)
{
	char buf[PATH_MAX];
	const char *placed = place(path, buf);
	const int rc = NEXT(statx)(dir, placed, flags, mask, ret);

	if (rc == 0 && placed != path && S_ISREG(ret->stx_mode) &&
	    place_is_node(placed, &ret->stx_rdev_major, &ret->stx_rdev_minor))
		ret->stx_mode = S_IFCHR | 0666;
	return rc;
}
#endif

EXPORTED int access(const char *path, int mode)
{
	return WITH_PLACE(access, path, mode);
}

EXPORTED int faccessat(int dir, const char *path, int mode, int flags)
{
	char buf[PATH_MAX];

	return NEXT(faccessat)(dir, place(path, buf), mode, flags);
}

EXPORTED int euidaccess(const char *path, int mode)
{
	return WITH_PLACE(euidaccess, path, mode);
}

EXPORTED int eaccess(const char *path, int mode)
{
	return WITH_PLACE(eaccess, path, mode);
}

EXPORTED ssize_t readlink(const char *restrict path, char *restrict ret, size_t size)
{
	return WITH_PLACE(readlink, path, ret, size);
}

EXPORTED ssize_t readlinkat(int dir, const char *restrict path, char *restrict ret, size_t size)
{
	char buf[PATH_MAX];

	return NEXT(readlinkat)(dir, place(path, buf), ret, size);
}

EXPORTED char *realpath(const char *restrict path, char *restrict ret)
{
	char buf[PATH_MAX];
	const char *placed = place(path, buf);
	char *found = NEXT(realpath)(placed, ret);

	if (found && placed != path)
		place_back(found);
	return found;
}

EXPORTED ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	return WITH_PLACE(getxattr, path, name, value, size);
}

EXPORTED ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	return WITH_PLACE(lgetxattr, path, name, value, size);
}

EXPORTED ssize_t listxattr(const char *path, char *list, size_t size)
{
	return WITH_PLACE(listxattr, path, list, size);
}

EXPORTED ssize_t llistxattr(const char *path, char *list, size_t size)
{
	return WITH_PLACE(llistxattr, path, list, size);
}

#ifdef __GLIBC__
EXPORTED char *canonicalize_file_name(const char *path)
{
	char buf[PATH_MAX];
	const char *placed = place(path, buf);
	char *found = NEXT(canonicalize_file_name)(placed);

	if (found && placed != path)
		place_back(found);
	return found;
}

/* Called by programs built with _FORTIFY_SOURCE. */
ssize_t __readlink_chk(const char *path, char *ret, size_t size, size_t room);
char *__realpath_chk(const char *path, char *ret, size_t room);

EXPORTED ssize_t __readlink_chk(const char *path, char *ret, size_t size, size_t room)
{
	if (size > room)
		abort();
	return readlink(path, ret, size);
}

EXPORTED char *__realpath_chk(const char *path, char *ret, size_t room)
{
	if (room < PATH_MAX)
		abort();
	return realpath(path, ret);
}
#endif
