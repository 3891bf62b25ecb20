/* SPDX-License-Identifier: MIT */
/* What fills a context's tables: one call for each room of the house. */
#ifndef RXE_VERBS_CONTEXT_H
#define RXE_VERBS_CONTEXT_H

#include "lib/abi/newer.h"

/* Where an operation lives that the installed verbs.h may or may not have. */
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
void vb_dm_ops(struct verbs_context_65 *verbs);
void vb_dmah_ops(struct verbs_context_65 *verbs);
void vb_buf_ops(struct verbs_context_65 *verbs);
void vb_cq_ops(struct verbs_context_65 *verbs);
void vb_qp_ops(struct verbs_context_65 *verbs);
void vb_srq_ops(struct verbs_context_65 *verbs);
void vb_xrcd_ops(struct verbs_context_65 *verbs);
void vb_post_ops(struct verbs_context_65 *verbs);

/* close.c: what a program left on a context that it closes goes, so that the engine does not go on serving it. */
void vb_context_abandon(struct ibv_context *context);

#endif
