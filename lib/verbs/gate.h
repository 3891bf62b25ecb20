/* SPDX-License-Identifier: MIT */
/* The gate at the front of each verb: may this call go on, or does a fault rule (verb, device_fatal) have it fail?
 *
 * Closed, it costs one relaxed load. A verb that is made of others, as ibv_create_ah_from_wc() is, passes the gate of each. */
#ifndef RXE_VERBS_GATE_H
#define RXE_VERBS_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/abi/newer.h"
#include "net/link/fault/verb.h"

struct vb_device;
struct vb_verb_rules;

/* Of a device in this process. */
struct vb_verb_gate {
	const _Atomic uint32_t *now; /* the rules' generation */
	_Atomic uint32_t
		calm; /* the one in which no verb fails; odd, and so never equal: unknown, or some do */
	pthread_mutex_t lock; /* what follows */
	uint32_t fatal;	      /* ctl_faults.fatal when the process attached */
	struct vb_verb_rules *rules;
};

/* The device exists; the process has attached, or attached anew; the child after fork(). */
void vb_verb_gate_init(struct vb_device *dev);
void vb_verb_gate_attached(struct vb_device *dev);
void vb_verb_gate_forked(struct vb_device *dev);

/* The call fails: errno is set. */
bool vb_verb_refused(struct ibv_context *context, enum fault_verb verb);
struct vb_verb_gate *vb_verb_gate(struct ibv_context *context);
/* For calls that have no name in fault rules (libmlx5's): EIO once the context is dead, else 0. */
int vb_verb_dead(struct ibv_context *context, enum fault_verb_kind kind);

#define vb_verb_fails(context, verb) vb_verb_asks(context, FAULT_VERB_##verb)
static inline bool vb_verb_asks(struct ibv_context *context, enum fault_verb verb)
{
	const struct vb_verb_gate *gate = vb_verb_gate(context);

	return atomic_load_explicit(gate->now, memory_order_relaxed) !=
		       atomic_load_explicit(&gate->calm, memory_order_relaxed) &&
	       vb_verb_refused(context, verb);
}

#endif
