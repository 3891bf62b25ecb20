/* SPDX-License-Identifier: MIT */
/* Flows (ibv_create_flow(3)): rules that steer frames to raw queue pairs. */
#ifndef RXE_VERBS_FLOW_H
#define RXE_VERBS_FLOW_H

#include "emu/container_of.h"
#include "emu/raw/flow.h"
#include "lib/abi/newer.h"

struct vb_counters;
struct vb_qp;

struct vb_flow {
	struct ibv_context *context; /* first, as for all objects in live.h */
	struct ibv_flow base;
	struct vb_qp *qp;
	struct vb_counters *counters; /* of its action that counts, or NULL */
	struct rxe_flow flow;
};

static inline struct vb_flow *vb_flow(struct ibv_flow *flow)
{
	return container_of(flow, struct vb_flow, base);
}

/* For close.c: the verb that destroys. */
int vb_flow_destroy(void *flow);

#endif
