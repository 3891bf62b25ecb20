/* SPDX-License-Identifier: MIT */
/* The states of an id, and every step from one to another: state.c has them as one table, to be
 * read beside the state diagrams of IBTA 12.9.5 to 12.9.7 and 12.11. */
#ifndef RXE_CM_STATE_H
#define RXE_CM_STATE_H

#include "rxe_dm/cm/id.h"

enum cm_step {
	/* Calls of the user, named by the message that they send. */
	CM_CALL_LISTEN,
	CM_CALL_REQ,
	CM_CALL_REP,
	CM_CALL_RTU,
	CM_CALL_MRA,
	CM_CALL_REJ,
	CM_CALL_DREQ,
	CM_CALL_DREP,
	CM_CALL_SIDR_REQ,
	CM_CALL_SIDR_REP,
	CM_CALL_END, /* ends a listener or an exchange, without an answer to wait for */

	/* Messages that arrive. */
	CM_GOT_REQ,
	CM_GOT_MRA,
	CM_GOT_REP,
	CM_GOT_RTU, /* or the first message of the connection: cm_established() */
	CM_GOT_REJ,
	CM_GOT_STALE, /* a REJ of reason 10: stale connection */
	CM_GOT_DREQ,
	CM_GOT_DREP,
	CM_GOT_SIDR_REQ,
	CM_GOT_SIDR_REP,

	/* The id's timer. */
	CM_TIME_MRA,	 /* the time that an MRA asked for is over */
	CM_TIME_RETRIES, /* no answer after all retries */
	CM_TIME_OVER,	 /* TIME_WAIT, or the time in which duplicates come, is over */
};

/* Takes the step. In IDLE the id has left all tables, and its timer is stopped. False: the state
 * has no such step, and nothing has changed. */
bool cm_step(struct cm_id *id, enum cm_step step);
bool cm_has_step(const struct cm_id *id, enum cm_step step);

/* The state as it was before an MRA was sent or received: the same messages are due. */
enum cm_state cm_state_without_mra(enum cm_state state);

#endif
