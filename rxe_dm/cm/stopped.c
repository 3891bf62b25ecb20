/* SPDX-License-Identifier: MIT */
/* Finds the other end of an exchange, and asks whether its program is stopped. */
#include "rxe_dm/cm/stopped.h"

#include "rxe_dm/cm/listen.h"
#include "rxe_dm/cm/state.h"

#define ASK_AGAIN_NS 1000000000ull

static bool awaits_answer(enum cm_state state)
{
	const enum cm_state plain = cm_state_without_mra(state);

	return plain == CM_STATE_REQ_SENT || plain == CM_STATE_REP_SENT ||
	       plain == CM_STATE_DREQ_SENT || plain == CM_STATE_SIDR_REQ_SENT;
}

/* The id that a first message made at the other end, or the listener that had no room for it. */
static struct cm_id *find_passive(const struct cm_id *id)
{
	const struct cm_msg *msg = &id->retry.last;
	struct cm_id *other;

	if (id->kind == CM_KIND_RESOLUTION)
		other = cm_find_request(id->cm, &id->path.src, id->local_comm_id);
	else
		other = cm_find_remote(id->cm, id->connection.local_ca_guid, id->local_comm_id);
	if (other)
		return other;
	return cm_listen_find_at(id->cm,
				 msg->attr == CM_SIDR_REQ ? msg->u.sidr_req.service_id
							  : msg->u.req.service_id,
				 &id->path.dst);
}

/* NULL: it belongs to another server. */
static struct cm_id *other_end(const struct cm_id *id)
{
	struct cm_id *other;

	if (id->retry.has_last &&
	    (id->retry.last.attr == CM_REQ || id->retry.last.attr == CM_SIDR_REQ))
		return find_passive(id);
	other = cm_find_pair(id->cm, cm_id_remote_comm_id(id), id->local_comm_id);
	return other && gid_equal(&other->path.src, &id->path.dst) ? other : NULL;
}

static bool is_stopped(const struct cm_id *id)
{
	const struct cm_ops *ops = id->cm->cfg.ops;
	const struct cm_id *other = ops->is_stopped ? other_end(id) : NULL;

	return other && !other->is_orphan &&
	       ops->is_stopped(id->cm->cfg.host, other->user, other->state == CM_STATE_LISTEN);
}

bool cm_stopped_wait(struct cm_id *id, uint64_t now_ns)
{
	const bool stood_still = id->retry.stands_still;

	if (!awaits_answer(id->state))
		return false;
	id->retry.stands_still = is_stopped(id);
	if (id->retry.stands_still)
		cm_timer_set(id, now_ns + ASK_AGAIN_NS);
	else if (stood_still)
		cm_timer_set(id, now_ns + id->retry.timeout_ns);
	return id->retry.stands_still || stood_still;
}

bool cm_stopped_elsewhere(const struct cm_id *id)
{
	const struct cm_ops *ops = id->cm->cfg.ops;

	return ops->has_stopped && awaits_answer(id->state) && !other_end(id) &&
	       ops->has_stopped(id->cm->cfg.host, &id->path.dst);
}
