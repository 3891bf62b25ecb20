/* SPDX-License-Identifier: MIT */
/* The communication manager: what arrives, what time brings, and the end of a user's hold. */
#include "rxe_dm/cm/cm.h"

#include <stdlib.h>
#include <utlist.h>

#include "rxe_dm/cm/connect.h"
#include "rxe_dm/cm/disconnect.h"
#include "rxe_dm/cm/listen.h"
#include "rxe_dm/cm/retry.h"
#include "rxe_dm/cm/sidr.h"
#include "rxe_dm/cm/state.h"
#include "rxe_dm/cm/stopped.h"

struct cm *cm_new(const struct cm_cfg *cfg)
{
	struct cm *cm = calloc(1, sizeof(*cm));

	if (!cm)
		return NULL;
	cm->cfg = *cfg;
	cm->tid_high = cfg->ops->random(cfg->host);
	return cm;
}

void cm_free(struct cm *cm)
{
	while (cm->ids)
		cm_id_forget(cm->ids);
	free(cm->timers.entries);
	free(cm);
}

void cm_input(struct cm *cm, const struct cm_path *path, const uint8_t mad[static CM_MAD_BYTES],
	      uint64_t now_ns)
{
	struct cm_msg msg;

	if (!cm_msg_parse(&msg, mad))
		return;
	switch (msg.attr) {
	case CM_REQ: cm_req_received(cm, path, &msg, now_ns); break;
	case CM_MRA: cm_mra_received(cm, path, &msg, now_ns); break;
	case CM_REJ: cm_rej_received(cm, path, &msg, now_ns); break;
	case CM_REP: cm_rep_received(cm, path, &msg, now_ns); break;
	case CM_RTU: cm_rtu_received(cm, path, &msg); break;
	case CM_DREQ: cm_dreq_received(cm, path, &msg, now_ns); break;
	case CM_DREP: cm_drep_received(cm, path, &msg, now_ns); break;
	case CM_SIDR_REQ: cm_sidr_req_received(cm, path, &msg); break;
	case CM_SIDR_REP: cm_sidr_rep_received(cm, path, &msg); break;
	case CM_LAP: cm_lap_received(cm, path, &msg); break;
	case CM_APR: break; /* no LAP is ever sent */
	}
}

uint64_t cm_deadline(const struct cm *cm)
{
	return heap_first_ns(&cm->timers);
}

static enum cm_event_type timed_out(enum cm_state state)
{
	if (state == CM_STATE_REQ_SENT)
		return CM_EVENT_REQ_TIMED_OUT;
	if (state == CM_STATE_REP_SENT)
		return CM_EVENT_REP_TIMED_OUT;
	return state == CM_STATE_DREQ_SENT ? CM_EVENT_DREQ_TIMED_OUT : CM_EVENT_SIDR_REQ_TIMED_OUT;
}

/* Retries are used up. */
static void give_up(struct cm_id *id, uint64_t now_ns)
{
	const enum cm_event_type type = timed_out(id->state);

	if (id->state == CM_STATE_REQ_SENT || id->state == CM_STATE_REP_SENT)
		cm_rej_timeout(id);
	(void)cm_step(id, CM_TIME_RETRIES);
	if (id->state == CM_STATE_TIME_WAIT)
		cm_time_wait_begin(id, now_ns);
	cm_id_report(id, type, NULL, NULL);
}

static void expire(struct cm_id *id, uint64_t now_ns)
{
	const bool is_time_wait = id->state == CM_STATE_TIME_WAIT;

	if (cm_stopped_wait(id, now_ns))
		return;
	cm_timer_stop(id);
	(void)cm_step(id, CM_TIME_MRA);
	if (!cm_step(id, CM_TIME_OVER)) {
		if (cm_stopped_elsewhere(id))
			id->retry.left++;
		if (!cm_last_retry_again(id, now_ns))
			give_up(id, now_ns);
	} else if (is_time_wait) {
		cm_id_report(id, CM_EVENT_TIME_WAIT_EXIT, NULL, NULL);
	} else {
		cm_id_settle(id);
	}
}

void cm_expire(struct cm *cm, uint64_t now_ns)
{
	while (cm_deadline(cm) <= now_ns)
		expire(cm_timer_first(cm), now_ns);
}

uint32_t cm_num_ids(const struct cm *cm)
{
	return cm->num_ids;
}

void cm_each(struct cm *cm, void (*each)(void *arg, const struct cm_id *id), void *arg)
{
	const struct cm_id *id;

	DL_FOREACH (cm->ids, id)
		each(arg, id);
}

void cm_id_forget(struct cm_id *id)
{
	if (id->state == CM_STATE_LISTEN)
		cm_listen_end(id);
	cm_id_free(id);
}

void cm_id_destroy(struct cm_id *id, uint64_t now_ns)
{
	const struct cm_msg rej = { .attr = CM_REJ, .u.rej.reason = CM_REJ_CONSUMER_DEFINED };
	const struct cm_msg dreq = { .attr = CM_DREQ }, drep = { .attr = CM_DREP };
	const struct cm_msg sidr_rep = { .attr = CM_SIDR_REP,
					 .u.sidr_rep.status = CM_SIDR_REJECTED };

	id->is_orphan = true;
	if (id->state == CM_STATE_LISTEN) {
		cm_listen_end(id);
	} else if (cm_state_without_mra(id->state) == CM_STATE_REQ_SENT) {
		cm_rej_timeout(id);
		(void)cm_step(id, CM_CALL_END);
	} else if (cm_has_step(id, CM_CALL_REJ)) {
		(void)cm_send_rej(id, &rej, now_ns);
	} else if (id->state == CM_STATE_ESTABLISHED && id->connection.is_xrc &&
		   id->connection.is_passive) {
		/* The target of an XRC connection may outlive the program that accepted it. */
		(void)cm_step(id, CM_CALL_END);
	} else if (id->state == CM_STATE_ESTABLISHED) {
		(void)cm_send_dreq(id, &dreq, now_ns);
	} else if (id->state == CM_STATE_DREQ_RCVD) {
		(void)cm_send_drep(id, &drep, now_ns);
	} else if (id->state == CM_STATE_SIDR_REQ_SENT) {
		(void)cm_step(id, CM_CALL_END);
	} else if (id->state == CM_STATE_SIDR_REQ_RCVD) {
		(void)cm_send_sidr_rep(id, &sidr_rep, now_ns);
	}
	cm_id_settle(id);
}
