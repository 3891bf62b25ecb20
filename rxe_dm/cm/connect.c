/* SPDX-License-Identifier: MIT */
/* REQ, REP, RTU and MRA: the way to a connection. */
#include <errno.h>

#include "rxe_dm/cm/connect.h"
#include "rxe_dm/cm/disconnect.h"
#include "rxe_dm/cm/listen.h"
#include "rxe_dm/cm/retry.h"
#include "rxe_dm/cm/state.h"

#define MAX_ACK_TIMEOUT 31 /* 5 bits */

/* A packet's lifetime as a code: an ACK timeout covers it twice (12.7.34). */
static uint8_t lifetime(uint8_t ack_timeout)
{
	return ack_timeout > 0 ? (uint8_t)(ack_timeout - 1) : 0;
}

static void begin(struct cm_id *id, const struct cm_path *path, const struct cm_req *req)
{
	id->path = *path;
	id->retry.max = req->max_cm_retries;
	id->connection.ack_timeout = req->primary.ack_timeout;
	id->connection.is_xrc = req->transport == CM_TRANSPORT_EXTENDED &&
				req->extended_transport == CM_TRANSPORT_EXTENDED_XRC;
}

int cm_send_req(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg,
		uint64_t now_ns)
{
	const struct cm_req *req = &msg->u.req;

	if (!cm_has_step(id, CM_CALL_REQ) || !cm_msg_is_sendable(msg, CM_REQ))
		return -EINVAL;
	cm_id_set_kind(id, CM_KIND_CONNECTION);
	if (!cm_table_add_comm_id(id))
		return -ENOMEM;
	begin(id, path, req);
	id->tid = cm_id_own_tid(id);
	id->connection.local_qpn = req->local_qpn;
	id->connection.local_ca_guid = req->local_ca_guid;
	id->retry.timeout_ns =
		cm_timeout_ns(req->remote_cm_timeout, CM_MAX_TIMEOUT) +
		2 * cm_timeout_ns(lifetime(req->primary.ack_timeout), CM_MAX_TIMEOUT);
	(void)cm_step(id, CM_CALL_REQ);
	cm_last_set(id, msg);
	cm_last_retry(id, now_ns);
	return 0;
}

/* Answers a duplicate of a REQ as the REQ was answered. A REQ without an answer gets none; an end
 * that is past the REQ answers only in the states in which the active end may have lost a REJ. */
static void req_again(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg)
{
	const enum cm_state state = cm_state_without_mra(id->state);
	const uint16_t reason = id->connection.reject_reason;

	if (state == CM_STATE_REQ_RCVD || state == CM_STATE_REP_SENT || state == CM_STATE_REJ_SENT)
		cm_last_send(id);
	else if (state == CM_STATE_TIME_WAIT)
		cm_rej_stateless(id->cm, path, msg, reason ? reason : CM_REJ_STALE_CONNECTION);
	else if (state == CM_STATE_DREQ_SENT && reason)
		/* The REP was withdrawn by a REJ, which is lost. */
		cm_rej_stateless(id->cm, path, msg, reason);
}

/* A new passive end. NULL: max_ids, or no memory. */
static struct cm_id *passive_end(struct cm *cm, const struct cm_path *path,
				 const struct cm_msg *msg)
{
	const struct cm_req *req = &msg->u.req;
	struct cm_id *id = cm_id_create(cm, NULL);

	if (!id)
		return NULL;
	cm_id_set_kind(id, CM_KIND_CONNECTION);
	begin(id, path, req);
	id->tid = msg->tid;
	id->retry.timeout_ns = cm_timeout_ns(req->local_cm_timeout, CM_MAX_TIMEOUT);
	/* The active end's interval between two REQs, twice. */
	id->connection.duplicates_ns =
		2 * cm_timeout_ns(req->remote_cm_timeout, CM_MAX_TIMEOUT) +
		4 * cm_timeout_ns(lifetime(req->primary.ack_timeout), CM_MAX_TIMEOUT);
	id->connection.is_passive = true;
	(void)cm_step(id, CM_GOT_REQ);
	if (cm_table_add_comm_id(id) &&
	    cm_table_add_remote(id, req->local_ca_guid, msg->local_comm_id, req->local_qpn))
		return id;
	cm_id_free(id);
	return NULL;
}

