/* SPDX-License-Identifier: MIT */
/* Shared receive queues (ibv_create_srq(3)): basic, of XRC, and with tag matching (tag.h). */
#ifndef RXE_VERBS_SRQ_H
#define RXE_VERBS_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>

#include "emu/container_of.h"
#include "emu/srq.h"
#include "emu/tag_list.h"
#include "lib/abi/newer.h"
#include "lib/verbs/buffer.h"

struct vb_device;

struct vb_srq {
	struct ibv_srq base;
	struct vb_device *dev;
	uint32_t forks; /* vb_forks() at creation */
	struct rxe_srq srq;
	struct vb_buffer memory;
	struct rxe_tag_list tags; /* tag matching */
	struct vb_buffer tags_memory;
	struct ibv_cq *cq;     /* XRC and tag matching: for its completions; else NULL */
	bool is_counted;       /* in the slot */
	struct ibv_xrcd *xrcd; /* XRC: its domain; else NULL */
	uint32_t max_wr;
	_Atomic uint32_t users;	  /* queue pairs */
	uint32_t events_reported; /* the context's async lock */
};

static inline struct vb_srq *vb_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct vb_srq, base);
}

#endif
