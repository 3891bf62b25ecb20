/* SPDX-License-Identifier: MIT */
/* REQ, REP, RTU and MRA: the way to a connection. */
#include <errno.h>

#include "rxe_dm/cm/id.h"

#define MAX_ACK_TIMEOUT 31 /* 5 bits */

/* A packet's lifetime as a code: an ACK timeout covers it twice (12.7.34). */
static uint8_t lifetime(uint8_t ack_timeout)
{
	return ack_timeout > 0 ? (uint8_t)(ack_timeout - 1) : 0;
}

static void begin(struct cm_id *id, const struct cm_path *path, const struct cm_req *req)
{
	id->path = *path;
	id->service_id = req->service_id;
	id->ack_timeout = req->primary.ack_timeout;
	id->max_retries = req->max_cm_retries;
	id->is_xrc = req->transport == CM_TRANSPORT_EXTENDED &&
		     req->extended_transport == CM_TRANSPORT_EXTENDED_XRC;
}

int cm_send_req(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg,
		uint64_t now_ns)
{
	const struct cm_req *req = &msg->u.req;

	if (id->state != CM_STATE_IDLE || !cm_msg_is_sendable(msg, CM_REQ))
		return -EINVAL;
	if (!cm_table_add_comm_id(id))
		return -ENOMEM;
	begin(id, path, req);
	id->tid = (uint64_t)id->cm->tid_high << 32 | id->local_comm_id;
	id->local_qpn = req->local_qpn;
	id->local_ca_guid = req->local_ca_guid;
	id->timeout_ns = cm_timeout_ns(req->remote_cm_timeout, CM_MAX_TIMEOUT) +
			 2 * cm_timeout_ns(lifetime(req->primary.ack_timeout), CM_MAX_TIMEOUT);
	id->state = CM_STATE_REQ_SENT;
	cm_last_set(id, msg);
	cm_last_retry(id, now_ns);
	return 0;
}

/* Says again what has been said. A REQ that is not answered yet stays so; an end that is past the
 * REQ hears only of a duplicate that is late. */
static void req_again(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg)
{
	const enum cm_state state = cm_state_without_mra(id->state);

	if (state == CM_STATE_REQ_RCVD || state == CM_STATE_REP_SENT || state == CM_STATE_REJ_SENT)
		cm_last_send(id);
	else if (state == CM_STATE_TIME_WAIT)
		cm_rej_stateless(id->cm, path, msg,
				 id->reject_reason ? id->reject_reason : CM_REJ_STALE_CONNECTION);
	else if (state == CM_STATE_DREQ_SENT && id->reject_reason)
		/* The REP was withdrawn by a REJ, which is lost. */
		cm_rej_stateless(id->cm, path, msg, id->reject_reason);
}

/* A new passive end. NULL: max_ids, or no memory. */
static struct cm_id *passive_end(struct cm *cm, const struct cm_path *path,
				 const struct cm_msg *msg)
{
	const struct cm_req *req = &msg->u.req;
	struct cm_id *id = cm_id_create(cm, NULL);

	if (!id)
		return NULL;
	begin(id, path, req);
	id->tid = msg->tid;
	id->timeout_ns = cm_timeout_ns(req->local_cm_timeout, CM_MAX_TIMEOUT);
	/* The active end's interval between two REQs, twice. */
	id->duplicates_ns = 2 * cm_timeout_ns(req->remote_cm_timeout, CM_MAX_TIMEOUT) +
			    4 * cm_timeout_ns(lifetime(req->primary.ack_timeout), CM_MAX_TIMEOUT);
	id->is_passive = true;
	id->state = CM_STATE_REQ_RCVD;
	if (cm_table_add_comm_id(id) &&
	    cm_table_add_remote(id, req->local_ca_guid, msg->local_comm_id, req->local_qpn))
		return id;
	cm_id_forget(id);
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
	struct cm_rep *rep = &id->last.u.rep;

	if (cm_state_without_mra(id->state) != CM_STATE_REQ_RCVD ||
	    !cm_msg_is_sendable(msg, CM_REP))
		return -EINVAL;
	id->local_qpn = msg->u.rep.local_qpn;
	id->local_ca_guid = msg->u.rep.local_ca_guid;
	id->state = CM_STATE_REP_SENT;
	cm_last_set(id, msg);
	/* The target of an XRC connection is where other transports have an EE context, and takes
	 * its requests from SRQs (annex A14). */
	if (id->is_xrc) {
		rep->local_eecn = rep->local_qpn;
		rep->local_qpn = 0;
		rep->srq = true;
	}
	cm_last_retry(id, now_ns);
	return 0;
}