void cm_req_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns)
{
	const struct cm_req *req = &msg->u.req;
	struct cm_id *id = cm_find_remote(cm, req->local_ca_guid, msg->local_comm_id);
	struct cm_id *listener;

	if (id) {
		req_again(id, path, msg);
		return;
	}
	id = cm_find_remote_qp(cm, req->local_ca_guid, req->local_qpn);
	if (id) {
		cm_rej_stateless(cm, path, msg, CM_REJ_STALE_CONNECTION);
		cm_end_stale(id, now_ns);
		return;
	}
	listener = cm_listen_find(cm, req->service_id, path);
	if (!listener) {
		cm_rej_stateless(cm, path, msg, CM_REJ_INVALID_SERVICE_ID);
		return;
	}
	id = passive_end(cm, path, msg);
	if (id)
		cm_id_report_request(id, listener, CM_EVENT_REQ_RECEIVED, path, msg);
	else
		cm_rej_stateless(cm, path, msg, CM_REJ_NO_RESOURCES);
}

uint8_t cm_ack_timeout(uint8_t ack_delay, uint8_t round_trip)
{
	const uint8_t more = ack_delay > round_trip ? ack_delay : round_trip;
	const uint8_t less = ack_delay > round_trip ? round_trip : ack_delay;
	const uint8_t sum = (uint8_t)(more + (less + 1 >= more));

	return sum < MAX_ACK_TIMEOUT ? sum : MAX_ACK_TIMEOUT;
}

int cm_send_rep(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	struct cm_rep *rep = &id->retry.last.u.rep;

	if (!cm_has_step(id, CM_CALL_REP) || !cm_msg_is_sendable(msg, CM_REP))
		return -EINVAL;
	id->connection.local_qpn = msg->u.rep.local_qpn;
	id->connection.local_ca_guid = msg->u.rep.local_ca_guid;
	(void)cm_step(id, CM_CALL_REP);
	cm_last_set(id, msg);
	/* The target of an XRC connection is where other transports have an EE context, and takes
	 * its requests from SRQs (annex A14). */
	if (id->connection.is_xrc) {
		rep->local_eecn = rep->local_qpn;
		rep->local_qpn = 0;
		rep->srq = true;
	}
	cm_last_retry(id, now_ns);
	return 0;
}

int cm_send_rtu(struct cm_id *id, const struct cm_msg *msg)
{
	if (!cm_msg_is_sendable(msg, CM_RTU) || !cm_step(id, CM_CALL_RTU))
		return -EINVAL;
	cm_last_set(id, msg);
	cm_last_send(id);
	return 0;
}

/* Passive: msg is the RTU, or NULL. */
static void established(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg)
{
	cm_timer_stop(id);
	cm_id_report(id, CM_EVENT_RTU_RECEIVED, path, msg);
}

int cm_established(struct cm_id *id)
{
	if (id->state == CM_STATE_ESTABLISHED)
		return -EISCONN;
	if (!cm_step(id, CM_GOT_RTU))
		return -EINVAL;
	established(id, NULL, NULL);
	return 0;
}

static void rep_again(struct cm_id *id)
{
	/* ESTABLISHED: the RTU. A passive end has its REP there, and gets no REP. */
	if (id->state == CM_STATE_ESTABLISHED || id->state == CM_STATE_MRA_REP_SENT)
		cm_last_send(id);
}

