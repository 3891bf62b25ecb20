// SPDX-License-Identifier: MIT
/* The order of arming, polling and waiting. */
#include "lib/check/event.h"

#include <stdbool.h>
#include <stddef.h>

#include "lib/check/check.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"
#include "lib/check/stack.h"
#include "lib/verbs/async.h"

void event_armed(struct check_cq *cq)
{
	cq->armed = true;
	cq->polled_since_armed = false;
	cq->expected_at_arm = cq->expected;
	check_stack_take(&cq->armed_at);
}

void event_polling(struct check_cq *cq)
{
	cq->has_polled = true;
	cq->polled_since_armed = true;
}

/* A queue that was never polled was armed before the first request: nothing can be in it. */
static void look(struct check_object *object, void *channel)
{
	const struct check_cq *cq = object->kind == VB_KIND_CQ ? object->part : NULL;

	if (!cq || cq->cq->channel != channel || !cq->armed || cq->polled_since_armed ||
	    !cq->has_polled || !cq->expected_at_arm)
		return;
	check_report(CHECK_EVENT_LOST_WAKE_UP,
		     (struct check_where[]){ { "waits here", NULL },
					     { "armed here", &cq->armed_at },
					     { "CQ created here", &object->made } },
		     3,
		     "%s was polled, then armed, and is waited for without another poll: a "
		     "completion that came in between brings no event (%u requests were "
		     "outstanding)",
		     object->label, cq->expected_at_arm);
}

void event_waiting(const struct ibv_comp_channel *channel)
{
	object_each(channel->context, look, (void *)(uintptr_t)channel);
}

void event_taken(struct check_cq *cq)
{
	cq->events++;
	cq->armed = false;
}

void event_acked(struct check_cq *cq, uint32_t n)
{
	cq->acked += n;
}

void event_cq_ending(const struct check_cq *cq)
{
	if (cq->events == cq->acked)
		return;
	check_report(CHECK_EVENT_NOT_ACKED,
		     (struct check_where[]){ { "destroyed here", NULL },
					     { "CQ created here", &cq->object->made } },
		     2,
		     "ibv_destroy_cq: %s: of %u events %u were acknowledged: the call waits until "
		     "all are",
		     cq->object->label, cq->events, cq->acked);
}

static void look_at_channel(struct check_object *object, void *arg)
{
	const struct check_object *channel = arg;
	const struct check_cq *cq = object->kind == VB_KIND_CQ ? object->part : NULL;

	if (!cq || cq->cq->channel != channel->address)
		return;
	check_report(CHECK_EVENT_CHANNEL_IN_USE,
		     (struct check_where[]){ { "destroyed here", NULL },
					     { "CQ created here", &object->made },
					     { "channel created here", &channel->made } },
		     3, "ibv_destroy_comp_channel: %s uses %s: the call fails with EBUSY",
		     object->label, channel->label);
}

void event_channel_ending(const struct check_object *channel)
{
	object_each(channel->context, look_at_channel, (void *)(uintptr_t)channel);
}

static const void *object_of(const struct ibv_async_event *event)
{
	switch ((int)event->event_type) {
	case IBV_EVENT_CQ_ERR: return event->element.cq;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: return event->element.srq;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED: return event->element.qp;
	default: return NULL;
	}
}

void event_async(const struct ibv_async_event *event, bool acked)
{
	const void *address = object_of(event);
	struct check_object *object = address ? object_find(address) : NULL;

	if (!object)
		return;
	if (acked) {
		object->async_acked++;
		return;
	}
	object->async_events++;
	object->async_reader = check_stack_thread();
}

/* Another thread that has read the last event may be about to acknowledge it. */
void event_async_ending(const struct check_object *object, const char *verb)
{
	if (object->async_events == object->async_acked ||
	    object->async_reader != check_stack_thread())
		return;
	check_report(CHECK_EVENT_ASYNC_NOT_ACKED,
		     (struct check_where[]){ { "destroyed here", NULL },
					     { "made here", &object->made } },
		     2,
		     "%s: %s: of %u asynchronous events %u were acknowledged: the call waits until "
		     "all are",
		     verb, object->label, object->async_events, object->async_acked);
}

/* The library's lock of its events is taken outside the layer's: memory is freed under it, which
 * the layer observes. */
void event_unread_ending(const struct check_object *object, const char *verb)
{
	const int type =
		object->inherited ? -1 : vb_async_unread_failure(object->context, object->address);

	if (type < 0)
		return;
	check_lock();
	check_report(CHECK_EVENT_ASYNC_UNREAD,
		     (struct check_where[]){ { "destroyed here", NULL },
					     { "made here", &object->made } },
		     2, "%s: %s failed, and its event was not read: %s", verb, object->label,
		     ibv_event_type_str((enum ibv_event_type)type));
	check_unlock();
}
