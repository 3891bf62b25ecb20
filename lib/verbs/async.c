// SPDX-License-Identifier: MIT
/* Asynchronous events: queued by owner.c, read and acknowledged by programs.
 *
 * async_fd counts the events in the queue. An event that is dropped because its object is destroyed
 * can leave a count in it: the reader then finds an empty queue and waits again. */
#include "lib/verbs/async.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/control/log.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/attach.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"
#include "lib/verbs/wq.h"

struct vb_async_record {
	struct ibv_async_event event;
	struct vb_async_record *next, *prev;
};

int vb_async_init(struct vb_context *context)
{
	struct progress *progress = &context->dev->progress;
	int err = vb_async_fd_open(&context->async.fd);

	if (err)
		return err;
	context->verbs.base.context.async_fd = context->async.fd.set;
	pthread_mutex_init(&context->async.lock, NULL);
	pthread_mutex_lock(&progress->lock);
	context->async.next = context->dev->open_contexts;
	context->dev->open_contexts = context;
	if (!progress->has_thread)
		vb_async_fd_watch(&context->async.fd, context->dev->attachment.event_fd, true);
	pthread_mutex_unlock(&progress->lock);
	return 0;
}

void vb_async_fini(struct vb_context *context)
{
	struct progress *progress = &context->dev->progress;
	struct vb_context **link = &context->dev->open_contexts;
	struct vb_async_record *record, *tmp;

	pthread_mutex_lock(&progress->lock);
	while (*link && *link != context)
		link = &(*link)->async.next;
	if (*link)
		*link = context->async.next;
	pthread_mutex_unlock(&progress->lock);
	DL_FOREACH_SAFE (context->async.queue, record, tmp) {
		DL_DELETE(context->async.queue, record);
		free(record);
	}
	vb_async_fd_close(&context->async.fd);
	pthread_mutex_destroy(&context->async.lock);
}

void vb_async_forked(struct vb_device *dev)
{
	/* The parent's. */
	dev->opened_targets = NULL;
	for (struct vb_context *c = dev->open_contexts; c; c = c->async.next) {
		pthread_mutex_init(&c->async.lock, NULL);
		/* The parent's unread events stay allocated: free() is not safe here. */
		c->async.queue = NULL;
		vb_async_fd_forked(&c->async.fd);
	}
}

void vb_async_push(struct vb_context *context, const struct ibv_async_event *event)
{
	struct vb_async_record *record = malloc(sizeof(*record));

	if (!record) {
		ctl_log(CTL_LOG_ERROR, "an asynchronous event (%s) is lost: no memory",
			ibv_event_type_str(event->event_type));
		return;
	}
	record->event = *event;
	pthread_mutex_lock(&context->async.lock);
	DL_APPEND(context->async.queue, record);
	pthread_mutex_unlock(&context->async.lock);
	vb_async_fd_signal(&context->async.fd);
}

void vb_async_push_if_open(const struct vb_device *dev, struct ibv_context *context,
			   const struct ibv_async_event *event)
{
	struct vb_context *c = dev->open_contexts;

	while (c && &c->verbs.base.context != context)
		c = c->async.next;
	if (c)
		vb_async_push(c, event);
}

/* Where the object of an event counts its events; mutex is NULL for events of port or device. */
struct counts {
	pthread_mutex_t *mutex; /* of cond and acked */
	pthread_cond_t *cond;
	uint32_t *acked;
	uint32_t *reported; /* under the context's async lock */
};

static struct counts counts_of(const struct ibv_async_event *event)
{
	struct ibv_qp *qp = event->element.qp;
	struct ibv_cq *cq = event->element.cq;
	struct ibv_srq *srq = event->element.srq;
	struct ibv_wq *wq = event->element.wq;

	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return (struct counts){ &qp->mutex, &qp->cond, &qp->events_completed,
					&vb_qp(qp)->events_reported };
	case IBV_EVENT_CQ_ERR:
		return (struct counts){ &cq->mutex, &cq->cond, &cq->async_events_completed,
					&vb_cq(cq)->async_reported };
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return (struct counts){ &srq->mutex, &srq->cond, &srq->events_completed,
					&vb_srq(srq)->events_reported };
	case IBV_EVENT_WQ_FATAL:
		return (struct counts){ &wq->mutex, &wq->cond, &wq->events_completed,
					&vb_wq(wq)->half.events_reported };
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE: break;
	}
	return (struct counts){ 0 };
}

