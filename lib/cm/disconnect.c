/* SPDX-License-Identifier: MIT */
/* REJ, DREQ, DREP and TIME_WAIT: an exchange refused or given up, a connection that ends. */
#include <errno.h>
#include <string.h>

#include "lib/cm/id.h"
#include "net/wire/packet.h"

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

/* What a REJ refuses, by the state of the end that sends it. */
static uint8_t refused(const struct cm_id *id)
{
	switch (id->state) {
	case CM_STATE_REQ_RCVD:
	case CM_STATE_MRA_REQ_SENT: return CM_ANSWERED_REQ;
	case CM_STATE_REP_RCVD:
	case CM_STATE_MRA_REP_SENT: return CM_ANSWERED_REP;
	case CM_STATE_IDLE:
	case CM_STATE_LISTEN:
	case CM_STATE_REQ_SENT:
	case CM_STATE_MRA_REQ_RCVD:
	case CM_STATE_REP_SENT:
	case CM_STATE_MRA_REP_RCVD:
	case CM_STATE_REJ_SENT:
	case CM_STATE_ESTABLISHED:
	case CM_STATE_DREQ_SENT:
	case CM_STATE_DREQ_RCVD:
	case CM_STATE_TIME_WAIT:
	case CM_STATE_SIDR_REQ_SENT:
	case CM_STATE_SIDR_REQ_RCVD:
	case CM_STATE_SIDR_REP_SENT: break;
	}
	return CM_ANSWERED_OTHER;
}

/* A REQ that has had no other answer is refused without a communication ID of ours (12.6.7). */
void cm_rej_emit(struct cm_id *id, const struct cm_msg *msg)
{
	cm_last_set(id, msg);
	id->last.u.rej.message_rejected = refused(id);
	if (id->state == CM_STATE_REQ_RCVD)
		id->last.local_comm_id = 0;
	cm_last_send(id);
}

void cm_rej_timeout(struct cm_id *id)
{
	struct cm_msg msg = { .attr = CM_REJ };

	msg.u.rej.reason = CM_REJ_TIMEOUT;
	msg.u.rej.ari_len = sizeof(id->local_ca_guid);
	put_be64(msg.u.rej.ari, id->local_ca_guid);
	cm_rej_emit(id, &msg);
	id->reject_reason = CM_REJ_TIMEOUT;
}

void cm_rej_stateless(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
		      enum cm_reject_reason reason)
{
	struct cm_msg rej = { .attr = CM_REJ };

	rej.u.rej.reason = (uint16_t)reason;
	rej.u.rej.message_rejected = to->attr == CM_REQ	  ? CM_ANSWERED_REQ
				     : to->attr == CM_REP ? CM_ANSWERED_REP
							  : CM_ANSWERED_OTHER;
	cm_answer_stateless(cm, path, to, &rej);
}

/* A refused REQ may come again; the queue pair that sent it is free for another. */
static void refuse_req(struct cm_id *id, uint64_t now_ns)
{
	id->state = CM_STATE_REJ_SENT;
	cm_table_drop_remote_qp(id);
	cm_timer_set(id, now_ns + id->duplicates_ns);
}

/* A REP is withdrawn. The REJ may be lost, and the active end may have its connection by then: a
 * DREQ follows, which is retried. */
static void withdraw_rep(struct cm_id *id, uint64_t now_ns)
{
	const struct cm_msg dreq = { .attr = CM_DREQ };

	cm_dreq_begin(id, &dreq, false, now_ns);
}

int cm_send_rej(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	const bool is_passive_early =
		id->state == CM_STATE_REQ_RCVD || id->state == CM_STATE_MRA_REQ_SENT;
	const bool is_passive_late =
		id->state == CM_STATE_REP_SENT || id->state == CM_STATE_MRA_REP_RCVD;
	const bool is_active = id->state == CM_STATE_REQ_SENT ||
			       id->state == CM_STATE_MRA_REQ_RCVD ||
			       id->state == CM_STATE_REP_RCVD || id->state == CM_STATE_MRA_REP_SENT;

	if (!(is_passive_early || is_passive_late || is_active) || !cm_msg_is_sendable(msg, CM_REJ))
		return -EINVAL;
	cm_rej_emit(id, msg);
	id->reject_reason = msg->u.rej.reason;
	if (is_passive_early)
		refuse_req(id, now_ns);
	else if (is_passive_late)
		withdraw_rep(id, now_ns);
	else
		cm_id_enter_idle(id);
	return 0;
}

/* Which id a REJ means. An end that gave up waiting may not know our ID: it names itself. */
static struct cm_id *rejected(const struct cm *cm, const struct cm_msg *msg)
{
	const struct cm_rej *rej = &msg->u.rej;
	struct cm_id *id = cm_find_comm_id(cm, msg->remote_comm_id);

	if (rej->reason == CM_REJ_TIMEOUT && rej->ari_len == sizeof(uint64_t) && !id)
		return cm_find_remote(cm, get_be64(rej->ari), msg->local_comm_id);
	/* Before the REP, nothing of the sender is known. */
	if (id && (id->state == CM_STATE_REQ_SENT || id->state == CM_STATE_MRA_REQ_RCVD))
		return id;
	return cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id);
}

/* The state after a REJ, of an id that it ends. False: it ends nothing. */
static bool end(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	switch (id->state) {
	case CM_STATE_REQ_SENT:
	case CM_STATE_MRA_REQ_RCVD:
	case CM_STATE_REQ_RCVD:
	case CM_STATE_MRA_REQ_SENT:
	case CM_STATE_REP_SENT:
	case CM_STATE_MRA_REP_RCVD:
		if (msg->u.rej.reason == CM_REJ_STALE_CONNECTION)
			cm_time_wait_enter(id, now_ns);
		else
			cm_id_enter_idle(id);
		return true;
	case CM_STATE_REP_RCVD:
	case CM_STATE_MRA_REP_SENT:
	case CM_STATE_ESTABLISHED:
	case CM_STATE_DREQ_SENT: cm_time_wait_enter(id, now_ns); return true;
	case CM_STATE_IDLE:
	case CM_STATE_LISTEN:
	case CM_STATE_REJ_SENT:
	case CM_STATE_DREQ_RCVD:
	case CM_STATE_TIME_WAIT:
	case CM_STATE_SIDR_REQ_SENT:
	case CM_STATE_SIDR_REQ_RCVD:
	case CM_STATE_SIDR_REP_SENT: break;
	}
	return false;
}

void cm_rej_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns)
{
	struct cm_id *id = rejected(cm, msg);

	if (id && end(id, msg, now_ns))
		cm_id_report(id, CM_EVENT_REJ_RECEIVED, path, msg);
}
