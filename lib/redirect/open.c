// SPDX-License-Identifier: MIT
/* Files and folders that are opened, or entered. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/redirect/place.h"

/* A node without a driver. */
static bool is_closed_node(const char *placed, const char *path)
{
	unsigned int major_number, minor_number;
	struct stat st;

	if (placed == path || !place_is_node(placed, &major_number, &minor_number) ||
	    NEXT(fstatat)(AT_FDCWD, placed, &st, 0) || !S_ISREG(st.st_mode))
		return false;
	errno = ENXIO;
	return true;
}

/* The path to open, in buf; NULL: the call fails. */
static const char *openable(const char *path, int flags, char buf[static PATH_MAX])
{
	const char *placed = place_open(path, buf);

	return is_closed_node(placed, path) && !(flags & O_PATH) ? NULL : placed;
}

/* Calls the next definition of the same name: sanitizers watch some names and not others. */
#define OPEN(name, path, flags, ...)                                                               \
	(__extension__({                                                                           \
		char buf_[PATH_MAX];                                                               \
		const char *placed_ = openable(path, flags, buf_);                                 \
		placed_ ? NEXT(name)(__VA_ARGS__) : -1;                                            \
	}))

#define MODE(flags, mode)                                                                          \
	do {                                                                                       \
		va_list args;                                                                      \
		va_start(args, flags);                                                             \
		mode = __OPEN_NEEDS_MODE(flags) ? va_arg(args, mode_t) : 0;                        \
		va_end(args);                                                                      \
	} while (0)
#ifndef __OPEN_NEEDS_MODE
#define __OPEN_NEEDS_MODE(flags) (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE)
#endif

EXPORTED int open(const char *path, int flags, ...)
{
	mode_t mode;

	MODE(flags, mode);
	return OPEN(open, path, flags, placed_, flags, mode);
}

EXPORTED int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;

	MODE(flags, mode);
	return OPEN(openat, path, flags, dir, placed_, flags, mode);
}

EXPORTED FILE *fopen(const char *restrict path, const char *restrict mode)
{
	char buf[PATH_MAX];
	const char *placed = place_open(path, buf);

	return is_closed_node(placed, path) ? NULL : NEXT(fopen)(placed, mode);
}

EXPORTED DIR *opendir(const char *path)
{
	return WITH_PLACE(opendir, path);
}

EXPORTED int scandir(const char *restrict path, struct dirent ***restrict ret,
		     int (*choose)(const struct dirent *),
		     int (*compare)(const struct dirent **, const struct dirent **))
{
	return WITH_PLACE(scandir, path, ret, choose, compare);
}

EXPORTED int chdir(const char *path)
{
	return WITH_PLACE(chdir, path);
}

#ifdef __GLIBC__
/* Files of ours are small: the calls for large ones open the same. */
EXPORTED int open64(const char *path, int flags, ...)
{
	mode_t mode;

	MODE(flags, mode);
	return OPEN(open64, path, flags, placed_, flags, mode);
}

EXPORTED int openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode;

	MODE(flags, mode);
	return OPEN(openat64, path, flags, dir, placed_, flags, mode);
}

/* Called by programs built with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

EXPORTED int __open_2(const char *path, int flags)
{
	return OPEN(__open_2, path, flags, placed_, flags);
}

EXPORTED int __open64_2(const char *path, int flags)
{
	return OPEN(__open64_2, path, flags, placed_, flags);
}

EXPORTED int __openat_2(int dir, const char *path, int flags)
{
	return OPEN(__openat_2, path, flags, dir, placed_, flags);
}

EXPORTED int __openat64_2(int dir, const char *path, int flags)
{
	return OPEN(__openat64_2, path, flags, dir, placed_, flags);
}

EXPORTED FILE *fopen64(const char *restrict path, const char *restrict mode)
{
	char buf[PATH_MAX];
	const char *placed = place_open(path, buf);

	return is_closed_node(placed, path) ? NULL : NEXT(fopen64)(placed, mode);
}

EXPORTED int scandir64(const char *restrict path, struct dirent64 ***restrict ret,
		       int (*choose)(const struct dirent64 *),
		       int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	return WITH_PLACE(scandir64, path, ret, choose, compare);
}

/* glob() calls the C library's own functions, unless it is given others: ours then. */
static void *glob_opendir(const char *path)
{
	return opendir(path);
}

static struct dirent *glob_readdir(void *dir)
{
	return readdir((DIR *)dir);
}

static void glob_closedir(void *dir)
{
	closedir((DIR *)dir);
}

/* Gives a pattern of ours our functions. */
static int glob_flags(const char *pattern, int flags, glob_t *ret)
{
	char buf[PATH_MAX];

	if (flags & GLOB_ALTDIRFUNC || place(pattern, buf) == pattern)
		return flags;
	ret->gl_opendir = glob_opendir;
	ret->gl_readdir = glob_readdir;
	ret->gl_closedir = glob_closedir;
	ret->gl_lstat = lstat;
	ret->gl_stat = stat;
	return flags | GLOB_ALTDIRFUNC;
}

EXPORTED int glob(const char *restrict pattern, int flags, int (*failed)(const char *, int),
		  glob_t *restrict ret)
{
	return NEXT(glob)(pattern, glob_flags(pattern, flags, ret), failed, ret);
}

/* On 64-bit systems the structures are the same. */
EXPORTED int glob64(const char *restrict pattern, int flags, int (*failed)(const char *, int),
		    glob64_t *restrict ret)
{
	flags = glob_flags(pattern, flags, (glob_t *)(void *)ret);
	return NEXT(glob64)(pattern, flags, failed, ret);
}
#endif
