/* SPDX-License-Identifier: MIT */
/* Asynchronous events of a context (ibv_get_async_event(3)): queued, read, acknowledged. */
#ifndef RXE_VERBS_ASYNC_H
#define RXE_VERBS_ASYNC_H

#include <pthread.h>
#include <stdint.h>

#include "lib/abi/newer.h"

struct vb_context;
struct vb_device;

/* Creates the context's async_fd and its queue of events. 0 or a negative errno. */
int vb_async_init(struct vb_context *context);
void vb_async_fini(struct vb_context *context);
/* Queues an event. */
void vb_async_push(struct vb_context *context, const struct ibv_async_event *event);
/* The same, unless the context is closed: an object outlives its context if a queue pair of another
 * one uses it. Under the engine lock. */
void vb_async_push_if_open(const struct vb_device *dev, struct ibv_context *context,
			   const struct ibv_async_event *event);
/* Before an object is freed; any: a type of its events. Drops the unread events, and waits until
 * the program has acknowledged those that it read, as every verb that destroys does. */
void vb_async_forget(struct ibv_context *context, uint32_t forks, void *object,
		     enum ibv_event_type any);
/* An unread event that reports a failure of the object: enum ibv_event_type; -1: none. */
int vb_async_unread_failure(struct ibv_context *context, const void *object);
/* In the child after fork(): unread events stay with the parent, and each context of the child
 * gets an event descriptor of its own. Async-signal-safe. */
void vb_async_forked(struct vb_device *dev);

/* Counters of the verbs in an object: n more events are acknowledged; wait for all reported. */
void vb_events_ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *acked, uint32_t n);
void vb_events_wait_acked(const struct ibv_context *context, pthread_mutex_t *mutex,
			  pthread_cond_t *cond, const uint32_t *acked, uint32_t reported);

/* A call that reads an event has failed. A signal, or no event with O_NONBLOCK: no refusal. */
#define vb_event_fail(err) vb_event_fail_as(__func__, err)
int vb_event_fail_as(const char *call, int err);

#endif
