// SPDX-License-Identifier: MIT
/* The shadow of ids and event channels. */
#include "lib/check/cm.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "lib/check/check.h"
#include "lib/check/object.h"
#include "lib/check/reach.h"
#include "lib/check/report.h"
#include "lib/check/stack.h"

/* How long the end of an id waits for another thread's acknowledgement before it is a finding. */
#define ACK_WAIT_S 2

struct check_id {
	struct check_object *object;
	struct rdma_cm_id *id;
	/* Events that were read, and acknowledged; under ack_lock. */
	uint32_t read, acked;
	struct check_stack read_at; /* where the last event was read */
	bool is_connected;
	bool has_request; /* made by an event CONNECT_REQUEST, which offers this depth */
	uint8_t initiator_depth;
};

static pthread_mutex_t ack_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ack_arrived = PTHREAD_COND_INITIALIZER;

void rxe_dm_check_cm_loaded(const void *start, const void *end)
{
	check_stack_leave_out(start, end);
	reach_without(start);
}

void rxe_dm_check_free(void *memory)
{
	check_free(memory);
}

static struct check_id *part_of(const struct rdma_cm_id *id)
{
	const struct check_object *object = id ? object_find(id) : NULL;

	return object && !object->dead && object->kind == OBJECT_CM_ID ? object->part : NULL;
}

void rxe_dm_check_channel_made(struct rdma_event_channel *channel)
{
	if (!channel)
		return;
	check_report_begin();
	check_lock();
	object_made(channel, OBJECT_CM_CHANNEL, NULL);
	check_unlock();
}

static void look_at_id(struct check_object *object, void *arg)
{
	const struct check_object *channel = arg;
	const struct check_id *part = object->kind == OBJECT_CM_ID ? object->part : NULL;

	if (!part || part->id->channel != channel->address)
		return;
	check_report(CHECK_CM_CHANNEL_IN_USE,
		     (struct check_where[]){ { "destroyed here", NULL },
					     { "id made here", &object->made },
					     { "channel made here", &channel->made } },
		     3, "rdma_destroy_event_channel: %s is on %s: its events have nowhere to go",
		     object->label, channel->label);
}

bool rxe_dm_check_channel_ending(struct rdma_event_channel *channel)
{
	struct check_object *object;
	bool is_dead;

	check_lock();
	object = object_ending(channel, OBJECT_CM_CHANNEL, "rdma_destroy_event_channel");
	is_dead = !object && channel && object_find(channel) && object_find(channel)->dead;
	if (object)
		object_each(NULL, look_at_id, object);
	check_unlock();
	if (!is_dead)
		object_defer_begin();
	return !is_dead;
}

static void ended(const void *address, enum vb_kind kind, int err)
{
	struct deferred_free *memory = object_defer_end();
	struct check_object *object = NULL;

	check_lock();
	object = address && !err ? object_find(address) : NULL;
	if (object && !object->dead && object->kind == kind)
		object_ended(object, memory);
	else
		object_free_deferred(memory);
	check_unlock();
}

void rxe_dm_check_channel_ended(struct rdma_event_channel *channel)
{
	ended(channel, OBJECT_CM_CHANNEL, 0);
}

static struct check_id *enter(struct rdma_cm_id *id)
{
	struct check_object *object = object_made(id, OBJECT_CM_ID, NULL);
	struct check_id *part = object ? calloc(1, sizeof(*part)) : NULL;

	if (!part)
		return NULL;
	object->part = part;
	part->object = object;
	part->id = id;
	return part;
}

void rxe_dm_check_id_made(struct rdma_cm_id *id)
{
	check_report_begin();
	check_lock();
	enter(id);
	check_unlock();
}

bool rxe_dm_check_id_used(const struct rdma_cm_id *id, const char *call)
{
	bool is_dead;

	check_lock();
	is_dead = object_is_dead(id, OBJECT_CM_ID, call);
	check_unlock();
	return !is_dead;
}

/* Waits for what other threads acknowledge. Without the layer's lock. */
static bool all_acked(const struct check_id *part)
{
	struct timespec until;
	int err = 0;
	bool ret;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ACK_WAIT_S;
	pthread_mutex_lock(&ack_lock);
	while (part->read != part->acked && !err)
		err = pthread_cond_timedwait(&ack_arrived, &ack_lock, &until);
	ret = part->read == part->acked;
	pthread_mutex_unlock(&ack_lock);
	return ret;
}

static void report_events(const struct check_id *part, const char *call)
{
	const bool is_own = part->read_at.thread == check_stack_thread();
	const struct check_where where[] = {
		{ "destroyed here", NULL },
		{ "last event read here", &part->read_at },
		{ "id made here", &part->object->made },
	};

	if (is_own)
		check_report(CHECK_CM_OWN_EVENT, where, 3,
			     "%s: %s is destroyed by the thread that read its event and has not "
			     "acknowledged it: the call waits for itself",
			     call, part->object->label);
	else
		check_report(CHECK_CM_EVENTS_NOT_ACKED, where, 3,
			     "%s: %s: of %u events %u were acknowledged: the call waits until all "
			     "are",
			     call, part->object->label, part->read, part->acked);
}

