/* SPDX-License-Identifier: MIT */
/* Shared receive queues as programs hold them. */
#ifndef RXE_VERBS_SRQ_H
#define RXE_VERBS_SRQ_H

#include <stdatomic.h>

#include "lib/abi/newer.h"

#include "emu/srq.h"
#include "lib/verbs/buffer.h"

struct vb_device;

struct vb_srq {
	struct ibv_srq base;
	struct vb_device *dev;
	uint32_t forks; /* vb_forks() when it was made */
	struct rxe_srq srq;
	struct vb_buffer memory;
	struct ibv_cq *cq; /* XRC: where its completions go, and its domain; else NULL */
	struct ibv_xrcd *xrcd;
	uint32_t max_wr;
	_Atomic uint32_t users;	  /* queue pairs */
	uint32_t events_reported; /* the context's async lock */
};

static inline struct vb_srq *vb_srq(struct ibv_srq *srq)
{
	return (struct vb_srq *)(void *)srq;
}

#endif
