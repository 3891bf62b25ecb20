/* SPDX-License-Identifier: MIT */
/* librxe_dm_redirect.so, preloaded by `rxe_dm run`: programs find the devices as files, where Linux
 * has adapters. Calls that take a path under /sys/class/infiniband* or /dev/infiniband get the path
 * of the server's file instead (rxe_dm/server/sysfs/sysfs.h). Adapters of the host stay out of
 * sight, but with --host-devices.
 *
 * The library replaces calls of the C library, and passes all other paths on unchanged. It holds no
 * state but the folder's name, and starts nothing. It asks the server for counters alone, which the
 * server brings up to date before they are opened. */
#ifndef RXE_REDIRECT_PLACE_H
#define RXE_REDIRECT_PLACE_H

#include <limits.h>
#include <stdbool.h>

#define EXPORTED __attribute__((visibility("default")))

/* Returns path, or the path of the server's file, in buf. */
const char *place(const char *path, char buf[static PATH_MAX]);
/* The same for a file that is opened: of a counter, it is up to date. */
const char *place_open(const char *path, char buf[static PATH_MAX]);
/* The path that a program knows for one of the server's: undoes place(), in the same buffer. */
void place_back(char *path);
/* True: placed is the server's file for a device node, which has these numbers. */
bool place_is_node(const char *placed, unsigned int *ret_major, unsigned int *ret_minor);

/* The next definition after ours: the C library's, or that of another preloaded library. */
void *place_next(void **cache, const char *name);
#define NEXT(name)                                                                                 \
	(__extension__({                                                                           \
		static void *next_##name;                                                          \
		(__typeof__(&name))place_next(&next_##name, #name);                                \
	}))
/* Calls the next definition with the path of the server's file, where that is ours. */
#define WITH_PLACE(name, path, ...)                                                                \
	(__extension__({                                                                           \
		char buf_[PATH_MAX];                                                               \
		NEXT(name)(place(path, buf_), ##__VA_ARGS__);                                      \
	}))

#endif
