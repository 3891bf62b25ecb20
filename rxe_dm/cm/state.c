/* SPDX-License-Identifier: MIT */
/* The table of steps, and the only place that changes the state of an id. */
#include "rxe_dm/cm/state.h"

#include <assert.h>
#include <stddef.h>

#define FROM(state) (1u << CM_STATE_##state)

static_assert(CM_NUM_STATES <= 32, "a step has the states that it leads from as bits");

static const struct transition {
	enum cm_step step;
	uint32_t from;
	enum cm_state to;
} transitions[] = {
	{ CM_CALL_LISTEN, FROM(IDLE), CM_STATE_LISTEN },
	{ CM_CALL_END, FROM(LISTEN), CM_STATE_IDLE },

	/* Active: REQ, REP, RTU (12.9.5). */
	{ CM_CALL_REQ, FROM(IDLE), CM_STATE_REQ_SENT },
	{ CM_GOT_MRA, FROM(REQ_SENT), CM_STATE_MRA_REQ_RCVD },
	{ CM_TIME_MRA, FROM(MRA_REQ_RCVD), CM_STATE_REQ_SENT },
	{ CM_TIME_RETRIES, FROM(REQ_SENT), CM_STATE_IDLE },
	{ CM_GOT_REP, FROM(REQ_SENT) | FROM(MRA_REQ_RCVD), CM_STATE_REP_RCVD },
	{ CM_CALL_MRA, FROM(REP_RCVD), CM_STATE_MRA_REP_SENT },
	{ CM_CALL_RTU, FROM(REP_RCVD) | FROM(MRA_REP_SENT), CM_STATE_ESTABLISHED },
	{ CM_CALL_END, FROM(REQ_SENT) | FROM(MRA_REQ_RCVD), CM_STATE_IDLE },

	/* Passive. */
	{ CM_GOT_REQ, FROM(IDLE), CM_STATE_REQ_RCVD },
	{ CM_CALL_MRA, FROM(REQ_RCVD), CM_STATE_MRA_REQ_SENT },
	{ CM_CALL_REP, FROM(REQ_RCVD) | FROM(MRA_REQ_SENT), CM_STATE_REP_SENT },
	{ CM_GOT_MRA, FROM(REP_SENT), CM_STATE_MRA_REP_RCVD },
	{ CM_TIME_MRA, FROM(MRA_REP_RCVD), CM_STATE_REP_SENT },
	{ CM_TIME_RETRIES, FROM(REP_SENT), CM_STATE_TIME_WAIT },
	{ CM_GOT_RTU, FROM(REP_SENT) | FROM(MRA_REP_RCVD), CM_STATE_ESTABLISHED },

	/* We refuse. A REP that is withdrawn is followed by a DREQ: the active end may have its
	 * connection before it gets the REJ. */
	{ CM_CALL_REJ, FROM(REQ_SENT) | FROM(MRA_REQ_RCVD), CM_STATE_IDLE },
	{ CM_CALL_REJ, FROM(REP_RCVD) | FROM(MRA_REP_SENT), CM_STATE_IDLE },
	{ CM_CALL_REJ, FROM(REQ_RCVD) | FROM(MRA_REQ_SENT), CM_STATE_REJ_SENT },
	{ CM_CALL_REJ, FROM(REP_SENT) | FROM(MRA_REP_RCVD), CM_STATE_DREQ_SENT },
	{ CM_TIME_OVER, FROM(REJ_SENT), CM_STATE_IDLE },

	/* The peer refuses. TIME_WAIT where packets of the connection may still travel. */
	{ CM_GOT_REJ, FROM(REQ_SENT) | FROM(MRA_REQ_RCVD), CM_STATE_IDLE },
	{ CM_GOT_REJ, FROM(REQ_RCVD) | FROM(MRA_REQ_SENT), CM_STATE_IDLE },
	{ CM_GOT_REJ, FROM(REP_SENT) | FROM(MRA_REP_RCVD), CM_STATE_IDLE },
	{ CM_GOT_REJ, FROM(REP_RCVD) | FROM(MRA_REP_SENT), CM_STATE_TIME_WAIT },
	{ CM_GOT_REJ, FROM(ESTABLISHED) | FROM(DREQ_SENT), CM_STATE_TIME_WAIT },
	{ CM_GOT_STALE, FROM(REQ_SENT) | FROM(MRA_REQ_RCVD), CM_STATE_TIME_WAIT },
	{ CM_GOT_STALE, FROM(REQ_RCVD) | FROM(MRA_REQ_SENT), CM_STATE_TIME_WAIT },
	{ CM_GOT_STALE, FROM(REP_SENT) | FROM(MRA_REP_RCVD), CM_STATE_TIME_WAIT },
	{ CM_GOT_STALE, FROM(REP_RCVD) | FROM(MRA_REP_SENT), CM_STATE_TIME_WAIT },
	{ CM_GOT_STALE, FROM(ESTABLISHED) | FROM(DREQ_SENT), CM_STATE_TIME_WAIT },

	/* The end of a connection. A DREQ in REP_SENT: the RTU is lost, or late. A DREQ in
	 * DREQ_SENT: both ends disconnect at once (12.9.8.4). */
	{ CM_CALL_DREQ, FROM(ESTABLISHED), CM_STATE_DREQ_SENT },
	{ CM_GOT_DREQ, FROM(ESTABLISHED) | FROM(DREQ_SENT), CM_STATE_DREQ_RCVD },
	{ CM_GOT_DREQ, FROM(REP_SENT) | FROM(MRA_REP_RCVD), CM_STATE_DREQ_RCVD },
	{ CM_CALL_DREP, FROM(DREQ_RCVD), CM_STATE_TIME_WAIT },
	{ CM_GOT_DREP, FROM(DREQ_SENT) | FROM(DREQ_RCVD), CM_STATE_TIME_WAIT },
	{ CM_TIME_RETRIES, FROM(DREQ_SENT), CM_STATE_TIME_WAIT },
	{ CM_TIME_OVER, FROM(TIME_WAIT), CM_STATE_IDLE },
	{ CM_CALL_END, FROM(ESTABLISHED), CM_STATE_IDLE }, /* the target of an XRC connection */

	/* Service ID resolution (12.11). */
	{ CM_CALL_SIDR_REQ, FROM(IDLE), CM_STATE_SIDR_REQ_SENT },
	{ CM_GOT_SIDR_REP, FROM(SIDR_REQ_SENT), CM_STATE_IDLE },
	{ CM_TIME_RETRIES, FROM(SIDR_REQ_SENT), CM_STATE_IDLE },
	{ CM_CALL_END, FROM(SIDR_REQ_SENT), CM_STATE_IDLE },
	{ CM_GOT_SIDR_REQ, FROM(IDLE), CM_STATE_SIDR_REQ_RCVD },
	{ CM_CALL_SIDR_REP, FROM(SIDR_REQ_RCVD), CM_STATE_SIDR_REP_SENT },
	{ CM_TIME_OVER, FROM(SIDR_REP_SENT), CM_STATE_IDLE },
};

/* NULL: the state has no such step. */
static const struct transition *find(enum cm_state state, enum cm_step step)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
		if (transitions[i].step == step && transitions[i].from & 1u << state)
			return &transitions[i];
	return NULL;
}

bool cm_has_step(const struct cm_id *id, enum cm_step step)
{
	return find(id->state, step) != NULL;
}

bool cm_step(struct cm_id *id, enum cm_step step)
{
	const struct transition *transition = find(id->state, step);

	if (!transition)
		return false;
	id->state = transition->to;
	if (id->state == CM_STATE_IDLE)
		cm_id_clear(id);
	return true;
}

enum cm_state cm_state_without_mra(enum cm_state state)
{
	if (state == CM_STATE_MRA_REQ_RCVD)
		return CM_STATE_REQ_SENT;
	if (state == CM_STATE_MRA_REP_SENT)
		return CM_STATE_REP_RCVD;
	if (state == CM_STATE_MRA_REQ_SENT)
		return CM_STATE_REQ_RCVD;
	return state == CM_STATE_MRA_REP_RCVD ? CM_STATE_REP_SENT : state;
}