int cm_send_rtu(struct cm_id *id, const struct cm_msg *msg)
{
	if (cm_state_without_mra(id->state) != CM_STATE_REP_RCVD ||
	    !cm_msg_is_sendable(msg, CM_RTU))
		return -EINVAL;
	id->state = CM_STATE_ESTABLISHED;
	cm_last_set(id, msg);
	cm_last_send(id);
	return 0;
}

/* Passive: msg is the RTU, or NULL. */
static void established(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg)
{
	cm_timer_stop(id);
	id->state = CM_STATE_ESTABLISHED;
	cm_id_report(id, CM_EVENT_RTU_RECEIVED, path, msg);
}

int cm_established(struct cm_id *id)
{
	if (id->state == CM_STATE_ESTABLISHED)
		return -EISCONN;
	if (cm_state_without_mra(id->state) != CM_STATE_REP_SENT)
		return -EINVAL;
	established(id, NULL, NULL);
	return 0;
}

static void rep_again(struct cm_id *id)
{
	/* ESTABLISHED: the RTU. A passive end has its REP there, but nobody sends it another. */
	if (id->state == CM_STATE_ESTABLISHED || id->state == CM_STATE_MRA_REP_SENT)
		cm_last_send(id);
}

static void rep_taken(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns)
{
	const struct cm_rep *rep = &msg->u.rep;
	struct cm_id *old = cm_find_remote_qp(id->cm, rep->local_ca_guid, rep->local_qpn);

	/* A REP that was refused once is refused when it comes again, too: its sender is gone. */
	if (old || msg->local_comm_id == id->refused_comm_id) {
		id->refused_comm_id = msg->local_comm_id;
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
	id->ack_timeout = cm_ack_timeout(rep->target_ack_delay, id->ack_timeout);
	id->has_last = false;
	id->state = CM_STATE_REP_RCVD;
	cm_id_report(id, CM_EVENT_REP_RECEIVED, path, msg);
}

void cm_rep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns)
{
	struct cm_id *id = cm_find_comm_id(cm, msg->remote_comm_id);
	struct cm_msg rep = *msg;

	if (id && id->is_xrc)
		rep.u.rep.local_qpn = rep.u.rep.local_eecn;
	if (id && cm_state_without_mra(id->state) == CM_STATE_REQ_SENT)
		rep_taken(id, path, &rep, now_ns);
	else if (cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id))
		rep_again(id);
	else
		cm_rej_stateless(cm, path, msg, CM_REJ_INVALID_COMM_ID);
}

void cm_rtu_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg)
{
	struct cm_id *id = cm_find_pair(cm, msg->remote_comm_id, msg->local_comm_id);

	if (!id) {
		/* The other end takes for established what is over here. */
		cm_rej_stateless(cm, path, msg, CM_REJ_INVALID_COMM_ID);
		return;
	}
	if (id->reject_reason)
		cm_last_send(id); /* the REJ, or the DREQ behind it, has not arrived */
	if (cm_state_without_mra(id->state) == CM_STATE_REP_SENT)
		established(id, path, msg);
}

/* Prepares an MRA for what has been received. -EINVAL: there is nothing to promise. */
static int mra_set(struct cm_id *id, const struct cm_msg *msg)
{
	struct cm_msg mra = *msg;

	if (id->state == CM_STATE_REQ_RCVD) {
		id->state = CM_STATE_MRA_REQ_SENT;
		mra.u.mra.message_mraed = CM_ANSWERED_REQ;
	} else if (id->state == CM_STATE_REP_RCVD) {
		id->state = CM_STATE_MRA_REP_SENT;
		mra.u.mra.message_mraed = CM_ANSWERED_REP;
	} else {
		return -EINVAL;
	}
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
	struct cm_id *id = cm_find_comm_id(cm, msg->remote_comm_id);
	const uint8_t answers = msg->u.mra.message_mraed;

	if (id && id->state == CM_STATE_REQ_SENT && answers == CM_ANSWERED_REQ)
		id->state = CM_STATE_MRA_REQ_RCVD;
	else if (id && id->state == CM_STATE_REP_SENT && answers == CM_ANSWERED_REP &&
		 id->remote.number == msg->local_comm_id)
		id->state = CM_STATE_MRA_REP_RCVD;
	else
		return;
	/* The answer itself takes a packet lifetime, too. */
	cm_timer_set(id, now_ns +
				 cm_timeout_ns(msg->u.mra.service_timeout, CM_MAX_SERVICE_TIMEOUT) +
				 cm_timeout_ns(id->ack_timeout, CM_MAX_TIMEOUT));
	cm_id_report(id, CM_EVENT_MRA_RECEIVED, path, msg);
}
