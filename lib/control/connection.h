/* SPDX-License-Identifier: MIT */
/* Inside of a struct ctl_client: the files of this folder share it, nobody else includes it (but the command, which asks what
 * programs do not). */
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
	uint64_t token; /* lets a forked child in again */
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
	bool dead;   /* nothing comes over sock any more */
	bool forked; /* sock was the parent's and is closed: connect anew */
	pid_t pid;   /* whose sock it is: also a child that no fork() handler saw is found out */
	uint32_t generation;
	uint32_t role;	    /* enum ctl_role */
	uint64_t server_id; /* of the server that the contexts are of */
	pid_t server_pid;
	char server_version[sizeof(((struct ctl_hello *)0)->version)];
	char instance[CTL_NAME_MAX + 1];
	struct held_context *contexts;
	struct held_attachment attached[CTL_DEVICE_MAX];
};

struct ctl_call {
	struct ctl_request req;
	int in_fd;	 /* goes with the request; -1: none */
	size_t more_fds; /* so many more than are wanted may come back */
	struct ctl_reply reply;
	int fds[CTL_MAX_FDS]; /* came with a good reply; the caller's */
	size_t num_fds;
};

/* Connect as a command does: no autostart, does not hold a lingering server. -ECONNREFUSED: none is running (not logged). */
int ctl_connect_as(struct ctl_client **ret, const char *instance, enum ctl_role role,
		   bool autostart);
/* One request, one reply; wants so many descriptors back. The lock is not held. */
int ctl_do(struct ctl_client *client, struct ctl_call *call, size_t want_fds);
/* Makes sure that the connection is open and this process's own; after fork() that opens a new one and joins the contexts and devices
 * again. The caller holds client->lock. 0 or -ENODEV. */
int ctl_connected_locked(struct ctl_client *client);
/* As ctl_do(); the caller holds client->lock. */
int ctl_do_locked(struct ctl_client *client, struct ctl_call *call, size_t want_fds);

#endif