static struct vb_async_record *pop(struct vb_context *context)
{
	struct vb_async_record *record;
	struct counts counts;

	pthread_mutex_lock(&context->async.lock);
	record = context->async.queue;
	if (record) {
		DL_DELETE(context->async.queue, record);
		/* Counted under the lock under which drop_unread() searches the queue. */
		counts = counts_of(&record->event);
		if (counts.reported)
			++*counts.reported;
	}
	pthread_mutex_unlock(&context->async.lock);
	return record;
}

/* Restores the count that a cancelled read took, as in channel.c. */
static void cancelled(void *arg)
{
	struct vb_context *context = arg;
	bool unread;

	pthread_mutex_lock(&context->async.lock);
	unread = context->async.queue != NULL;
	pthread_mutex_unlock(&context->async.lock);
	if (unread)
		vb_async_fd_signal(&context->async.fd);
}

int vb_event_fail_as(const char *call, int err)
{
	if (err == EAGAIN || err == EINTR) {
		errno = err;
		return -1;
	}
	refuse(WHY_SYSTEM(err), "the events cannot be read", strerror(err));
	return vb_minus_one_as(call, err);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct vb_async_record *record;
	int err;

	if (vb_refuses(context, VB_KIND_CONTEXT) || refuse_if(!event, WHY_NULL, "event"))
		return vb_minus_one(refusal_noted());
	if (vb_verb_fails(context, get_async_event))
		return vb_minus_one(errno);
	err = vb_device_start_thread(vb_device(context));
	if (err)
		return vb_minus_one(err);
	do {
		if (!vb_async_fd_wait(&vb_context(context)->async.fd, cancelled,
				      vb_context(context)))
			return vb_event_fail(errno);
		record = pop(vb_context(context));
	} while (!record);
	*event = record->event;
	free(record);
	return 0;
}

void vb_events_ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *acked, uint32_t n)
{
	pthread_mutex_lock(mutex);
	*acked += n;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	const struct counts counts = event ? counts_of(event) : (struct counts){ 0 };

	if (counts.mutex)
		vb_events_ack(counts.mutex, counts.cond, counts.acked, 1);
}

static bool is_failure(enum ibv_event_type type)
{
	return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	       type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_CQ_ERR ||
	       type == IBV_EVENT_SRQ_ERR;
}

int vb_async_unread_failure(struct ibv_context *context, const void *object)
{
	struct vb_async *async = &vb_context(context)->async;
	const struct vb_async_record *record;
	int ret = -1;

	pthread_mutex_lock(&async->lock);
	DL_FOREACH (async->queue, record) {
		if (record->event.element.qp == object && is_failure(record->event.event_type))
			ret = (int)record->event.event_type;
	}
	pthread_mutex_unlock(&async->lock);
	return ret;
}

/* object: of a kind that has events. The number of a port is never the address of an object. */
static void drop_unread(struct ibv_context *base, const void *object)
{
	struct vb_async *async = &vb_context(base)->async;
	struct vb_async_record *record, *tmp;

	pthread_mutex_lock(&async->lock);
	DL_FOREACH_SAFE (async->queue, record, tmp) {
		if (record->event.element.qp != object)
			continue;
		DL_DELETE(async->queue, record);
		free(record);
	}
	pthread_mutex_unlock(&async->lock);
}

void vb_events_wait_acked(const struct ibv_context *context, pthread_mutex_t *mutex,
			  pthread_cond_t *cond, const uint32_t *acked, uint32_t reported)
{
	NO_CANCEL;

	/* The program closes the context, and no thread is left that acknowledges. */
	if (vb_context((struct ibv_context *)(uintptr_t)context)->closing)
		return;
	pthread_mutex_lock(mutex);
	while (*acked != reported)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

void vb_async_forget(struct ibv_context *context, uint32_t forks, void *object,
		     enum ibv_event_type any)
{
	const struct counts counts =
		counts_of(&(struct ibv_async_event){ .element.qp = object, .event_type = any });

	assert(counts.reported);
	drop_unread(context, object);
	/* Only the parent's threads read events of an inherited object. */
	if (forks == vb_forks())
		vb_events_wait_acked(context, counts.mutex, counts.cond, counts.acked,
				     *counts.reported);
}
