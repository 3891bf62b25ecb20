/* SPDX-License-Identifier: MIT */
/* Messages on their way out, and their retries. Each id has at most one timer. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "emu/container_of.h"
#include "rxe_dm/cm/id.h"

#define FIRST_TIMERS 64u

bool cm_timer_reserve(struct cm *cm)
{
	const uint32_t max = cm->max_timers ? 2 * cm->max_timers : FIRST_TIMERS;
	struct heap_entry **timers;

	if (cm->num_ids < cm->max_timers)
		return true;
	timers = realloc(cm->timers.entries, max * sizeof(struct heap_entry *));
	if (!timers)
		return false;
	cm->timers.entries = timers;
	cm->max_timers = max;
	return true;
}

void cm_timer_set(struct cm_id *id, uint64_t deadline_ns)
{
	assert(id->cm->num_ids <= id->cm->max_timers);
	heap_set(&id->cm->timers, &id->timer, deadline_ns);
}

void cm_timer_stop(struct cm_id *id)
{
	heap_set(&id->cm->timers, &id->timer, UINT64_MAX);
}

struct cm_id *cm_timer_first(const struct cm *cm)
{
	return cm->timers.count ? container_of(cm->timers.entries[0], struct cm_id, timer) : NULL;
}

uint64_t cm_timeout_ns(uint8_t code, uint8_t max_code)
{
	return 4096ull << (code < max_code ? code : max_code);
}

static void msg_send(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg)
{
	uint8_t mad[CM_MAD_BYTES];

	cm_msg_emit(mad, msg);
	cm->cfg.ops->send(cm->cfg.host, path, mad);
}

bool cm_msg_is_sendable(const struct cm_msg *msg, enum cm_attr attr)
{
	if (msg->attr != attr || msg->private_len > cm_private_max(attr))
		return false;
	if (attr == CM_REJ)
		return msg->u.rej.ari_len <= CM_REJ_ARI;
	if (attr == CM_SIDR_REP)
		return msg->u.sidr_rep.info_len <= CM_SIDR_REP_INFO;
	return true;
}

void cm_last_set(struct cm_id *id, const struct cm_msg *msg)
{
	id->last = *msg;
	id->has_last = true;
	id->last.tid = id->tid;
	id->last.local_comm_id = id->local_comm_id;
	id->last.remote_comm_id = id->in_remote ? (uint32_t)id->remote.number : 0;
}

void cm_last_send(struct cm_id *id)
{
	if (id->has_last)
		msg_send(id->cm, &id->path, &id->last);
}

void cm_last_await(struct cm_id *id, uint64_t now_ns)
{
	id->retries_left = id->max_retries;
	cm_timer_set(id, now_ns + id->timeout_ns);
}

void cm_last_retry(struct cm_id *id, uint64_t now_ns)
{
	cm_last_send(id);
	cm_last_await(id, now_ns);
}

bool cm_last_retry_again(struct cm_id *id, uint64_t now_ns)
{
	if (id->retries_left == 0)
		return false;
	id->retries_left--;
	cm_last_send(id);
	cm_timer_set(id, now_ns + id->timeout_ns);
	return true;
}

void cm_answer_stateless(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
			 const struct cm_msg *answer)
{
	struct cm_msg msg = *answer;

	msg.tid = to->tid;
	msg.local_comm_id = to->remote_comm_id;
	msg.remote_comm_id = to->local_comm_id;
	msg_send(cm, path, &msg);
}
