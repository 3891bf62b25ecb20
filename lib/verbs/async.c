// SPDX-License-Identifier: MIT
/* Asynchronous events: from the engine and the server to the contexts, read and acknowledged by programs.
 *
 * async_fd is an eventfd that counts the events in the queue one by one: a program may poll it, and set it O_NONBLOCK. An event that
 * was dropped because its object went may leave a count behind; the reader then finds nothing and waits on. */
#include "lib/verbs/async.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "lib/control/cancel.h"
#include "lib/control/client.h"
#include "lib/control/socket.h"
#include "lib/progress/capture.h"
#include "lib/progress/eventfd.h"
#include "lib/progress/log.h"
#include "lib/progress/progress.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/fork.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"
#include "net/link/clock.h"

struct vb_async_record {
	struct ibv_async_event event;
	struct vb_async_record *next, *prev;
};

int vb_async_init(struct vb_context *context)
{
	struct progress *progress = &context->dev->progress;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);

	if (fd < 0)
		return -errno;
	context->verbs.base.context.async_fd = fd;
	pthread_mutex_init(&context->async.lock, NULL);
	pthread_mutex_lock(&progress->lock);
	context->async.next = context->dev->open_contexts;
	context->dev->open_contexts = context;
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
	close(context->verbs.base.context.async_fd);
	pthread_mutex_destroy(&context->async.lock);
}

/* System calls only. */
void vb_async_forked(struct vb_device *dev)
{
	for (struct vb_context *c = dev->open_contexts; c; c = c->async.next) {
		int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);

		pthread_mutex_init(&c->async.lock, NULL);
		c->async.queue =
			NULL; /* what the parent had not read stays unread: forgotten, not freed */
		if (fd < 0)
			continue;
		dup3(fd, c->verbs.base.context.async_fd, O_CLOEXEC);
		close(fd);
	}
}

static void push(struct vb_context *context, const struct ibv_async_event *event)
{
	struct vb_async_record *record = malloc(sizeof(*record));

	if (!record) {
		rxe_log(RXE_LOG_ERROR, "no memory: an asynchronous event (%s) is lost",
			ibv_event_type_str(event->event_type));
		return;
	}
	record->event = *event;
	pthread_mutex_lock(&context->async.lock);
	DL_APPEND(context->async.queue, record);
	pthread_mutex_unlock(&context->async.lock);
	vb_eventfd_signal(context->verbs.base.context.async_fd);
}

/* An object may outlive its context, when another context's queue pair uses it. Under the engine lock. */
static bool is_open(const struct vb_device *dev, const struct ibv_context *context)
{
	const struct vb_context *c = dev->open_contexts;

	while (c && &c->verbs.base.context != context)
		c = c->async.next;
	return c != NULL;
}

void vb_async_from_engine(struct progress *progress, const struct rxe_event *event)
{
	struct ibv_async_event out = { .event_type = (enum ibv_event_type)event->type };
	struct ibv_context *context;

	if (event->cq) {
		out.element.cq = vb_cq_base(event->cq->owner);
		context = out.element.cq->context;
	} else if (event->qp) {
		out.element.qp = &((struct vb_qp *)event->qp->owner)->ex.base.qp_base;
		context = out.element.qp->context;
	} else {
		out.element.srq = &((struct vb_srq *)event->srq->owner)->base;
		context = out.element.srq->context;
	}
	if (is_open(vb_device_of_progress(progress), context))
		push(vb_context(context), &out);
}

static void push_all(struct vb_device *dev, enum ibv_event_type type, int port)
{
	struct ibv_async_event out = { .event_type = type, .element.port_num = port };

	pthread_mutex_lock(&dev->progress.lock);
	for (struct vb_context *context = dev->open_contexts; context;
	     context = context->async.next) {
		if (!context->fatal_notified)
			push(context, &out);
		/* The last that it hears of the device. */
		context->fatal_notified |= type == IBV_EVENT_DEVICE_FATAL;
	}
	pthread_mutex_unlock(&dev->progress.lock);
}

