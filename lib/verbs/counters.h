/* SPDX-License-Identifier: MIT */
/* Counters of flows (ibv_create_counters(3)). A counters object has *points*: what is counted
 * (packets, bytes) and the index under which a program reads the sum. A static point counts for
 * each flow that was created with the object, another one for the flow that it was attached to. */
#ifndef RXE_VERBS_COUNTERS_H
#define RXE_VERBS_COUNTERS_H

#include "lib/abi/newer.h"

struct vb_counters;
struct vb_flow;

/* The object of an action that counts, or NULL: it is none that context may use. */
struct vb_counters *vb_counters_find(struct ibv_context *context, struct ibv_counters *base);
/* The flow has the counters of its action; it is not in the engine yet. 0 or an errno. */
int vb_counters_bind(struct vb_flow *flow);
/* The flow is not in the engine any more. What it counted stays. */
void vb_counters_unbind(struct vb_flow *flow);

/* For close.c: the verb that destroys. */
int vb_counters_destroy(void *counters);

#endif
