/* SPDX-License-Identifier: MIT */
/* The kinds of objects, and their names in sentences for people. */
#ifndef RXE_VERBS_KIND_H
#define RXE_VERBS_KIND_H

#include <stddef.h>
#include <stdint.h>

#include "emu/qp.h"

/* After contexts, in the order in which a context that closes destroys them: users first. */
enum vb_kind {
	VB_KIND_CONTEXT = 1,
	VB_KIND_FLOW,
	VB_KIND_COUNTERS,
	VB_KIND_QP,
	VB_KIND_TARGET, /* an XRC target that its program has destroyed, and others have open */
	VB_KIND_WQ_TABLE,
	VB_KIND_WQ,
	VB_KIND_SRQ,
	VB_KIND_XRCD,
	VB_KIND_CQ,
	VB_KIND_CHANNEL,
	VB_KIND_AH,
	VB_KIND_MW,
	VB_KIND_COMP_CNTR,
	VB_KIND_MR,
	VB_KIND_PD,
	VB_KIND_TD,
	VB_KIND_DM,
	VB_KIND_DMAH,
	VB_KIND_BUF,
	VB_KIND_UMEM,
	VB_KIND_MKEY,
	VB_KINDS
};

/* "QP" */
const char *vb_kind_str(enum vb_kind kind);

/* "RTS", "RC" */
const char *vb_qp_state_str(enum rxe_qp_state state);
const char *vb_qp_type_str(enum rxe_qp_type type);

/* Writes "QP 0x01dd02", "MR 3", or with handle 0 the address, "TD 0x5581f4e2a0". Returns ret. */
#define VB_NAME_MAX 64
const char *vb_kind_name(enum vb_kind kind, uint32_t handle, const void *object,
			 char ret[static VB_NAME_MAX]);

/* A list of objects, kind by kind: "2 MRs (handles 7, 9), QP 0x01dd02". Ends in "..." where it does
 * not fit. */
struct vb_names {
	char *at;
	size_t size, len;
	enum vb_kind kind;
	uint32_t n, added;
};

/* n objects of the kind follow. */
void vb_names_begin(struct vb_names *names, enum vb_kind kind, uint32_t n);
void vb_names_add(struct vb_names *names, uint32_t handle, const void *object);
void vb_names_end(struct vb_names *names);

#endif
