/* SPDX-License-Identifier: MIT */
/* Asynchronous events of a context (ibv_get_async_event(3)): a queue, and a descriptor that is
 * readable while the queue has any. Also the rule for all events: a destroy verb waits until the
 * program has acknowledged the events that it read. */
#ifndef RXE_VERBS_ASYNC_H
#define RXE_VERBS_ASYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/abi/newer.h"

struct vb_context;
struct vb_cq;
struct vb_device;
struct progress;
struct vb_qp;
struct vb_srq;
struct vb_wq;
struct rxe_event;

struct vb_async_record;

/* Embedded in a context. */
struct vb_async {
	pthread_mutex_t lock;
	struct vb_async_record *queue; /* utlist: oldest first */
	struct vb_context *next;       /* in vb_device.open_contexts */
};

/* Creates the context's async_fd and its queue of events. 0 or a negative errno. */
int vb_async_init(struct vb_context *context);
void vb_async_fini(struct vb_context *context);

/* struct progress_owner: event_raised. Queues the event in the context of its object. */
void vb_async_from_engine(struct progress *progress, const struct rxe_event *event);
/* struct progress_owner: server_event_ready. Queues an event of the server in every context of
 * the device. False: the server has exited, and no event will follow. */
bool vb_async_from_server(struct progress *progress);
/* struct progress_owner: descriptors_closed. The queue pairs enter error, every context of the
 * device gets IBV_EVENT_DEVICE_FATAL. */
void vb_async_descriptors_closed(struct progress *progress);
/* Before an object is freed: drops its unread events, and waits until the program has
 * acknowledged those that it read. */
void vb_async_forget_qp(struct vb_qp *qp);
void vb_async_forget_cq(struct vb_cq *cq);
void vb_async_forget_srq(struct vb_srq *srq);
void vb_async_forget_wq(struct vb_wq *wq);

/* Counters of the verbs in an object: n more events are acknowledged; wait for all reported. */
void vb_events_ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed, uint32_t n);
void vb_events_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
			  uint32_t reported);

/* In the child after fork(): unread events stay with the parent, and each context of the child
 * gets an event descriptor of its own. Async-signal-safe. */
void vb_async_forked(struct vb_device *dev);

#endif
