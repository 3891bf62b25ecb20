/* SPDX-License-Identifier: MIT */
/* Address handles: the destination of a datagram. RoCE always addresses by GID. */
#ifndef RXE_VERBS_AH_H
#define RXE_VERBS_AH_H

#include "emu/container_of.h"
#include "emu/queue.h"
#include "lib/abi/newer.h"

struct vb_device;

struct vb_ah {
	struct ibv_ah base;
	struct rxe_av av;
};

static inline struct vb_ah *vb_ah(struct ibv_ah *ah)
{
	return container_of(ah, struct vb_ah, base);
}

/* Converts an address vector. 0, EINVAL (no GRH, wrong port), or ENETUNREACH (no such GID). */
int vb_av_from_attr(struct vb_device *dev, const struct ibv_ah_attr *attr, struct rxe_av *ret);

#endif
