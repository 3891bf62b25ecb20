/* SPDX-License-Identifier: MIT */
/* How a program under `rxe_dm run` finds the device as files, beside libibverbs. */
#ifndef RXE_DM_COMMAND_RUN_H
#define RXE_DM_COMMAND_RUN_H

#include <stdbool.h>

struct ctl_client;

enum run_view {
	RUN_VIEW_PRELOAD,   /* a preloaded library redirects the paths (lib/uverbs) */
	RUN_VIEW_NAMESPACE, /* besides, the files are mounted over /sys/class */
	RUN_VIEW_NONE,
};

/* Asks the server for the files, and sets the program's environment. folders: where this
 * installation's libraries are, with colons between. host: the adapters of the host are seen, too.
 * What fails is explained. False: the program cannot have the view that it was promised; else it
 * runs with or without files. */
bool run_view(struct ctl_client *client, enum run_view view, bool host, const char *folders);
/* run_namespace.c: this process enters a mount namespace with the files below root in /sys/class.
 * False: explained. */
bool run_namespace(const char *root);

/* The variable becomes a list with a colon between, if neither is empty. 0 or a negative errno. */
int run_set_list(const char *variable, const char *first, const char *second);
/* Its value, or "". */
const char *run_variable(const char *name);

#endif
