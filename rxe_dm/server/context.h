/* SPDX-License-Identifier: MIT */
/* A device context: ibv_open_device() makes one, ibv_import_device() joins one. It owns its
 * objects, and lives while it has a user or any process has its cmd_fd open. */
#ifndef RXE_DM_SERVER_CONTEXT_H
#define RXE_DM_SERVER_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "rxe_dm/server/device.h"
#include "rxe_dm/server/loop.h"
#include "rxe_dm/server/object.h"

/* The number of QPs, SRQs and AHs of a process on a PD. They end with the process. */
struct pd_use {
	struct pd_use *prev, *next;
	struct object *pd;
	uint32_t count;
};

/* A process that opened or imported the context. */
struct user {
	struct user *prev, *next;   /* of the context */
	struct user *cprev, *cnext; /* of the connection */
	struct context *context;
	struct conn *conn;
	uint32_t refs; /* times it opened or imported the context */
	struct object *owned;
	struct pd_use *uses;
};

/* The server's end of a cmd_fd. */
struct cmd_end {
	struct cmd_end *prev, *next;
	struct loop_source source;
	struct context *context;
};

struct context {
	struct context *prev, *next; /* of the device */
	struct device *device;
	struct object *self; /* holds the handle; refs counts the objects of the context */
	uint64_t token;	     /* admits a process that imports the context */
	struct user *users;
	struct cmd_end *ends;
	struct object *objects;
	struct object *windows; /* those of objects that are memory windows */
};

/* Makes a context with this connection as user; *ret_cmd_fd is for the client. */
int context_open(struct device *device, struct conn *conn, struct context **ret, int *ret_cmd_fd);
/* Adds a user, or a reference of a user. */
int context_join(struct context *context, struct conn *conn, int *ret_cmd_fd);
struct user *context_user(const struct context *context, const struct conn *conn);
/* Drops one reference of the user; see context_drop_user(). */
void context_leave(struct user *user);
/* The user ends: frees what is bound to its process, and the context with its last user. */
void context_drop_user(struct user *user);
/* The process gives its slot back: frees its regions in all contexts of the device. */
void context_unbind(const struct conn *conn, const struct device *device);
void context_free(struct context *context);

#endif
