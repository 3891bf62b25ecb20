/* SPDX-License-Identifier: MIT */
/* The end of a user's hold of an id, by the state of its exchange. */
#include "lib/cm/id.h"

static void refuse(struct cm_id *id, uint64_t now_ns)
{
	struct cm_msg rej = { .attr = CM_REJ };

	rej.u.rej.reason = CM_REJ_CONSUMER_DEFINED;
	(void)cm_send_rej(id, &rej, now_ns);
}

/* The target of an XRC connection may outlive the program that accepted it. */
static void disconnect(struct cm_id *id, uint64_t now_ns)
{
	const struct cm_msg dreq = { .attr = CM_DREQ };

	if (id->is_xrc && id->is_passive) {
		cm_id_enter_idle(id);
		return;
	}
	(void)cm_send_dreq(id, &dreq, now_ns);
}

static void answer_dreq(struct cm_id *id, uint64_t now_ns)
{
	const struct cm_msg drep = { .attr = CM_DREP };

	(void)cm_send_drep(id, &drep, now_ns);
}

static void refuse_sidr(struct cm_id *id, uint64_t now_ns)
{
	struct cm_msg rep = { .attr = CM_SIDR_REP };

	rep.u.sidr_rep.status = CM_SIDR_REJECTED;
	(void)cm_send_sidr_rep(id, &rep, now_ns);
}

void cm_id_destroy(struct cm_id *id, uint64_t now_ns)
{
	id->is_orphan = true;
	switch (id->state) {
	case CM_STATE_LISTEN: cm_listen_end(id); break;
	case CM_STATE_REQ_SENT:
	case CM_STATE_MRA_REQ_RCVD:
		cm_rej_timeout(id);
		cm_id_enter_idle(id);
		break;
	case CM_STATE_REQ_RCVD:
	case CM_STATE_MRA_REQ_SENT:
	case CM_STATE_REP_RCVD:
	case CM_STATE_MRA_REP_SENT:
	case CM_STATE_REP_SENT:
	case CM_STATE_MRA_REP_RCVD: refuse(id, now_ns); break;
	case CM_STATE_ESTABLISHED: disconnect(id, now_ns); break;
	case CM_STATE_DREQ_RCVD: answer_dreq(id, now_ns); break;
	case CM_STATE_SIDR_REQ_SENT: cm_id_enter_idle(id); break;
	case CM_STATE_SIDR_REQ_RCVD: refuse_sidr(id, now_ns); break;
	case CM_STATE_IDLE:
	case CM_STATE_REJ_SENT:
	case CM_STATE_DREQ_SENT:
	case CM_STATE_TIME_WAIT:
	case CM_STATE_SIDR_REP_SENT: break;
	}
	cm_id_settle(id);
}
