/* SPDX-License-Identifier: MIT */
/* The table of live objects, by address. It lets a verb refuse a null, foreign or destroyed handle
 * instead of following the pointer. Control path only: the data path trusts its arguments. Every
 * function takes the table's own lock, which is a leaf. */
#ifndef RXE_VERBS_LIVE_H
#define RXE_VERBS_LIVE_H

#include <stdbool.h>
#include <stdint.h>

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
	VB_KIND_MW,
	VB_KIND_COMP_CNTR,
	VB_KIND_TARGET, /* an XRC target that its program has destroyed, and others have open */
	VB_KIND_WQ,
	VB_KIND_WQ_TABLE,
	VB_KIND_FLOW,
	VB_KIND_COUNTERS,
	VB_KINDS
};

/* Sets the most objects of the kind in the process, on all devices together. */
void vb_live_limit(enum vb_kind kind, uint32_t max);
/* Adds an object before a verb returns its address, and keeps its handle. An object whose handle a
 * program has overwritten is not live: the kernel would not find it either. False: no memory, or
 * the process has as many objects of the kind as ibv_query_device(3) reports. */
bool vb_live_add(const void *object, enum vb_kind kind);
/* The object has got its handle only now. */
void vb_live_numbered(const void *object);
bool vb_live_is(const void *object, enum vb_kind kind);
/* Removes an object. True for exactly one caller, which may destroy the object. */
bool vb_live_take(const void *object, enum vb_kind kind);
/* Any object of this kind and context, with the handle that it was given, or NULL. All kinds but
 * contexts begin with their context. */
void *vb_live_any(const struct ibv_context *context, enum vb_kind kind);
/* Removes all objects of a context that closes. */
void vb_live_remove_all(const struct ibv_context *context);
/* Was the object made by a process from which this one was forked? The original belongs to that
 * process; a child that destroys it frees only its own copy of the memory. */
bool vb_live_is_inherited(const void *object);

/* pthread_atfork() handlers: the table stays locked across fork(), so the child finds it
 * consistent. In the child all present objects become inherited. */
void vb_live_fork_prepare(void);
void vb_live_fork_parent(void);
void vb_live_fork_child(void);

#endif
