/* SPDX-License-Identifier: MIT */
/* Layout of struct ctl_client, and calls with any request. For this folder and the rxe_dm command,
 * whose requests programs do not make. */
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
/* start.c: runs `rxe_dm ARGS... --ready-fd=3` as a process of its own, and waits until the server
 * reports its state. 0: it is up. -EALREADY: another server of the instance is up or starts.
 * Otherwise a negative errno, explained on the log. */
int ctl_start_server(const char *const *args);
/* Sends a request, and waits for the reply with want_fds descriptors. Without client->lock. */
int ctl_do(struct ctl_client *client, struct ctl_call *call, size_t want_fds);
/* Makes sure that the connection is open and this process's own; after fork() that opens a new one
 * and joins the contexts and devices again. The caller holds client->lock. 0 or -ENODEV. */
int ctl_connected_locked(struct ctl_client *client);
/* As ctl_do(); the caller holds client->lock. */
int ctl_do_locked(struct ctl_client *client, struct ctl_call *call, size_t want_fds);

#endif
