/* SPDX-License-Identifier: MIT */
/* How a program under `rxe_dm run` finds the device as files, beside libibverbs, and which programs
 * cannot find it. */
#ifndef RXE_DM_COMMAND_RUN_H
#define RXE_DM_COMMAND_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl_client;

enum run_view {
	RUN_VIEW_PRELOAD, /* a preloaded library redirects the paths (lib/redirect) */
	RUN_VIEW_NONE,
};

/* Asks the server for the files, and sets the program's environment. folders: where this
 * installation's libraries are, with colons between. host: the adapters of the host are also seen.
 * What fails is explained, and the program runs without files. */
void run_view(struct ctl_client *client, bool host, const char *folders);
/* Finds a file in folders, which has colons between. False: there is none. */
bool run_find(const char *folders, const char *name, char ret[static PATH_MAX]);
/* Adds a library of folders to LD_PRELOAD. 0 or a negative errno. */
int run_preload(const char *folders, const char *name);
/* The variable becomes a list with a colon between, if neither is empty. 0 or a negative errno. */
int run_set_list(const char *variable, const char *first, const char *second);
/* Its value, or "". */
const char *run_variable(const char *name);

/* True: an ELF image of len bytes has a libibverbs linked in, so it loads none. False for all else,
 * malformed files included. Pure. */
bool verbs_linked(const uint8_t *image, size_t len);

/* Logs a notice if execvp(name) runs a program that does not load our libibverbs: one that has its
 * own linked in, or is setuid. */
void verbs_linked_warn(const char *name);

#endif
