/* SPDX-License-Identifier: MIT */
/* XRC domains (ibv_open_xrcd(3)) and their target queue pairs (ibv_open_qp(3)). An XRC_RECV queue
 * pair reaches the XRC SRQs of its own domain. Several processes share a target: it is in the
 * engine of the process that created it, until the last process that has it open closes it. */
#ifndef RXE_VERBS_XRC_H
#define RXE_VERBS_XRC_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"

struct progress;
struct rxe_qp;
struct vb_device;
struct vb_qp;

struct vb_xrcd {
	struct ibv_xrcd base;
	uint32_t handle;
	uint32_t domain; /* same number in all processes that opened the domain */
};

static inline struct vb_xrcd *vb_xrcd(struct ibv_xrcd *xrcd)
{
	return container_of(xrcd, struct vb_xrcd, base);
}

/* Reports to the server that this process created an XRC target. 0 or an errno. */
int vb_target_announce(struct vb_qp *qp);
/* The program destroys a queue pair that ibv_open_qp() returned. */
void vb_target_close(struct vb_qp *qp);
/* The program destroys an XRC target that it created. True: others have it open, and it lives on;
 * the program's queue pair must not be touched any more. */
bool vb_target_lives_on(struct vb_qp *qp);
/* An event of an XRC target of this process, for all others who opened it. */
void vb_target_tell(struct vb_device *dev, uint32_t type, uint32_t qpn);

#endif
