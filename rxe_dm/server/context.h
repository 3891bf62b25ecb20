/* SPDX-License-Identifier: MIT */
/* A device context: what ibv_open_device() makes and ibv_import_device() joins. It owns its objects, and lives as long as a
 * process is its user or a descriptor of its cmd_fd is open anywhere. */
#ifndef RXE_DM_SERVER_CONTEXT_H
#define RXE_DM_SERVER_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "rxe_dm/server/device.h"
#include "rxe_dm/server/loop.h"
#include "rxe_dm/server/object.h"

/* How many QPs, SRQs and AHs a process has on a PD: they go with the process. */
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
	uint32_t refs; /* times it did */
	struct object *owned;
	struct pd_use *uses;
};

/* Our end of a cmd_fd. */
struct cmd_end {
	struct cmd_end *prev, *next;
	struct loop_source source;
	struct context *context;
};

struct context {
	struct context *prev, *next; /* of the device */
	struct device *device;
	struct object *self; /* its handle, and in refs the number of its objects */
	uint64_t token;	     /* whoever knows it may join */
	struct user *users;
	struct cmd_end *ends;
	struct object *objects;
};

/* A new context with this connection as user; *ret_cmd_fd is the client's. */
int context_open(struct device *device, struct conn *conn, struct context **ret, int *ret_cmd_fd);
/* One more user, or one more time the same. */
int context_join(struct context *context, struct conn *conn, int *ret_cmd_fd);
struct user *context_user(const struct context *context, const struct conn *conn);
/* Take back one ctl_open or ctl_import. */
void context_leave(struct user *user);
/* The process is gone, or has left for the last time: with it goes what is bound to it, and the context with the last. */
void context_drop_user(struct user *user);
/* The process leaves its slot on the device, whatever contexts it stays in: its memory goes, and the keys with it. */
void context_unbind(const struct conn *conn, const struct device *device);
void context_free(struct context *context);

/* region.c: objects of a context. */
struct object *context_new_object(struct context *context, enum ctl_kind kind);
struct object *context_find(const struct context *context, uint32_t handle, enum ctl_kind kind);
/* Free it whoever still needs it: keys die, memory rests until nobody is inside. */
void context_free_object(struct object *object);
void object_own(struct object *object, struct user *user);
void object_disown(struct object *object);
/* Point *place at another object, counting. */
void object_hold(struct object **place, struct object *object);
int object_use(struct user *user, struct object *pd, int64_t delta);

#endif
