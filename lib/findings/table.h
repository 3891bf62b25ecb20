/* SPDX-License-Identifier: MIT */
/* The table of checks: one row each. docs/CHECKS.md has an entry for each row, made of the row. */
#ifndef RXE_FINDINGS_TABLE_H
#define RXE_FINDINGS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum check {
	CHECK_MEM_SEND_CHANGED,
	CHECK_MEM_OVERLAP,
	CHECK_MEM_SEND_OVERLAPS,
	CHECK_MEM_DEREGISTERED,
	CHECK_MEM_FREED,
	CHECK_MEM_STALE,
	CHECK_MEM_ARRIVAL,
	CHECK_MEM_REMOTE,
	CHECK_THREAD_DOMAIN,
	CHECK_THREAD_CQ,
	CHECK_RACE_REMOTE,
	CHECK_RACE_FENCE,
	CHECK_RACE_LOCAL,
	CHECK_RACE_HISTORY,
	CHECK_QUEUE_CQ_OVERFLOW,
	CHECK_QUEUE_UNSIGNALLED,
	CHECK_QUEUE_NO_RECEIVE,
	CHECK_QUEUE_RNR_FOREVER,
	CHECK_QUEUE_UD_SHORT,
	CHECK_QUEUE_UNPOLLED,
	CHECK_QUEUE_INLINE,
	CHECK_EVENT_LOST_WAKE_UP,
	CHECK_EVENT_NOT_ACKED,
	CHECK_EVENT_CHANNEL_IN_USE,
	CHECK_EVENT_ASYNC_NOT_ACKED,
	CHECK_EVENT_ASYNC_UNREAD,
	CHECK_LIFE_LEAK_CLOSE,
	CHECK_LIFE_LEAK_EXIT,
	CHECK_LIFE_USE_AFTER,
	CHECK_LIFE_TWICE,
	CHECK_LIFE_OUTSTANDING,
	CHECK_LIFE_FORKED,
	CHECK_LIFE_LEAKS_ALL,
	CHECK_COMP_ON_ERROR,
	CHECK_COMP_IMM,
	CHECK_COMP_LENGTH,
	CHECK_COMP_SRC_QP,
	CHECK_COMP_POISON,
	CHECK_PEER_MTU,
	CHECK_PEER_PSN,
	CHECK_PEER_READS,
	CHECK_PEER_TIMEOUT,
	CHECK_PEER_ACCESS,
	CHECK_PEER_TYPE,
	CHECK_PEER_GID,
	CHECK_CM_EVENTS_NOT_ACKED,
	CHECK_CM_OWN_EVENT,
	CHECK_CM_CHANNEL_IN_USE,
	CHECK_CM_PRIVATE,
	CHECK_CM_NO_QP,
	CHECK_CM_DEPTH,
	CHECK_CM_NOT_DISCONNECTED,
	CHECK_CM_HAS_QP,
	CHECK_PORT_ATOMIC,
	CHECK_PORT_DM_COPY,
	CHECK_PORT_SGES,
	CHECK_PORT_DM_ALIGN,
	CHECK_PORT_EARLY,
	CHECK_REFUSAL,
	CHECK_END
};

struct check_row {
	const char *id;	      /* RXE-MEM-001; never reused for another check */
	const char *name;     /* send-buffer-changed */
	const char *sentence; /* what is wrong, for any program */
	const char *spec;     /* where it is written */
	const char *remedy;   /* what to do */
	bool is_extra;	      /* selected by its id or name only */
	bool is_note;	      /* not wrong by the letter: the exit status stays the program's */
};
/* By enum check. */
extern const struct check_row check_table[CHECK_END];

/* "error" or "note": the levels of SARIF. */
const char *check_level(const struct check_row *row);

/* The row of an id; NULL: there is none. */
const struct check_row *check_find(const char *id);

/* Reads a list of ids, names and groups ("mem" of RXE-MEM-001), with commas between; a minus in
 * front leaves one out, and a list that begins so stands for all the others. "1", "all" and "":
 * all. on: by enum check. Returns the first word that names nothing, or NULL. */
const char *check_select(const char *list, bool on[static CHECK_END]);

#endif
