/* SPDX-License-Identifier: MIT */
/* One connection to the server: the hello, then requests and replies. Knows nothing of fork() and
 * of what the process holds. */
#ifndef RXE_CONTROL_EXCHANGE_H
#define RXE_CONTROL_EXCHANGE_H

#include <stddef.h>

struct ctl_call;
struct ctl_client;

/* Connects client->sock to the server of client->instance and says hello. -ECONNREFUSED: no server
 * listens; -ESHUTDOWN: the server is ending; -EPROTO, -EPERM, -ETIMEDOUT: explained on the log. */
int ctl_exchange_open(struct ctl_client *client);
/* Sends a request, and waits for its reply with want_fds descriptors. Under client->lock, with
 * client->sock open. 0, the reply's errno (negative), -ENODEV or -ETIMEDOUT: connection dead. */
int ctl_exchange(struct ctl_client *client, struct ctl_call *call, size_t want_fds);

#endif