/* As long as we hold a socket of its group, no other server may have the dead one's address; on an interface, its next server's
 * packets would fill it. The number stays taken. */
static void leave_port(struct vb_device *dev)
{
	int nothing = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (nothing < 0)
		return;
	dup3(nothing, dev->attachment.rx_fd, O_CLOEXEC);
	close(nothing);
}

/* Not of a context that was opened behind the last time that the device was fatal. */
static bool is_dead(const struct vb_device *dev, struct ibv_context *context)
{
	return vb_context(context)->fatal != atomic_load(&dev->attachment.shared->faults.fatal);
}

/* The device is dead: queue pairs go to error, so that nobody waits for completions that will never come. Under the engine lock. */
static void fail_queue_pairs(struct vb_device *dev, bool all)
{
	struct rxe_engine *engine = dev->progress.engine;

	for (uint32_t i = 0; i < RXE_MAX_QP; i++) {
		const struct vb_qp *qp = engine->qp[i] ? engine->qp[i]->owner : NULL;

		if (qp && (all || is_dead(dev, qp->ex.base.qp_base.context)))
			rxe_qp_fail(engine, engine->qp[i], RXE_WC_SUCCESS, clock_now_ns());
	}
	rxe_engine_settle(engine);
}

static void server_ended(struct vb_device *dev)
{
	rxe_log(RXE_LOG_WARNING, "the device server of %s has ended: its queue pairs are in error",
		dev->base.name);
	if (progress_lock(&dev->progress)) {
		fail_queue_pairs(dev, true);
		leave_port(dev);
		progress_unlock(&dev->progress);
	}
	push_all(dev, IBV_EVENT_DEVICE_FATAL, 1);
}

/* A fault rule (rxe_dm/server/fault_device.c): what has changed stands in the shared memory already. */
static void device_changed(struct vb_device *dev, enum ibv_event_type type, int port)
{
	rxe_log(RXE_LOG_INFO, "%s: %s", dev->base.name, ibv_event_type_str(type));
	if (progress_lock(&dev->progress)) {
		progress_follow_gids(&dev->progress);
		if (type == IBV_EVENT_DEVICE_FATAL)
			fail_queue_pairs(dev, false);
		progress_unlock(&dev->progress);
	}
	push_all(dev, type, port);
}

bool vb_async_from_server(struct progress *progress)
{
	struct vb_device *dev = vb_device_of_progress(progress);
	struct ctl_event event;
	size_t num_fds = 0;
	int fd = -1;
	ssize_t n = ctl_recv(dev->attachment.event_fd, &event, sizeof(event), &fd, 1, &num_fds,
			     MSG_DONTWAIT);

	if (n < 0)
		return n == -EAGAIN || n == -EINTR;
	if (n < (ssize_t)sizeof(event) ||
	    (event.type == IBV_EVENT_DEVICE_FATAL && atomic_load(&dev->attachment.shared->gone))) {
		server_ended(dev);
		return false;
	}
	if (event.type == CTL_EVENT_CAPTURE)
		vb_capture_told(progress, num_fds > 0 ? fd : -1);
	else
		device_changed(dev, (enum ibv_event_type)event.type, (int)event.port);
	return true;
}

static struct vb_async_record *pop(struct vb_context *context)
{
	struct vb_async_record *record;

	pthread_mutex_lock(&context->async.lock);
	record = context->async.queue;
	if (record) {
		DL_DELETE(context->async.queue, record);
		/* Counted as reported under the same lock that a destroy takes to look. */
		if (vb_event_is_qp(record->event.event_type))
			((struct vb_qp *)(void *)record->event.element.qp)->events_reported++;
		else if (vb_event_is_cq(record->event.event_type))
			((struct vb_cq *)(void *)record->event.element.cq)->async_reported++;
		else if (vb_event_is_srq(record->event.event_type))
			((struct vb_srq *)(void *)record->event.element.srq)->events_reported++;
	}
	pthread_mutex_unlock(&context->async.lock);
	return record;
}

