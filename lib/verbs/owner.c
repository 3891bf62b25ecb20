// SPDX-License-Identifier: MIT
/* What engine and device server report to the objects (struct progress_owner): completions of armed
 * CQs, events, failures of queue pairs, the end of the server. */
#include "lib/verbs/owner.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "lib/control/cancel.h"
#include "lib/control/client.h"
#include "lib/control/log.h"
#include "lib/control/socket.h"
#include "lib/diagnose/diagnose.h"
#include "lib/progress/link.h"
#include "lib/progress/progress.h"
#include "lib/verbs/async.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/device.h"
#include "lib/verbs/qp.h"
#include "lib/verbs/srq.h"
#include "lib/verbs/wq.h"
#include "lib/verbs/xrc.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"

/* The CQ was armed, and a completion is ready. */
static void cq_notified(struct progress *progress, struct rxe_cq *cq)
{
	struct vb_cq *owner = cq->owner;

	if (!owner->channel)
		return;
	vb_channel_notify(owner->channel, owner);
	progress_event_raised(progress);
}

/* Another process modified an XRC target of this one. */
static void qp_modified(struct progress *progress, struct rxe_qp *qp)
{
	struct vb_qp *target = qp->owner;

	(void)progress;
	target->ex.base.qp_base.state = (enum ibv_qp_state)qp->state;
	vb_qp_publish(target);
}

static void event_raised(struct progress *progress, const struct rxe_event *event)
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
	vb_async_push_if_open(vb_device_of_progress(progress), context, &out);
}

static uint64_t since_1970_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void set_request(struct ctl_failure *failure, const struct rxe_qp *qp, enum rxe_failed what)
{
	const struct rxe_send_wqe *wqe;

	switch (what) {
	case RXE_FAILED_SEND:
		if (rxe_ring_used(&qp->sq) == 0)
			return;
		wqe = rxe_ring_at(&qp->sq, qp->sq.head);
		failure->wr_id = wqe->wr_id;
		break;
	case RXE_FAILED_RECV:
	case RXE_FAILED_RESPONSE:
		if (!qp->claim.held)
			return;
		failure->wr_id = qp->claim.wr_id;
		break;
	case RXE_FAILED_CQ: return;
	}
	failure->has_wr = 1;
}

static void record(struct ctl_failure *failure, const struct vb_device *dev,
		   const struct rxe_qp *qp, enum rxe_failed what, uint32_t status)
{
	const struct diagnosis diagnosis = {
		.gids = dev->info.gids,
		.shared = dev->attachment.shared,
		.slot = dev->attachment.slot,
		.link = dev->info.link,
	};
	const struct ctl_slot *slot = vb_slot(dev);
	struct tail *tail = dev->progress.link.tail;

	memset(failure, 0, offsetof(struct ctl_failure, packet));
	failure->time_ns = clock_now_ns();
	failure->epoch_ns = since_1970_ns();
	failure->pid = atomic_load(&slot->pid);
	memcpy(failure->comm, slot->comm, sizeof(failure->comm));
	failure->qpn = qp->qpn;
	failure->type = (uint32_t)qp->type;
	failure->status = status;
	if (qp->type != RXE_QPT_UD) {
		failure->dest_qpn = qp->attr.dest_qp_num;
		failure->peer = qp->flow.dst;
	}
	set_request(failure, qp, what);
	diagnose_failure(failure->why, sizeof(failure->why), &diagnosis, qp, what,
			 (enum rxe_wc_status)status);
	failure->watched = tail != NULL;
	failure->num_packets =
		tail ? packet_qp_tail(qp, tail, failure->packet, CTL_FAILURE_PACKETS) : 0;
}

static void qp_failed(struct progress *progress, const struct rxe_qp *qp, enum rxe_failed what,
		      uint32_t status)
{
	const struct vb_device *dev = vb_device_of_progress(progress);
	struct ctl_slot *slot = vb_slot(dev);
	struct ctl_slot_failures *failures = &slot->failures;
	const uint32_t count = atomic_load_explicit(&failures->count, memory_order_relaxed);
	struct ctl_failure *failure = &failures->at[count % CTL_FAILURES_OF_SLOT];
	NO_CANCEL;

	record(failure, dev, qp, what, status);
	atomic_store_explicit(&failures->count, count + 1, memory_order_release);
	/* A failed send leaves the receiving half of a UC or UD queue pair alive. */
	slot->qp[qp->qpn % RXE_MAX_QP].state =
		what == RXE_FAILED_SEND && !rxe_qp_is_reliable(qp) ? RXE_QPS_SQE : RXE_QPS_ERR;
	ctl_log(CTL_LOG_INFO, "QP 0x%06x: %s", qp->qpn, failure->why);
}

/* An XRC target that this process has opened. */
static void target_event(struct vb_device *dev, enum ibv_event_type type, uint32_t qpn)
{
	struct ibv_async_event out = { .event_type = type };

	if (!progress_lock(&dev->progress))
		return;
	for (struct vb_qp *qp = dev->opened_targets; qp; qp = qp->next_opened) {
		out.element.qp = &qp->ex.base.qp_base;
		if (qp->qp.qpn == qpn)
			vb_async_push_if_open(dev, out.element.qp->context, &out);
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
			vb_async_push(context, &out);
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

	engine->now_ns = clock_now_ns();
	for (uint32_t i = 0; i < RXE_MAX_QP; i++) {
		const struct vb_qp *qp = engine->qp[i] ? engine->qp[i]->owner : NULL;

		if (qp && (all || is_dead(dev, qp->ex.base.qp_base.context)))
			rxe_qp_fail(engine, engine->qp[i], RXE_WC_SUCCESS);
	}
	rxe_engine_settle(engine);
}

static void server_ended(struct vb_device *dev)
{
	ctl_log(CTL_LOG_WARNING,
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

/* A fault rule acted (rxe_dm/server/fault.c). Shared memory already has the change. */
static void device_changed(struct vb_device *dev, enum ibv_event_type type, int port)
{
	ctl_log(CTL_LOG_INFO, "%s: %s", dev->base.name, ibv_event_type_str(type));
	if (progress_lock(&dev->progress)) {
		device_link_follow_gids(&dev->progress);
		if (type == IBV_EVENT_DEVICE_FATAL)
			fail_queue_pairs(dev, false);
		progress_unlock(&dev->progress);
	}
	push_all(dev, type, port);
}

static void descriptors_closed(struct progress *progress)
{
	struct vb_device *dev = vb_device_of_progress(progress);

	ctl_log(CTL_LOG_WARNING,
		"the program has closed descriptors of %s: its queue pairs are in error; close "
		"other descriptors before you open the device",
		dev->base.name);
	fail_queue_pairs(dev, true);
	push_all_locked(dev, IBV_EVENT_DEVICE_FATAL, 1);
}

static bool server_event_ready(struct progress *progress)
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
		vb_qp_target_unused(dev, event.port);
	else if (event.type & CTL_EVENT_QP)
		target_event(dev, (enum ibv_event_type)(event.type & ~CTL_EVENT_QP), event.port);
	else if (event.type == CTL_EVENT_CAPTURE)
		device_link_capture(progress, num_fds > 0 ? fd : -1);
	else
		device_changed(dev, (enum ibv_event_type)event.type, (int)event.port);
	return true;
}

const struct progress_owner vb_owner = {
	.cq_notified = cq_notified,
	.event_raised = event_raised,
	.qp_failed = qp_failed,
	.server_event_ready = server_event_ready,
	.qp_modified = qp_modified,
	.descriptors_closed = descriptors_closed,
};
