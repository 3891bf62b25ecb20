/* SPDX-License-Identifier: MIT */
/* Shared receive queues (ibv_create_srq(3)): basic, of XRC, and with tag matching. */
#ifndef RXE_VERBS_SRQ_H
#define RXE_VERBS_SRQ_H

#include <stdbool.h>

#include "emu/container_of.h"
#include "emu/srq.h"
#include "emu/tag_list.h"
#include "lib/abi/newer.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/pd.h"

struct vb_device;

struct vb_srq {
	struct ibv_srq base;
	struct vb_device *dev;
	uint32_t forks; /* vb_forks() at creation */
	struct rxe_srq srq;
	struct vb_buffer memory;
	struct rxe_tag_list tags; /* tag matching */
	struct vb_buffer tags_memory;
	struct ibv_cq *cq;	  /* XRC and tag matching: for its completions; else NULL */
	struct ibv_xrcd *xrcd;	  /* XRC: its domain; else NULL */
	uint32_t events_reported; /* the context's async lock */
};

static inline struct vb_srq *vb_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct vb_srq, base);
}

static inline bool vb_tag_matches(const struct ibv_srq *srq)
{
	return srq && vb_srq((struct ibv_srq *)(uintptr_t)srq)->srq.tags;
}

/* post.c: ibv_post_srq_recv(3). */
int vb_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