static void look_at_end(const struct check_id *part, const char *call)
{
	const struct check_object *qp = part->id->qp ? object_find(part->id->qp) : NULL;
	const struct check_where where[] = {
		{ "destroyed here", NULL },
		{ "id made here", &part->object->made },
		{ "QP made here", qp ? &qp->made : NULL },
	};

	if (part->is_connected)
		check_report(CHECK_CM_NOT_DISCONNECTED, where, 2,
			     "%s: %s is destroyed while it is connected", call,
			     part->object->label);
	if (qp && !qp->dead)
		check_report(CHECK_CM_HAS_QP, where, 3, "%s: %s still has %s", call,
			     part->object->label, qp->label);
}

bool rxe_dm_check_id_ending(struct rdma_cm_id *id, const char *call)
{
	struct check_object *object;
	struct check_id *part;
	bool is_dead, is_acked;

	check_lock();
	object = object_ending(id, OBJECT_CM_ID, call);
	is_dead = !object && id && object_find(id) && object_find(id)->dead;
	part = object ? object->part : NULL;
	if (part)
		look_at_end(part, call);
	check_unlock();
	if (is_dead)
		return false;
	is_acked = !part || all_acked(part);
	if (!is_acked) {
		check_lock();
		report_events(part, call);
		check_unlock();
	}
	object_defer_begin();
	return true;
}

void rxe_dm_check_id_ended(struct rdma_cm_id *id, int err)
{
	ended(id, OBJECT_CM_ID, err);
}

/* The id whose end waits for the event. */
static struct check_id *holder_of(const struct rdma_cm_event *event)
{
	return part_of(event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->listen_id
								     : event->id);
}

static void note_state(const struct rdma_cm_event *event)
{
	struct check_id *part;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		part = enter(event->id);
		if (part && event->id->ps == RDMA_PS_TCP) {
			part->has_request = true;
			part->initiator_depth = event->param.conn.initiator_depth;
		}
		return;
	}
	part = part_of(event->id);
	if (!part)
		return;
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		part->is_connected = event->id->qp_type != IBV_QPT_UD;
	else if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
		 event->event == RDMA_CM_EVENT_DEVICE_REMOVAL ||
		 event->event == RDMA_CM_EVENT_CONNECT_ERROR)
		part->is_connected = false;
}

void rxe_dm_check_event_read(const struct rdma_cm_event *event)
{
	struct check_id *holder;

	check_lock();
	note_state(event);
	holder = holder_of(event);
	if (holder) {
		check_stack_take(&holder->read_at);
		pthread_mutex_lock(&ack_lock);
		holder->read++;
		pthread_mutex_unlock(&ack_lock);
	}
	check_unlock();
}

void rxe_dm_check_event_acked(const struct rdma_cm_event *event)
{
	struct check_id *holder;

	check_lock();
	holder = holder_of(event);
	if (holder) {
		pthread_mutex_lock(&ack_lock);
		holder->acked++;
		pthread_cond_broadcast(&ack_arrived);
		pthread_mutex_unlock(&ack_lock);
	}
	check_unlock();
}

static void look_at_param(const struct check_id *part, const struct check_cm_asks *asks)
{
	const struct rdma_conn_param *param = asks->param;
	const struct check_where where[] = {
		{ "called here", NULL },
		{ "id made here", &part->object->made },
	};

	if (asks->needs_qp && !part->id->qp && (!param || !param->qp_num))
		check_report(CHECK_CM_NO_QP, where, 2,
			     "%s: %s has no queue pair, and conn_param names none", asks->call,
			     part->object->label);
	if (param && param->private_data && param->private_data_len > asks->private_max)
		check_report(CHECK_CM_PRIVATE, where, 2,
			     "%s: %s: %u bytes of private data, but a message has space for %zu",
			     asks->call, part->object->label, param->private_data_len,
			     asks->private_max);
	if (asks->is_accept && part->has_request && param &&
	    param->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	    param->initiator_depth > part->initiator_depth)
		check_report(CHECK_CM_DEPTH, where, 2,
			     "rdma_accept: %s: initiator_depth is %u, but the peer answers %u RDMA "
			     "READs and atomics at a time",
			     part->object->label, param->initiator_depth, part->initiator_depth);
}

bool rxe_dm_check_asks(const struct rdma_cm_id *id, const struct check_cm_asks *asks)
{
	const struct check_id *part;
	bool is_dead;

	check_lock();
	is_dead = object_is_dead(id, OBJECT_CM_ID, asks->call);
	part = part_of(id);
	if (part)
		look_at_param(part, asks);
	check_unlock();
	return !is_dead;
}

void rxe_dm_check_connected(const struct rdma_cm_id *id, bool connected)
{
	struct check_id *part;

	check_lock();
	part = part_of(id);
	if (part)
		part->is_connected = connected && id->qp_type != IBV_QPT_UD;
	check_unlock();
}
