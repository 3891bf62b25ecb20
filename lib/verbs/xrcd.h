/* SPDX-License-Identifier: MIT */
/* XRC domains as programs hold them (ibv_open_xrcd(3)): what XRC_RECV queue pairs and XRC SRQs have in common that may meet. */
#ifndef RXE_VERBS_XRCD_H
#define RXE_VERBS_XRCD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/abi/newer.h"

struct vb_xrcd {
	struct ibv_xrcd base;
	uint32_t handle;
	uint32_t domain;	/* the same number for all that opened it */
	_Atomic uint32_t users; /* queue pairs and SRQs of this process */
};

static inline struct vb_xrcd *vb_xrcd(struct ibv_xrcd *xrcd)
{
	return (struct vb_xrcd *)(void *)xrcd;
}

/* A live one of this device, made in this process? */
bool vb_xrcd_fits(struct ibv_context *context, struct ibv_xrcd *xrcd);
int vb_xrcd_close(struct ibv_xrcd *xrcd);
#endif
