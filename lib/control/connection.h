/* SPDX-License-Identifier: MIT */
/* Layout of struct ctl_client, and calls with any request. For this folder and the rxe_dm command,
 * whose requests programs do not make. connection.c calls held.c, both call exchange.c. */
#ifndef RXE_CONTROL_CONNECTION_H
#define RXE_CONTROL_CONNECTION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/control/client.h"
#include "lib/control/protocol.h"

struct held_context {
	struct held_context *prev, *next;
	uint32_t handle, device;
	uint64_t token; /* admits a forked child */
	int cmd_fd;
};

struct held_attachment {
	uint32_t refs;
	struct ctl_attachment a;
	size_t shared_bytes;
};

struct ctl_client {
	struct ctl_client *prev, *next; /* of all in the process: for fork() */
	pthread_mutex_t lock;
	int sock;
	bool dead;	    /* the connection failed: every call returns -ENODEV */
	bool forked;	    /* child of fork(): sock is closed, the next call connects */
	pid_t pid;	    /* owner of sock: detects a child that ran no fork() handler */
	uint32_t role;	    /* enum ctl_role */
	uint64_t server_id; /* run of the server that the contexts belong to */
	pid_t server_pid;
	char server_version[sizeof(((struct ctl_hello *)0)->version)];
	char instance[CTL_NAME_MAX + 1];
	struct held_context *contexts;
	struct held_attachment attached[CTL_DEVICE_MAX];
};

struct ctl_call {
	struct ctl_request req;
	int in_fd;	 /* sent with the request; -1: none */
	size_t more_fds; /* number of optional descriptors beyond want_fds */
	struct ctl_reply reply;
	int fds[CTL_MAX_FDS]; /* of a successful reply; the caller closes them */
	size_t num_fds;
};

/* Connects in a role (a command does not keep a lingering server) and starts a server on request.
 * -ECONNREFUSED: no server runs (not logged without autostart). */
int ctl_connect_as(struct ctl_client **ret, const char *instance, enum ctl_role role,
		   bool autostart);
/* Sends a request, and waits for the reply with want_fds descriptors. Without client->lock. */
int ctl_do(struct ctl_client *client, struct ctl_call *call, size_t want_fds);
/* Makes sure that the connection is open and this process's own; after fork() that opens a new one
 * and joins the contexts and devices again. The caller holds client->lock. 0 or -ENODEV. */
int ctl_connected_locked(struct ctl_client *client);
/* As ctl_do(); the caller holds client->lock. */
int ctl_do_locked(struct ctl_client *client, struct ctl_call *call, size_t want_fds);

/* exchange.c: one connection to the server: the hello, then requests and replies. Knows nothing of
 * fork() and of what the process holds. */

/* Connects client->sock to the server of client->instance and says hello. -ECONNREFUSED: no server
 * listens; -ESHUTDOWN: the server is ending; -EPROTO, -EPERM, -ETIMEDOUT: explained on the log. */
int ctl_exchange_open(struct ctl_client *client);
/* Sends a request, and waits for its reply with want_fds descriptors. Under client->lock, with
 * client->sock open. 0, the reply's errno (negative), -ENODEV or -ETIMEDOUT: connection dead. */
int ctl_exchange(struct ctl_client *client, struct ctl_call *call, size_t want_fds);

/* held.c: what a process holds of the server: attachments (slot, descriptors, mappings) and
 * contexts. Under client->lock and with an open connection (ctl_connected_locked()) except where
 * stated. */

/* Gets a slot on the device and maps it, into client->attached[device]. 0 or a negative errno. */
int ctl_held_attach(struct ctl_client *client, uint32_t device);
/* Gives the slot back if the connection is this process's own; unmaps and closes in any case. */
void ctl_held_detach(struct ctl_client *client, uint32_t device);
/* In a child of fork() that has connected: joins all contexts and devices again, with the same
 * numbers and addresses. */
int ctl_held_rejoin(struct ctl_client *client);
/* In a child of fork(): closes the parent's sockets and keeps their numbers in use. System calls
 * only. Needs no connection. */
void ctl_held_forget(struct ctl_client *client);
/* On disconnect: unmaps and closes everything. Needs neither lock nor connection. */
void ctl_held_release(struct ctl_client *client);

#endif
