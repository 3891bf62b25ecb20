/* SPDX-License-Identifier: MIT */
/* The checks that look at each event. A new check adds one line here. Under the layer's lock. */
#ifndef RXE_CHECK_HOOKS_H
#define RXE_CHECK_HOOKS_H

#include "lib/check/comp.h"
#include "lib/check/event.h"
#include "lib/check/held.h"
#include "lib/check/life.h"
#include "lib/check/listener.h"
#include "lib/check/mem_arrival.h"
#include "lib/check/mem_overlap.h"
#include "lib/check/mem_peer.h"
#include "lib/check/mem_send.h"
#include "lib/check/mem_stack.h"
#include "lib/check/mem_stale.h"
#include "lib/check/peer.h"
#include "lib/check/portable.h"
#include "lib/check/queue.h"
#include "lib/check/queue_limit.h"
#include "lib/check/queue_unpolled.h"
#include "lib/check/queue_wait.h"
#include "lib/check/race.h"
#include "lib/check/remote.h"

/* A verb of the data path was called, and its function has this frame. */
static inline void hook_called(const void *frame)
{
	mem_stack_called(frame);
}

/* A request is about to be posted. */
static inline void hook_posting(struct check_request *request)
{
	mem_send_posting(request);
	mem_overlap_posting(request);
	queue_limit_posting(request);
	comp_posting(request);
	held_add(request);
	listener_refresh();
	mem_stack_posting(request);
	mem_stale_posting(request);
	mem_arrival_posting(request);
	race_posting(request);
	portable_posting(request);
	mem_peer_posting(request);
}

/* Shall hook_posted() be called for the requests that were entered? */
static inline bool hook_wants_posted(const struct check_queue *queue)
{
	return queue_limit_is_reached(queue);
}

/* The device has taken a list of requests. */
static inline void hook_posted(const struct check_queue *queue)
{
	queue_limit_posted(queue);
}

/* The program has polled the completion of the request, or of a later one of its queue. */
static inline void hook_completed(struct check_request *request)
{
	mem_send_completed(request);
	mem_overlap_ended(request);
	mem_stack_ended(request);
	mem_arrival_ended(request);
	race_completed(request);
	remote_ended(request);
	held_remove(request);
	listener_refresh();
}

/* The request ends otherwise: it was refused, or its queue was reset or destroyed. */
static inline void hook_dropped(struct check_request *request)
{
	mem_overlap_ended(request);
	mem_stack_ended(request);
	mem_arrival_ended(request);
	race_ended(request);
	remote_ended(request);
	held_remove(request);
	listener_refresh();
}

static inline void hook_drop(struct check_request *request)
{
	hook_dropped(request);
	queue_drop(request);
}

static inline void hook_drop_all(struct check_queue *queue)
{
	while (queue->first)
		hook_drop(queue->first);
}

static inline void hook_qp_ending(const struct check_qp *qp)
{
	life_qp_ending(qp);
}

/* A request of a send queue is about to be entered. */
static inline void hook_sending(struct check_qp *qp, const struct ibv_send_wr *wr)
{
	life_sending(qp, wr);
	peer_sending(qp, wr);
	queue_wait_sending(qp, wr);
	queue_unpolled_sending(qp);
	portable_sending(qp, wr);
}

/* ibv_modify_qp() has succeeded. */
static inline void hook_modified(struct check_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	peer_modified(qp, attr, mask);
	queue_wait_modified(qp, attr, mask);
}

static inline void hook_cq_ending(const struct check_cq *cq)
{
	event_cq_ending(cq);
}

static inline void hook_polling(struct check_cq *cq)
{
	event_polling(cq);
	queue_unpolled_polling(cq);
}

static inline void hook_armed(struct check_cq *cq)
{
	event_armed(cq);
}

/* The program is about to wait for an event of the channel. */
static inline void hook_waiting(const struct ibv_comp_channel *channel)
{
	event_waiting(channel);
}

#endif
