/* SPDX-License-Identifier: MIT */
/* Which objects live: so that a null, foreign or destroyed handle is refused instead of followed. Control path only. */
#ifndef RXE_VERBS_LIVE_H
#define RXE_VERBS_LIVE_H

#include <stdbool.h>

struct ibv_context;

enum vb_kind {
	VB_KIND_CONTEXT = 1,
	VB_KIND_PD,
	VB_KIND_TD,
	VB_KIND_MR,
	VB_KIND_DM,
	VB_KIND_AH,
	VB_KIND_CHANNEL,
	VB_KIND_CQ,
	VB_KIND_QP,
	VB_KIND_SRQ,
	VB_KIND_DMAH,
	VB_KIND_BUF,
	VB_KIND_UMEM,
	VB_KIND_MKEY,
	VB_KIND_XRCD,
};

/* Remember an object that a program is about to be given. False: no memory, or
 * the process has as many of the kind as ibv_query_device(3) reports. */
bool vb_object_add(const void *object, enum vb_kind kind);
bool vb_object_is(const void *object, enum vb_kind kind);
/* Forget it: true for exactly one caller, who may now destroy it. */
bool vb_object_take(const void *object, enum vb_kind kind);
/* Any one of a kind that belongs to this context (all but contexts begin with a pointer to theirs), or NULL. */
void *vb_object_of(const struct ibv_context *context, enum vb_kind kind);
/* The context goes: what is left of it is nobody's any more. */
void vb_object_forget(const struct ibv_context *context);
/* Was it made by the process that this one was forked from? It is that one's still: what the child destroys of it is its own
 * memory of it. */
bool vb_object_is_inherited(const void *object);
/* Around fork(): nobody is inside the table, and the child may use it. */
void vb_object_lock(void);
void vb_object_unlock(void);
/* In the child, instead of unlock: what there is was inherited. */
void vb_object_forked(void);

#endif
