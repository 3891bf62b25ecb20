/* SPDX-License-Identifier: MIT */
/* Asynchronous events of a context (ibv_get_async_event(3)): a queue, and a descriptor that is readable while it holds any. */
#ifndef RXE_VERBS_ASYNC_H
#define RXE_VERBS_ASYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/abi/newer.h"

struct vb_context;
struct vb_device;
struct progress;
struct rxe_event;

struct vb_async_record;

/* Embedded in a context. */
struct vb_async {
	pthread_mutex_t lock;
	struct vb_async_record *queue; /* utlist: oldest first */
	struct vb_context *next;       /* of the device's contexts */
};

/* What kind of object an event is about. */
bool vb_event_is_cq(enum ibv_event_type type);
bool vb_event_is_srq(enum ibv_event_type type);
bool vb_event_is_qp(enum ibv_event_type type);

/* The context's async_fd and its queue of events. 0 or a negative errno. */
int vb_async_init(struct vb_context *context);
void vb_async_fini(struct vb_context *context);

/* The engine's event, to the context of the object it is about. */
void vb_async_from_engine(struct progress *progress, const struct rxe_event *event);
/* One event of the server, to every context of the device. False: the server has gone, and there will be none any more. */
bool vb_async_from_server(struct progress *progress);
/* An object goes: events about it that nobody has read are dropped, and those that were read must be acknowledged first. */
void vb_async_forget_qp(struct vb_context *context, const void *qp);
void vb_async_forget_cq(struct vb_context *context, const void *cq);
void vb_async_forget_srq(struct vb_context *context, const void *srq);

/* In the child after fork(): events are the parent's; the child's contexts hear their own on a descriptor of their own. */
void vb_async_forked(struct vb_device *dev);

#endif
