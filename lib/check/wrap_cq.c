// SPDX-License-Identifier: MIT
/* Completion queues and their events. */
#include <string.h>

#include "lib/check/event.h"
#include "lib/check/hooks.h"
#include "lib/check/inner.h"
#include "lib/check/queue.h"
#include "lib/check/thread.h"
#include "lib/check/wrap.h"
#include "lib/check/wrap_poll.h"

INNER(ibv_create_cq);
INNER(ibv_destroy_cq);
INNER(ibv_get_cq_event);
INNER(ibv_ack_cq_events);

static void made(struct ibv_cq *cq)
{
	struct check_object *object;

	check_lock();
	object = object_made(cq, VB_KIND_CQ, cq->context);
	if (object)
		queue_cq_made(object, cq);
	check_unlock();
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *cq;

	wrap_used(context, VB_KIND_CONTEXT, "ibv_create_cq");
	cq = inner_ibv_create_cq(context, cqe, cq_context, channel, comp_vector);
	if (cq)
		made(cq);
	return cq;
}

static void made_for_thread(struct ibv_cq *cq, const struct ibv_cq_init_attr_ex *attr)
{
	const bool single = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
			    (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	struct check_object *object;

	check_lock();
	object = object_find(cq);
	if (object && single)
		thread_single(object);
	else if (object && (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		thread_joins(object, attr->parent_domain);
	listener_refresh();
	check_unlock();
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq = check_inner.base.create_cq_ex(context, attr);

	if (!cq)
		return NULL;
	made(ibv_cq_ex_to_cq(cq));
	made_for_thread(ibv_cq_ex_to_cq(cq), attr);
	wrap_poll_ex(cq);
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct check_object *object = wrap_ending(cq, VB_KIND_CQ, "ibv_destroy_cq");

	if (object && object->part) {
		check_lock();
		hook_cq_ending(object->part);
		check_unlock();
	}
	return wrap_ended(object, inner_ibv_destroy_cq(cq));
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct check_object *object;

	check_lock();
	object = object_used(cq, VB_KIND_CQ, "ibv_req_notify_cq");
	thread_used(object, "ibv_req_notify_cq");
	if (object && object->part)
		hook_armed(object->part);
	check_unlock();
	return INNER_OPS->req_notify_cq(cq, solicited_only);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct check_cq *found;
	int err;

	check_lock();
	hook_called(__builtin_frame_address(0));
	if (!object_is_dead(channel, VB_KIND_CHANNEL, "ibv_get_cq_event"))
		hook_waiting(channel);
	check_unlock();
	err = inner_ibv_get_cq_event(channel, cq, cq_context);
	if (err)
		return err;
	check_lock();
	found = queue_cq(*cq);
	if (found)
		event_taken(found);
	check_unlock();
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	struct check_object *object;

	check_lock();
	object = object_used(cq, VB_KIND_CQ, "ibv_ack_cq_events");
	if (object && object->part)
		event_acked(object->part, nevents);
	check_unlock();
	inner_ibv_ack_cq_events(cq, nevents);
}

void wrap_cq_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_cq_ex = create_cq_ex;
	verbs->base.context.ops.poll_cq = wrap_poll_cq;
	verbs->base.context.ops.req_notify_cq = req_notify_cq;
}
