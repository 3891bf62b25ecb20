/* SPDX-License-Identifier: MIT */
/* REJ, DREQ, DREP and TIME_WAIT: an exchange refused or given up, a connection that ends. */
#include <errno.h>
#include <string.h>

#include "net/wire/packet.h"
#include "rxe_dm/cm/disconnect.h"
#include "rxe_dm/cm/retry.h"
#include "rxe_dm/cm/state.h"

static const struct cm_msg plain_dreq = { .attr = CM_DREQ };
static const struct cm_msg plain_drep = { .attr = CM_DREP };

/* A packet of the connection may still travel for as long as the ACK timeout covers (12.9.8.4). */
void cm_time_wait_begin(struct cm_id *id, uint64_t now_ns)
{
	cm_timer_set(id, now_ns + cm_timeout_ns(id->connection.ack_timeout, CM_MAX_TIMEOUT));
}

static void dreq_set(struct cm_id *id, const struct cm_msg *msg)
{
	id->tid = cm_id_own_tid(id);
	cm_last_set(id, msg);
	id->retry.last.u.dreq.remote_qpn = (uint32_t)id->connection.remote_qp.number;
}

int cm_send_dreq(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	if (!cm_msg_is_sendable(msg, CM_DREQ) || !cm_step(id, CM_CALL_DREQ))
		return -EINVAL;
	dreq_set(id, msg);
	cm_last_retry(id, now_ns);
	return 0;
}

/* The peer's queue pair cannot be in two connections: the older one is over, whether the peer said
 * so or not (12.9.8.3.1). */
void cm_end_stale(struct cm_id *old, uint64_t now_ns)
{
	(void)cm_send_dreq(old, &plain_dreq, now_ns);
}

int cm_send_drep(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	if (!cm_msg_is_sendable(msg, CM_DREP) || !cm_step(id, CM_CALL_DREP))
		return -EINVAL;
	cm_last_set(id, msg);
	cm_last_send(id);
	cm_time_wait_begin(id, now_ns);
	return 0;
}

static void dreq_again(struct cm_id *id, const struct cm_path *path, const struct cm_msg *dreq)
{
	if (id->retry.has_last && id->retry.last.attr == CM_DREP)
		cm_last_send(id);
	else
		cm_answer_stateless(id->cm, path, dreq, &plain_drep);
}

/* A DREQ that overtakes the REP: the end that sent both is gone when its REP arrives. */
static void forget_end(struct cm *cm, const struct cm_msg *dreq)
{
	struct cm_id *id = cm_find_connection(cm, dreq->remote_comm_id);

	if (id && cm_state_without_mra(id->state) == CM_STATE_REQ_SENT)
		id->connection.refused_comm_id = dreq->local_comm_id;
}

void cm_dreq_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns)
{
	struct cm_id *id = cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id);
	bool is_both;

	if (!id) {
		forget_end(cm, msg);
		cm_answer_stateless(cm, path, msg, &plain_drep);
		return;
	}
	if (id->connection.local_qpn != msg->u.dreq.remote_qpn)
		return;
	if (id->state == CM_STATE_TIME_WAIT) {
		dreq_again(id, path, msg);
		return;
	}
	is_both = id->state == CM_STATE_DREQ_SENT;
	/* REP_RCVD: the program has not answered the REP. The DREQ comes again. */
	if (!cm_step(id, CM_GOT_DREQ))
		return;
	cm_timer_stop(id);
	id->tid = msg->tid;
	/* Both ends disconnect at once: the other's DREQ is as good as a DREP (12.9.8.4). */
	if (is_both)
		(void)cm_send_drep(id, &plain_drep, now_ns);
	cm_id_report(id, CM_EVENT_DREQ_RECEIVED, path, msg);
}

void cm_drep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns)
{
	struct cm_id *id = cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id);

	if (!id || !cm_step(id, CM_GOT_DREP))
		return;
	cm_time_wait_begin(id, now_ns);
	cm_id_report(id, CM_EVENT_DREP_RECEIVED, path, msg);
}

