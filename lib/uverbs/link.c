// SPDX-License-Identifier: MIT
/* Names: symbolic links, resolved paths, extended attributes (which ls asks for). */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/uverbs/place.h"

EXPORTED ssize_t readlink(const char *restrict path, char *restrict ret, size_t size)
{
	char buf[PATH_MAX];

	return NEXT(readlink)(place(path, buf), ret, size);
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
	char buf[PATH_MAX];

	return NEXT(getxattr)(place(path, buf), name, value, size);
}

EXPORTED ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	char buf[PATH_MAX];

	return NEXT(lgetxattr)(place(path, buf), name, value, size);
}

EXPORTED ssize_t listxattr(const char *path, char *list, size_t size)
{
	char buf[PATH_MAX];

	return NEXT(listxattr)(place(path, buf), list, size);
}

EXPORTED ssize_t llistxattr(const char *path, char *list, size_t size)
{
	char buf[PATH_MAX];

	return NEXT(llistxattr)(place(path, buf), list, size);
}

#ifdef __GLIBC__
EXPORTED char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
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
