// SPDX-License-Identifier: MIT
/* Asynchronous events: the engine and the server raise them, programs read and acknowledge them.
 *
 * async_fd is an eventfd semaphore with one count per event in the queue; a program may poll it
 * and set it O_NONBLOCK. An event that is dropped because its object is destroyed can leave a
 * count behind: the reader then finds an empty queue and waits again. */
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
#include "lib/progress/eventfd.h"
#include "lib/progress/link.h"
#include "lib/progress/log.h"
#include "lib/progress/progress.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"
#include "lib/verbs/wq.h"
#include "lib/verbs/xrc.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"

struct vb_async_record {
	struct ibv_async_event event;
	struct vb_async_record *next, *prev;
};

static bool is_event_of_cq(enum ibv_event_type type)
{
	return type == IBV_EVENT_CQ_ERR;
}

static bool is_event_of_srq(enum ibv_event_type type)
{
	return type == IBV_EVENT_SRQ_ERR || type == IBV_EVENT_SRQ_LIMIT_REACHED;
}

static bool is_event_of_qp(enum ibv_event_type type)
{
	return (type >= IBV_EVENT_QP_FATAL && type <= IBV_EVENT_PATH_MIG_ERR) ||
	       type == IBV_EVENT_QP_LAST_WQE_REACHED;
}

static bool is_event_of_wq(enum ibv_event_type type)
{
	return type == IBV_EVENT_WQ_FATAL;
}

int vb_async_init(struct vb_context *context)
{
	struct progress *progress = &context->dev->progress;
	int fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));

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
	descriptor_close(context->verbs.base.context.async_fd);
	pthread_mutex_destroy(&context->async.lock);
}

void vb_async_forked(struct vb_device *dev)
{
	/* The parent's. */
	dev->opened_targets = NULL;
	for (struct vb_context *c = dev->open_contexts; c; c = c->async.next) {
		int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);

		pthread_mutex_init(&c->async.lock, NULL);
		/* The parent's unread events stay allocated: free() is not safe here. */
		c->async.queue = NULL;
		if (fd < 0)
			continue;
		descriptor_replace(c->verbs.base.context.async_fd, fd);
	}
}

static void push(struct vb_context *context, const struct ibv_async_event *event)
{
	struct vb_async_record *record = malloc(sizeof(*record));

	if (!record) {
		rxe_log(RXE_LOG_ERROR, "an asynchronous event (%s) is lost: no memory",
			ibv_event_type_str(event->event_type));
		return;
	}
	record->event = *event;
	pthread_mutex_lock(&context->async.lock);
	DL_APPEND(context->async.queue, record);
	pthread_mutex_unlock(&context->async.lock);
	eventfd_signal(context->verbs.base.context.async_fd);
}

/* An object outlives its context if a queue pair of another uses it. Under the engine lock. */
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
	} else if (event->qp && event->qp->type == RXE_QPT_WQ) {
		/* The only event of a work queue. */
		out.event_type = IBV_EVENT_WQ_FATAL;
		out.element.wq = &vb_wq_of_half(event->qp->owner)->base;
		context = out.element.wq->context;
	} else if (event->qp) {
		const struct vb_qp *qp = event->qp->owner;

		out.element.qp = (struct ibv_qp *)(uintptr_t)&qp->ex.base.qp_base;
		context = out.element.qp->context;
		if (event->type == RXE_EVENT_PATH_MIG)
			vb_qp_publish(event->qp->owner);
		if (event->qp->type == RXE_QPT_XRC_RECV)
			vb_target_tell(qp->dev, CTL_EVENT_QP | event->type, event->qp->qpn);
		if (qp->is_closed)
			return;
	} else {
		out.element.srq = &((struct vb_srq *)event->srq->owner)->base;
		context = out.element.srq->context;
	}
	if (is_open(vb_device_of_progress(progress), context))
		push(vb_context(context), &out);
}

/* An XRC target that this process has opened. */
static void target_event(struct vb_device *dev, enum ibv_event_type type, uint32_t qpn)
{
	struct ibv_async_event out = { .event_type = type };

	if (!progress_lock(&dev->progress))
		return;
	for (struct vb_qp *qp = dev->opened_targets; qp; qp = qp->next_opened) {
		out.element.qp = &qp->ex.base.qp_base;
		if (qp->qp.qpn == qpn && is_open(dev, out.element.qp->context))
			push(vb_context(out.element.qp->context), &out);
	}
	progress_unlock(&dev->progress);
}

/* Under the engine lock. */
static void push_all_locked(struct vb_device *dev, enum ibv_event_type type, int port)
{
	struct ibv_async_event out = { .event_type = type, .element.port_num = port };

	for (struct vb_context *context = dev->open_contexts; context;
	     context = context->async.next) {
		if (!context->fatal_notified)
			push(context, &out);
		/* No event follows IBV_EVENT_DEVICE_FATAL. */
		context->fatal_notified |= type == IBV_EVENT_DEVICE_FATAL;
	}
}

static void push_all(struct vb_device *dev, enum ibv_event_type type, int port)
{
	pthread_mutex_lock(&dev->progress.lock);
	push_all_locked(dev, type, port);
	pthread_mutex_unlock(&dev->progress.lock);
}

/* Closes the receive socket but keeps its number: in the dead server's group the socket keeps the
 * next server from taking the address, and on an interface fills with that server's packets. */
