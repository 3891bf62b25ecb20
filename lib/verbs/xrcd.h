/* SPDX-License-Identifier: MIT */
/* XRC domains (ibv_open_xrcd(3)): an XRC_RECV queue pair reaches the XRC SRQs of its own domain. */
#ifndef RXE_VERBS_XRCD_H
#define RXE_VERBS_XRCD_H

#include <stdatomic.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"

struct vb_xrcd {
	struct ibv_xrcd base;
	uint32_t handle;
	uint32_t domain;	/* same number in all processes that opened the domain */
	_Atomic uint32_t users; /* queue pairs and SRQs of this process */
};

static inline struct vb_xrcd *vb_xrcd(struct ibv_xrcd *xrcd)
{
	return container_of(xrcd, struct vb_xrcd, base);
}

int vb_xrcd_close(struct ibv_xrcd *xrcd);

#endif
