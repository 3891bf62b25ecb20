/* SPDX-License-Identifier: MIT */
/* The functions of the library below this layer. The build renames each ibv_NAME that this room
 * defines to below_ibv_NAME in the objects of the library (meson.build). */
#ifndef RXE_RECORD_BELOW_H
#define RXE_RECORD_BELOW_H

#include "lib/abi/newer.h"

/* Declares the function of a verb below. */
#define BELOW(name) extern __typeof__(name) below_##name

/* The operations of a context as the library made them: the same for every context. */
extern struct verbs_context_65 record_below;

#define BELOW_OPS (&record_below.base.context.ops)

/* Functions that replace operations of a new context. */
void record_cq_ops(struct verbs_context_65 *verbs);
void record_mr_ops(struct verbs_context_65 *verbs);
void record_object_ops(struct verbs_context_65 *verbs);
void record_post_ops(struct verbs_context_65 *verbs);
void record_qp_ops(struct verbs_context_65 *verbs);
void record_srq_ops(struct verbs_context_65 *verbs);
/* Those of a queue pair with extended operations, and of a CQ that is read entry by entry. */
void record_build(struct ibv_qp_ex *qp);
void record_poll_ex(struct ibv_cq_ex *cq);
int record_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

#endif