static void leave_group(struct vb_device *dev)
{
	int unbound = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (unbound < 0)
		return;
	descriptor_replace(dev->attachment.rx_fd, unbound);
}

/* Was the context open when the device last had a fatal error? */
static bool is_dead(const struct vb_device *dev, struct ibv_context *context)
{
	return vb_context(context)->fatal != atomic_load(&dev->attachment.shared->faults.fatal);
}

/* Puts queue pairs of a dead device into error, so that their completions are flushed: all of
 * them, or those of dead contexts. Under the engine lock. */
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
	rxe_log(RXE_LOG_WARNING,
		"%s: the device server has exited, and all queue pairs are in error: restart the "
		"program",
		dev->base.name);
	if (progress_lock(&dev->progress)) {
		fail_queue_pairs(dev, true);
		leave_group(dev);
		progress_unlock(&dev->progress);
	}
	push_all(dev, IBV_EVENT_DEVICE_FATAL, 1);
}

void vb_async_descriptors_closed(struct progress *progress)
{
	struct vb_device *dev = vb_device_of_progress(progress);

	rxe_log(RXE_LOG_WARNING,
		"the program has closed descriptors of %s: its queue pairs are in error; close "
		"other descriptors before you open the device",
		dev->base.name);
	fail_queue_pairs(dev, true);
	push_all_locked(dev, IBV_EVENT_DEVICE_FATAL, 1);
}

/* A fault rule acted (rxe_dm/server/fault.c). Shared memory already has the change. */
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
	    (event.type == IBV_EVENT_DEVICE_FATAL && atomic_load(&dev->attachment.shared->ended))) {
		server_ended(dev);
		return false;
	}
	if (event.type == CTL_EVENT_QP)
		vb_target_unused(dev, event.port);
	else if (event.type & CTL_EVENT_QP)
		target_event(dev, (enum ibv_event_type)(event.type & ~CTL_EVENT_QP), event.port);
	else if (event.type == CTL_EVENT_CAPTURE)
		device_link_capture(progress, num_fds > 0 ? fd : -1);
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
		/* Counted under the lock under which drop_unread() searches the queue. */
		if (is_event_of_qp(record->event.event_type))
			vb_qp(record->event.element.qp)->events_reported++;
		else if (is_event_of_cq(record->event.event_type))
			vb_cq(record->event.element.cq)->async_reported++;
		else if (is_event_of_srq(record->event.event_type))
			vb_srq(record->event.element.srq)->events_reported++;
		else if (is_event_of_wq(record->event.event_type))
			vb_wq(record->event.element.wq)->half.events_reported++;
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
		eventfd_signal(context->verbs.base.context.async_fd);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct vb_async_record *record;

	if (!vb_object_is_live(context, VB_KIND_CONTEXT) || !event) {
		errno = EINVAL;
		return -1;
	}
	if (vb_verb_fails(context, get_async_event))
		return -1;
	do {
		if (!eventfd_wait(context->async_fd, cancelled, vb_context(context)))
			return -1;
		record = pop(vb_context(context));
	} while (!record);
	*event = record->event;
	free(record);
	return 0;
}

void vb_events_ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed, uint32_t n)
{
	pthread_mutex_lock(mutex);
	*completed += n;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	if (!event)
		return;
	if (is_event_of_qp(event->event_type)) {
		struct ibv_qp *qp = event->element.qp;

		vb_events_ack(&qp->mutex, &qp->cond, &qp->events_completed, 1);
	} else if (is_event_of_cq(event->event_type)) {
		struct ibv_cq *cq = event->element.cq;

		vb_events_ack(&cq->mutex, &cq->cond, &cq->async_events_completed, 1);
	} else if (is_event_of_srq(event->event_type)) {
		struct ibv_srq *srq = event->element.srq;

		vb_events_ack(&srq->mutex, &srq->cond, &srq->events_completed, 1);
	} else if (is_event_of_wq(event->event_type)) {
		struct ibv_wq *wq = event->element.wq;

		vb_events_ack(&wq->mutex, &wq->cond, &wq->events_completed, 1);
	}
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

void vb_events_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
			  uint32_t reported)
{
	NO_CANCEL;

	pthread_mutex_lock(mutex);
	while (*completed != reported)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

void vb_async_forget_qp(struct vb_qp *qp)
{
	struct ibv_qp *base = &qp->ex.base.qp_base;

	drop_unread(base->context, base);
	if (qp->forks == vb_forks())
		vb_events_wait_acked(&base->mutex, &base->cond, &base->events_completed,
				     qp->events_reported);
}

void vb_async_forget_cq(struct vb_cq *cq)
{
	struct ibv_cq *base = vb_cq_base(cq);

	drop_unread(base->context, base);
	if (cq->forks == vb_forks())
		vb_events_wait_acked(&base->mutex, &base->cond, &base->async_events_completed,
				     cq->async_reported);
}

void vb_async_forget_srq(struct vb_srq *srq)
{
	struct ibv_srq *base = &srq->base;

	drop_unread(base->context, base);
	if (srq->forks == vb_forks())
		vb_events_wait_acked(&base->mutex, &base->cond, &base->events_completed,
				     srq->events_reported);
}

void vb_async_forget_wq(struct vb_wq *wq)
{
	struct ibv_wq *base = &wq->base;

	drop_unread(base->context, base);
	if (wq->half.forks == vb_forks())
		vb_events_wait_acked(&base->mutex, &base->cond, &base->events_completed,
				     wq->half.events_reported);
}
