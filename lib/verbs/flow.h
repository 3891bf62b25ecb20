/* SPDX-License-Identifier: MIT */
/* Flows (ibv_create_flow(3)): rules that steer frames to raw queue pairs.
 *
 * Counters of flows (ibv_create_counters(3)) have *points*: what is counted (packets, bytes) and
 * the index under which a program reads the sum. A static point counts for each flow that was
 * created with the object, another one for the flow that it was attached to. */
#ifndef RXE_VERBS_FLOW_H
#define RXE_VERBS_FLOW_H

#include "emu/container_of.h"
#include "emu/raw/flow.h"
#include "lib/abi/newer.h"

struct vb_counters;
struct vb_flow;
struct vb_qp;

struct vb_flow {
	struct ibv_context *context; /* first, as for all objects in object.h */
	struct ibv_flow base;
	struct vb_qp *qp;
	struct vb_counters *counters; /* of its action that counts, or NULL */
	struct rxe_flow flow;
};

static inline struct vb_flow *vb_flow(struct ibv_flow *flow)
{
	return container_of(flow, struct vb_flow, base);
}

/* The object of an action that counts, or NULL: it is none that context may use. */
struct vb_counters *vb_counters_find(struct ibv_context *context, struct ibv_counters *base);
/* The flow has the counters of its action; it is not in the engine yet. 0 or an errno. */
int vb_counters_bind(struct vb_flow *flow);
/* The flow is not in the engine any more. What it counted stays. */
void vb_counters_unbind(struct vb_flow *flow);

#endif
