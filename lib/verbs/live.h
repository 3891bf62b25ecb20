/* SPDX-License-Identifier: MIT */
/* Which objects live: so that a null, foreign or destroyed handle is refused instead of followed. Control path only. */
#ifndef RXE_VERBS_LIVE_H
#define RXE_VERBS_LIVE_H

#include <stdbool.h>

struct ibv_context;

enum dm_kind {
	DM_KIND_CONTEXT = 1,
	DM_KIND_PD,
	DM_KIND_TD,
	DM_KIND_MR,
	DM_KIND_DM,
	DM_KIND_AH,
	DM_KIND_CHANNEL,
	DM_KIND_CQ,
	DM_KIND_QP,
	DM_KIND_SRQ,
	DM_KIND_DMAH,
	DM_KIND_BUF,
	DM_KIND_UMEM,
	DM_KIND_MKEY,
	DM_KIND_XRCD,
};

/* Remember an object that a program is about to be given. False: no memory, or
 * the process has as many of the kind as ibv_query_device(3) reports. */
bool dm_object_add(const void *object, enum dm_kind kind);
bool dm_object_is(const void *object, enum dm_kind kind);
/* Forget it: true for exactly one caller, who may now destroy it. */
bool dm_object_take(const void *object, enum dm_kind kind);
/* Any one of a kind that belongs to this context (all but contexts begin with a pointer to theirs), or NULL. */
void *dm_object_of(const struct ibv_context *context, enum dm_kind kind);
/* The context goes: what is left of it is nobody's any more. */
void dm_object_forget(const struct ibv_context *context);
/* Was it made by the process that this one was forked from? It is that one's still: what the child destroys of it is its own
 * memory of it. */
bool dm_object_is_inherited(const void *object);
/* Around fork(): nobody is inside the table, and the child may use it. */
void dm_object_lock(void);
void dm_object_unlock(void);
/* In the child, instead of unlock: what there is was inherited. */
void dm_object_forked(void);

#endif
