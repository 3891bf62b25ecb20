/* SPDX-License-Identifier: MIT */
/* DREQ, DREP and TIME_WAIT: the end of a connection. */
#include <errno.h>

#include "lib/cm/id.h"

/* As long as a packet of the connection may still travel (12.9.8.4): what the ACK timeout covers.
 */
void cm_time_wait_enter(struct cm_id *id, uint64_t now_ns)
{
	id->state = CM_STATE_TIME_WAIT;
	cm_timer_set(id, now_ns + cm_timeout_ns(id->ack_timeout, CM_MAX_TIMEOUT));
}

void cm_dreq_begin(struct cm_id *id, const struct cm_msg *msg, bool is_first_now, uint64_t now_ns)
{
	id->state = CM_STATE_DREQ_SENT;
	id->tid = (uint64_t)id->cm->tid_high << 32 | id->local_comm_id;
	cm_last_set(id, msg);
	id->last.u.dreq.remote_qpn = id->remote_qpn;
	id->retries_left = id->max_retries;
	if (is_first_now)
		cm_last_send(id);
	cm_timer_set(id, now_ns + id->timeout_ns);
}

int cm_send_dreq(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	if (id->state != CM_STATE_ESTABLISHED || !cm_msg_is_sendable(msg, CM_DREQ))
		return -EINVAL;
	cm_dreq_begin(id, msg, true, now_ns);
	return 0;
}

int cm_send_drep(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	if (id->state != CM_STATE_DREQ_RCVD || !cm_msg_is_sendable(msg, CM_DREP))
		return -EINVAL;
	cm_last_set(id, msg);
	cm_last_send(id);
	cm_time_wait_enter(id, now_ns);
	return 0;
}

static void answer_dreq(struct cm *cm, const struct cm_path *path, const struct cm_msg *dreq)
{
	struct cm_msg drep = { .attr = CM_DREP };

	cm_answer_stateless(cm, path, dreq, &drep);
}

/* Both ends disconnect at once: the other's DREQ is as good as a DREP (12.9.8.4). */
static void dreqs_crossed(struct cm_id *id, const struct cm_msg *dreq, uint64_t now_ns)
{
	const struct cm_msg drep = { .attr = CM_DREP };

	id->tid = dreq->tid;
	cm_last_set(id, &drep);
	cm_last_send(id);
	cm_time_wait_enter(id, now_ns);
}

static void dreq_again(struct cm_id *id, const struct cm_path *path, const struct cm_msg *dreq)
{
	if (id->has_last && id->last.attr == CM_DREP)
		cm_last_send(id);
	else
		answer_dreq(id->cm, path, dreq);
}

/* False: a DREQ that changes nothing. A REP that is not answered yet is too early an end: the DREQ
 * comes again. */
static bool take_dreq(struct cm_id *id, const struct cm_msg *dreq, uint64_t now_ns)
{
	/* The RTU may be lost, or late. */
	if (id->state == CM_STATE_ESTABLISHED || id->state == CM_STATE_REP_SENT ||
	    id->state == CM_STATE_MRA_REP_RCVD) {
		cm_timer_stop(id);
		id->state = CM_STATE_DREQ_RCVD;
		id->tid = dreq->tid;
		return true;
	}
	if (id->state == CM_STATE_DREQ_SENT) {
		dreqs_crossed(id, dreq, now_ns);
		return true;
	}
	return false;
}

/* A DREQ that overtakes the REP: the end that sent both is gone when its REP arrives. */
static void forget_end(struct cm *cm, const struct cm_msg *dreq)
{
	struct cm_id *id = cm_find_comm_id(cm, dreq->remote_comm_id);

	if (id && (id->state == CM_STATE_REQ_SENT || id->state == CM_STATE_MRA_REQ_RCVD))
		id->refused_comm_id = dreq->local_comm_id;
}

void cm_dreq_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns)
{
	struct cm_id *id = cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id);

	if (!id) {
		forget_end(cm, msg);
		answer_dreq(cm, path, msg);
		return;
	}
	if (id->local_qpn != msg->u.dreq.remote_qpn)
		return;
	if (id->state == CM_STATE_TIME_WAIT) {
		dreq_again(id, path, msg);
		return;
	}
	if (!take_dreq(id, msg, now_ns))
		return;
	cm_id_report(id, CM_EVENT_DREQ_RECEIVED, path, msg);
}

void cm_drep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns)
{
	struct cm_id *id = cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id);

	if (!id || (id->state != CM_STATE_DREQ_SENT && id->state != CM_STATE_DREQ_RCVD))
		return;
	cm_time_wait_enter(id, now_ns);
	cm_id_report(id, CM_EVENT_DREP_RECEIVED, path, msg);
}

/* Alternate paths are not supported: the connection stays on its path. */
void cm_lap_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg)
{
	const bool is_known = cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id) != NULL;
	struct cm_msg apr = { .attr = CM_APR };

	apr.u.apr.status = is_known ? CM_APR_UNSUPPORTED : CM_APR_INVALID_COMM_ID;
	cm_answer_stateless(cm, path, msg, &apr);
}
