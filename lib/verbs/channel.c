// SPDX-License-Identifier: MIT
/* Completion channels: events of armed CQs, for programs that block or poll the descriptor.
 *
 * The descriptor counts the unread events, except one for each thread in ibv_get_cq_event(): the
 * first that the thread raises while it runs the engine there. The thread takes it without two
 * system calls. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/progress/eventfd.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/async.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"

/* The channel of the ibv_get_cq_event() that this thread is in, whether it raised an event there,
 * and when it got its last event. */
static __thread struct {
	const struct vb_channel *channel;
	bool has_raised;
	uint64_t had_event_at_ns;
} waits_on;

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct vb_channel *channel;

	if (vb_refuses_context(context))
		return vb_fail(refusal_noted());
	channel = vb_object_begin(context, VB_KIND_CHANNEL, sizeof(*channel),
				  INJECT_VERB_create_comp_channel);
	if (!channel)
		return vb_fail(errno);
	channel->base.fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
	if (channel->base.fd < 0)
		return vb_fail(
			vb_object_undo(channel, refuse(WHY_NO_EVENTFD(errno), strerror(errno))));
	pthread_mutex_init(&channel->lock, NULL);
	return &channel->base;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *base)
{
	NO_CANCEL;
	int err = vb_end_check(base, VB_KIND_CHANNEL, INJECT_VERB_destroy_comp_channel);
	struct vb_channel *channel = vb_channel(base);

	if (!err && __atomic_load_n(&base->refcnt, __ATOMIC_ACQUIRE))
		err = vb_refuse_used(base, VB_KIND_CHANNEL);
	if (!err)
		err = vb_end_take(channel, VB_KIND_CHANNEL);
	if (err)
		return vb_result(err);
	descriptor_close(base->fd);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
	return 0;
}

void vb_channel_notify(struct vb_channel *channel, struct vb_cq *cq)
{
	pthread_mutex_lock(&channel->lock);
	if (cq->notices++ == 0)
		DL_APPEND2(channel->notified, cq, prev_notified, next_notified);
	atomic_fetch_add(&channel->unread, 1);
	pthread_mutex_unlock(&channel->lock);
	if (waits_on.channel != channel || waits_on.has_raised)
		eventfd_signal(channel->base.fd);
	else
		waits_on.has_raised = true;
}

void vb_channel_forget(struct vb_channel *channel, struct vb_cq *cq)
{
	pthread_mutex_lock(&channel->lock);
	if (cq->notices)
		DL_DELETE2(channel->notified, cq, prev_notified, next_notified);
	atomic_fetch_sub(&channel->unread, cq->notices);
	cq->notices = 0;
	pthread_mutex_unlock(&channel->lock);
}

/* Takes the oldest event; NULL: the count belonged to a CQ that was destroyed. */
static struct vb_cq *pop(struct vb_channel *channel)
{
	struct vb_cq *cq;

	pthread_mutex_lock(&channel->lock);
	cq = channel->notified;
	if (cq) {
		DL_DELETE2(channel->notified, cq, prev_notified, next_notified);
		if (--cq->notices)
			DL_APPEND2(channel->notified, cq, prev_notified, next_notified);
		atomic_fetch_sub(&channel->unread, 1);
		cq->comp_reported++;
	}
	pthread_mutex_unlock(&channel->lock);
	return cq;
}

/* With sleeps at both ends a round trip takes much more. The answer of a peer that slept arrives
 * within this time. */
static void spin(struct vb_channel *channel, uint64_t until_ns)
{
	struct progress *progress = &vb_device(channel->base.context)->progress;

	do {
		if (atomic_load(&channel->unread))
			return;
		progress_poll(progress);
	} while (clock_now_ns() < until_ns);
}

/* Before the thread sleeps on the channel alone. 0, or EINTR. */
static int run_engine(struct vb_channel *channel, struct progress_event *event)
{
	struct progress *progress = &vb_device(channel->base.context)->progress;
	uint64_t now_ns, spin_ns, until_ns;
	int err = 0;

	if (atomic_load(&channel->unread))
		return 0;
	if (fcntl(channel->base.fd, F_GETFL) & O_NONBLOCK) {
		spin(channel, 0);
		return 0;
	}
	now_ns = clock_now_ns();
	spin_ns = progress_event_awaited(progress, now_ns - waits_on.had_event_at_ns);
	if (spin_ns)
		spin(channel, now_ns + spin_ns);
	until_ns = now_ns + spin_ns + progress_event_wait_ns();
	while (!err && !atomic_load(&channel->unread))
		err = progress_wait_for_event(progress, event, until_ns);
	return err == EINTR && !atomic_load(&channel->unread) ? EINTR : 0;
}

/* The thread was cancelled after its read took a count: restores the count. A surplus count only
 * wakes a reader for nothing. */
static void cancelled(void *arg)
{
	struct vb_channel *channel = arg;

	if (atomic_load(&channel->unread))
		eventfd_signal(channel->base.fd);
}

/* *ret NULL: the CQ of the event was destroyed. */
static int read_event(struct vb_channel *channel, struct vb_cq **ret)
{
	struct progress *progress = &vb_device(channel->base.context)->progress;
	const bool sleeps = !atomic_load(&channel->unread);

	if (sleeps)
		progress_program_will_sleep(progress);
	if (!eventfd_wait(channel->base.fd, cancelled, channel))
		return errno;
	*ret = pop(channel);
	waits_on.had_event_at_ns = sleeps ? clock_now_ns() : progress_active_at_ns(progress);
	return 0;
}

static int take_event(struct vb_channel *channel, struct vb_cq **ret)
{
	struct progress_event event = { .fd = channel->base.fd, .count = &channel->unread };
	int err;

	/* A thread that raises all its events itself never comes to the read(2). */
	pthread_testcancel();
	waits_on.channel = channel;
	waits_on.has_raised = false;
	err = run_engine(channel, &event);
	waits_on.channel = NULL;
	/* A signal handler may leave ibv_get_cq_event() by siglongjmp(), and the descriptor does
	 * not count the event. */
	*ret = waits_on.has_raised ? pop(channel) : NULL;
	progress_event_wait_over(&event);
	if (!*ret)
		return err ? err : read_event(channel, ret);
	waits_on.had_event_at_ns =
		progress_active_at_ns(&vb_device(channel->base.context)->progress);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *base, struct ibv_cq **cq, void **cq_context)
{
	struct vb_channel *channel = vb_channel(base);
	struct vb_cq *found;
	int err;

	/* The events of an inherited channel belong to the parent process. */
	if (vb_refuses(channel, VB_KIND_CHANNEL) ||
	    refuse_if(vb_object_is_inherited(channel), WHY_INHERITED, "the completion channel") ||
	    refuse_if(!cq, WHY_NULL, "cq") || refuse_if(!cq_context, WHY_NULL, "cq_context"))
		return vb_minus_one(refusal_noted());
	if (vb_verb_fails(base->context, get_cq_event))
		return vb_minus_one(errno);
	do {
		err = take_event(channel, &found);
		if (err)
			return vb_event_fail(err);
	} while (!found);
	*cq = vb_cq_base(found);
	*cq_context = (*cq)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (!cq)
		return;
	vb_events_ack(&cq->mutex, &cq->cond, &cq->comp_events_completed, nevents);
}