/* Alternate paths are not supported: the connection stays on its path. */
void cm_lap_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg)
{
	const bool is_known = cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id) != NULL;
	const struct cm_msg apr = {
		.attr = CM_APR,
		.u.apr.status = is_known ? CM_APR_UNSUPPORTED : CM_APR_INVALID_COMM_ID,
	};

	cm_answer_stateless(cm, path, msg, &apr);
}

/* What a REJ refuses, by the state of the end that sends it. */
static uint8_t refused(const struct cm_id *id)
{
	const enum cm_state state = cm_state_without_mra(id->state);

	if (state == CM_STATE_REQ_RCVD)
		return CM_ANSWERED_REQ;
	return state == CM_STATE_REP_RCVD ? CM_ANSWERED_REP : CM_ANSWERED_OTHER;
}

/* A REQ that has had no other answer is refused without a communication ID of ours (12.6.7). */
static void rej_emit(struct cm_id *id, const struct cm_msg *msg)
{
	cm_last_set(id, msg);
	id->retry.last.u.rej.message_rejected = refused(id);
	if (id->state == CM_STATE_REQ_RCVD)
		id->retry.last.local_comm_id = 0;
	cm_last_send(id);
	id->connection.reject_reason = msg->u.rej.reason;
}

void cm_rej_timeout(struct cm_id *id)
{
	struct cm_msg msg = {
		.attr = CM_REJ,
		.u.rej = { .reason = CM_REJ_TIMEOUT, .ari_len = sizeof(uint64_t) },
	};

	put_be64(msg.u.rej.ari, id->connection.local_ca_guid);
	rej_emit(id, &msg);
}

void cm_rej_stateless(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
		      enum cm_reject_reason reason)
{
	struct cm_msg rej = { .attr = CM_REJ, .u.rej.reason = (uint16_t)reason };

	rej.u.rej.message_rejected = to->attr == CM_REQ	  ? CM_ANSWERED_REQ
				     : to->attr == CM_REP ? CM_ANSWERED_REP
							  : CM_ANSWERED_OTHER;
	cm_answer_stateless(cm, path, to, &rej);
}

int cm_send_rej(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	if (!cm_has_step(id, CM_CALL_REJ) || !cm_msg_is_sendable(msg, CM_REJ))
		return -EINVAL;
	rej_emit(id, msg);
	(void)cm_step(id, CM_CALL_REJ);
	if (id->state == CM_STATE_REJ_SENT) {
		/* The REQ may come again; the queue pair that sent it is free for another. */
		cm_table_drop_remote_qp(id);
		cm_timer_set(id, now_ns + id->connection.duplicates_ns);
	} else if (id->state == CM_STATE_DREQ_SENT) {
		dreq_set(id, &plain_dreq);
		cm_last_await(id, now_ns);
	}
	return 0;
}

/* The id that a REJ refuses; NULL: none. An end that gave up waiting may not know our ID: it names
 * itself. */
static struct cm_id *rejected(const struct cm *cm, const struct cm_msg *msg)
{
	const struct cm_rej *rej = &msg->u.rej;
	struct cm_id *id = cm_find_connection(cm, msg->remote_comm_id);

	if (rej->reason == CM_REJ_TIMEOUT && rej->ari_len == sizeof(uint64_t) && !id)
		return cm_find_remote(cm, get_be64(rej->ari), msg->local_comm_id);
	/* Before the REP, nothing of the sender is known. */
	if (id && cm_state_without_mra(id->state) == CM_STATE_REQ_SENT)
		return id;
	return cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id);
}

void cm_rej_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns)
{
	const bool is_stale = msg->u.rej.reason == CM_REJ_STALE_CONNECTION;
	struct cm_id *id = rejected(cm, msg);

	if (!id || !cm_step(id, is_stale ? CM_GOT_STALE : CM_GOT_REJ))
		return;
	if (id->state == CM_STATE_TIME_WAIT)
		cm_time_wait_begin(id, now_ns);
	cm_id_report(id, CM_EVENT_REJ_RECEIVED, path, msg);
}
