/* SPDX-License-Identifier: MIT */
/* Functions that fill the operation tables of a new context, one for each kind of object.
 * abi_refuse_ops() fills the rest. */
#ifndef RXE_VERBS_OPS_H
#define RXE_VERBS_OPS_H

#include "lib/abi/newer.h"

/* Where an operation is depends on whether the installed verbs.h has it. */
#ifdef RXE_DM_HAVE_DMAH
#define VB_DMAH_OPS(verbs) (&(verbs)->base)
#else
#define VB_DMAH_OPS(verbs) (verbs)
#endif
#ifdef RXE_DM_HAVE_MR_INIT_ATTR
#define VB_REG_MR_EX_OPS(verbs) (&(verbs)->base)
#else
#define VB_REG_MR_EX_OPS(verbs) (verbs)
#endif
#ifdef RXE_DM_HAVE_DM_EXPORT
#define VB_EXPORT_OPS(verbs) (&(verbs)->base)
#else
#define VB_EXPORT_OPS(verbs) (verbs)
#endif
#ifdef RXE_DM_HAVE_BUF
#define VB_BUF_OPS(verbs) (&(verbs)->base)
#else
#define VB_BUF_OPS(verbs) (verbs)
#endif

void vb_query_ops(struct verbs_context_65 *verbs);
void vb_pd_ops(struct verbs_context_65 *verbs);
void vb_mr_ops(struct verbs_context_65 *verbs);
void vb_mw_ops(struct verbs_context_65 *verbs);
void vb_mr_change_ops(struct verbs_context_65 *verbs);
void vb_dm_ops(struct verbs_context_65 *verbs);
void vb_dmah_ops(struct verbs_context_65 *verbs);
void vb_cq_ops(struct verbs_context_65 *verbs);
void vb_counters_ops(struct verbs_context_65 *verbs);
void vb_flow_ops(struct verbs_context_65 *verbs);
void vb_wq_ops(struct verbs_context_65 *verbs);
void vb_qp_ops(struct verbs_context_65 *verbs);
void vb_srq_ops(struct verbs_context_65 *verbs);
void vb_xrcd_ops(struct verbs_context_65 *verbs);
void vb_post_ops(struct verbs_context_65 *verbs);
/* After vb_post_ops(): posts of receives on an unkind device, where that is asked for. */
void vb_post_unkind_ops(struct verbs_context_65 *verbs);

#endif
