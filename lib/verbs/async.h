/* SPDX-License-Identifier: MIT */
/* Asynchronous events of a context (ibv_get_async_event(3)): a queue, and a descriptor that is readable while it holds any. */
#ifndef RXE_VERBS_ASYNC_H
#define RXE_VERBS_ASYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/abi/newer.h"

struct dm_context;
struct dm_device;
struct rxe_event;

struct dm_async_record;

/* Embedded in a context. */
struct dm_async {
	pthread_mutex_t lock;
	struct dm_async_record *queue; /* utlist: oldest first */
	struct dm_context *next;       /* of the device's contexts */
};

/* What kind of object an event is about. */
bool dm_event_is_cq(enum ibv_event_type type);
bool dm_event_is_srq(enum ibv_event_type type);
bool dm_event_is_qp(enum ibv_event_type type);

/* The context's async_fd and its queue of events. 0 or a negative errno. */
int dm_async_init(struct dm_context *context);
void dm_async_fini(struct dm_context *context);

/* The engine's event, to the context of the object it is about. */
void dm_async_from_engine(void *host, const struct rxe_event *event);
/* One event of the server, to every context of the device. False: the server has gone, and there will be none any more. */
bool dm_async_from_server(struct dm_device *dev);
/* An object goes: events about it that nobody has read are dropped, and those that were read must be acknowledged first. */
void dm_async_forget_qp(struct dm_context *context, const void *qp);
void dm_async_forget_cq(struct dm_context *context, const void *cq);
void dm_async_forget_srq(struct dm_context *context, const void *srq);

/* In the child after fork(): events are the parent's; the child's contexts hear their own on a descriptor of their own. */
void dm_async_forked(struct dm_device *dev);

#endif
