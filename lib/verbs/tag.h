/* SPDX-License-Identifier: MIT */
/* Tag-matching SRQs: what srq.c and qp.c need of them. */
#ifndef RXE_VERBS_TAG_H
#define RXE_VERBS_TAG_H

#include <stdbool.h>

#include "lib/abi/newer.h"
#include "lib/verbs/srq.h"

/* 0, or an errno: bad attributes of an SRQ of type IBV_SRQT_TM. */
int vb_tag_check(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr);
/* The SRQ is new: gives it its matching list and CQ. 0 or an errno. */
int vb_tag_begin(struct vb_srq *srq, const struct ibv_srq_init_attr_ex *attr);
/* The SRQ has left the engine. Does nothing for others. */
void vb_tag_end(struct vb_srq *srq);

int vb_tag_post(struct ibv_srq *srq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr);

static inline bool vb_tag_matches(const struct ibv_srq *srq)
{
	return srq && vb_srq((struct ibv_srq *)(uintptr_t)srq)->srq.tags;
}

#endif