/* As in channel.c. */
static void cancelled(void *arg)
{
	struct vb_context *context = arg;
	bool unread;

	pthread_mutex_lock(&context->async.lock);
	unread = context->async.queue != NULL;
	pthread_mutex_unlock(&context->async.lock);
	if (unread)
		vb_eventfd_signal(context->verbs.base.context.async_fd);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct vb_async_record *record;

	if (!vb_live_is(context, VB_KIND_CONTEXT) || !event) {
		errno = EINVAL;
		return -1;
	}
	if (vb_verb_fails(context, get_async_event))
		return -1;
	do {
		if (!vb_eventfd_wait(context->async_fd, cancelled, vb_context(context)))
			return -1;
		record = pop(vb_context(context));
	} while (!record);
	*event = record->event;
	free(record);
	return 0;
}

static void ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	if (!event)
		return;
	if (vb_event_is_qp(event->event_type)) {
		struct ibv_qp *qp = event->element.qp;

		ack(&qp->mutex, &qp->cond, &qp->events_completed);
	} else if (vb_event_is_cq(event->event_type)) {
		struct ibv_cq *cq = event->element.cq;

		ack(&cq->mutex, &cq->cond, &cq->async_events_completed);
	} else if (vb_event_is_srq(event->event_type)) {
		struct ibv_srq *srq = event->element.srq;

		ack(&srq->mutex, &srq->cond, &srq->events_completed);
	}
}

static void drop_unread(struct vb_context *context, bool (*is_of)(enum ibv_event_type),
			const void *object)
{
	struct vb_async_record *record, *tmp;

	pthread_mutex_lock(&context->async.lock);
	DL_FOREACH_SAFE (context->async.queue, record, tmp) {
		if (!is_of(record->event.event_type) || record->event.element.qp != object)
			continue;
		DL_DELETE(context->async.queue, record);
		free(record);
	}
	pthread_mutex_unlock(&context->async.lock);
}

static void wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		       uint32_t reported)
{
	NO_CANCEL;

	pthread_mutex_lock(mutex);
	while (*completed != reported)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

void vb_async_forget_qp(struct vb_context *context, const void *object)
{
	struct vb_qp *qp = (struct vb_qp *)(uintptr_t)object;
	struct ibv_qp *base = &qp->ex.base.qp_base;

	drop_unread(context, vb_event_is_qp, object);
	if (qp->forks == vb_forks())
		wait_acked(&base->mutex, &base->cond, &base->events_completed, qp->events_reported);
}

void vb_async_forget_cq(struct vb_context *context, const void *object)
{
	struct vb_cq *cq = (struct vb_cq *)(uintptr_t)object;
	struct ibv_cq *base = vb_cq_base(cq);

	drop_unread(context, vb_event_is_cq, object);
	if (cq->forks == vb_forks())
		wait_acked(&base->mutex, &base->cond, &base->async_events_completed,
			   cq->async_reported);
}

void vb_async_forget_srq(struct vb_context *context, const void *object)
{
	struct vb_srq *srq = (struct vb_srq *)(uintptr_t)object;

	drop_unread(context, vb_event_is_srq, object);
	if (srq->forks == vb_forks())
		wait_acked(&srq->base.mutex, &srq->base.cond, &srq->base.events_completed,
			   srq->events_reported);
}

bool vb_event_is_cq(enum ibv_event_type type)
{
	return type == IBV_EVENT_CQ_ERR;
}

bool vb_event_is_srq(enum ibv_event_type type)
{
	return type == IBV_EVENT_SRQ_ERR || type == IBV_EVENT_SRQ_LIMIT_REACHED;
}

bool vb_event_is_qp(enum ibv_event_type type)
{
	return (type >= IBV_EVENT_QP_FATAL && type <= IBV_EVENT_PATH_MIG_ERR) ||
	       type == IBV_EVENT_QP_LAST_WQE_REACHED;
}