static void rep_taken(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns)
{
	const struct cm_rep *rep = &msg->u.rep;
	struct cm_id *old = cm_find_remote_qp(id->cm, rep->local_ca_guid, rep->local_qpn);

	/* A REP that was refused once is refused again: its sender is gone. */
	if (old || msg->local_comm_id == id->connection.refused_comm_id) {
		id->connection.refused_comm_id = msg->local_comm_id;
		cm_rej_stateless(id->cm, path, msg, CM_REJ_STALE_CONNECTION);
		if (old)
			cm_end_stale(old, now_ns);
		return;
	}
	/* The peer's end may be another connection's already. */
	if (cm_find_remote(id->cm, rep->local_ca_guid, msg->local_comm_id) ||
	    !cm_table_add_remote(id, rep->local_ca_guid, msg->local_comm_id, rep->local_qpn))
		return;
	cm_timer_stop(id);
	id->connection.ack_timeout =
		cm_ack_timeout(rep->target_ack_delay, id->connection.ack_timeout);
	id->retry.has_last = false;
	(void)cm_step(id, CM_GOT_REP);
	cm_id_report(id, CM_EVENT_REP_RECEIVED, path, msg);
}

void cm_rep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns)
{
	struct cm_id *id = cm_find_connection(cm, msg->remote_comm_id);
	struct cm_msg rep = *msg;

	if (id && id->connection.is_xrc)
		rep.u.rep.local_qpn = rep.u.rep.local_eecn;
	if (id && cm_has_step(id, CM_GOT_REP))
		rep_taken(id, path, &rep, now_ns);
	else if ((id = cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id)))
		rep_again(id);
	else
		cm_rej_stateless(cm, path, msg, CM_REJ_INVALID_COMM_ID);
}

void cm_rtu_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg)
{
	struct cm_id *id = cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id);

	if (!id) {
		/* The other end has a connection that is over here. */
		cm_rej_stateless(cm, path, msg, CM_REJ_INVALID_COMM_ID);
		return;
	}
	if (id->connection.reject_reason)
		cm_last_send(id); /* the REJ, or the DREQ after it, has not arrived */
	if (cm_step(id, CM_GOT_RTU))
		established(id, path, msg);
}

/* Prepares an MRA for what has been received. -EINVAL: there is nothing to promise. */
static int mra_set(struct cm_id *id, const struct cm_msg *msg)
{
	const bool is_req = id->state == CM_STATE_REQ_RCVD;
	struct cm_msg mra = *msg;

	if (!cm_step(id, CM_CALL_MRA))
		return -EINVAL;
	mra.u.mra.message_mraed = is_req ? CM_ANSWERED_REQ : CM_ANSWERED_REP;
	cm_last_set(id, &mra);
	return 0;
}

int cm_send_mra(struct cm_id *id, const struct cm_msg *msg)
{
	if (!cm_msg_is_sendable(msg, CM_MRA) || mra_set(id, msg))
		return -EINVAL;
	cm_last_send(id);
	return 0;
}

int cm_defer_mra(struct cm_id *id, uint8_t service_timeout)
{
	const struct cm_msg msg = { .attr = CM_MRA, .u.mra.service_timeout = service_timeout };

	return mra_set(id, &msg);
}

/* An MRA that answers a retry extends the wait again. */
void cm_mra_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns)
{
	struct cm_id *id = cm_find_connection(cm, msg->remote_comm_id);
	const uint8_t answers = msg->u.mra.message_mraed;

	if (!id || !cm_has_step(id, CM_GOT_MRA))
		return;
	if (answers != (id->state == CM_STATE_REQ_SENT ? CM_ANSWERED_REQ : CM_ANSWERED_REP))
		return;
	/* Before the REP, nothing of the sender is known. */
	if (answers == CM_ANSWERED_REP && id->connection.remote.number != msg->local_comm_id)
		return;
	(void)cm_step(id, CM_GOT_MRA);
	/* The answer itself takes a packet lifetime. */
	cm_timer_set(id, now_ns +
				 cm_timeout_ns(msg->u.mra.service_timeout, CM_MAX_SERVICE_TIMEOUT) +
				 cm_timeout_ns(id->connection.ack_timeout, CM_MAX_TIMEOUT));
	cm_id_report(id, CM_EVENT_MRA_RECEIVED, path, msg);
}
