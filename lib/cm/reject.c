/* SPDX-License-Identifier: MIT */
/* REJ: a REQ or REP refused, an exchange given up. */
#include <errno.h>
#include <string.h>

#include "lib/cm/id.h"
#include "net/wire/packet.h"

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
