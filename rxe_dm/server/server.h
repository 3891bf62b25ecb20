/* SPDX-License-Identifier: MIT */
/* The device server of one instance: one process for each user, network namespace and instance
 * name.
 *
 * The server owns identity: the arena of device memory, GIDs, handles, keys, receive sockets,
 * events and fault rules. When a process exits the server frees what the process held, and answers
 * duplicates for its queue pairs (TIME_WAIT). The server never forwards a packet and never waits
 * for a client: one thread runs one event loop (loop.h).
 *
 * Callers: main.c only. Order of the files, each uses those before it: limit, loop, arena, range,
 * key, object < capture, the links of a device (ethernet, memory, time_wait), slot, fault < cm and
 * gsi (connection manager), local_peers, address, device < context, serve_* < conn < instance <
 * server. */
#ifndef RXE_DM_SERVER_SERVER_H
#define RXE_DM_SERVER_SERVER_H

#include <stdbool.h>

#include "lib/control/settings.h"

/* Runs a server until it ends, and returns the exit status. lingers: a program started the server,
 * which ends some seconds after the last program. to_starter: progress goes to the starter
 * (lib/control/start.h), else to standard output and stderr. */
int server_run(const struct ctl_settings *settings, bool lingers, bool to_starter);

#endif
