/* SPDX-License-Identifier: MIT */
/* The gate at the front of each verb: fault rules (verb, device_fatal) let calls fail here.
 *
 * Without such rules a verb pays for two relaxed loads. A verb that calls others, as
 * ibv_create_ah_from_wc() does, passes the gate of each. */
#ifndef RXE_VERBS_GATE_H
#define RXE_VERBS_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/abi/newer.h"
#include "lib/inject/verb.h"

struct vb_device;
struct vb_gate_rules;

/* The gate of a device in this process. */
struct vb_gate {
	/* The current generation of the fault rules; odd while they change. */
	const _Atomic uint32_t *generation;
	/* The generation in which no verb fails. OPEN_UNKNOWN (odd): unknown, or some fail. */
	_Atomic uint32_t open_generation;
	pthread_mutex_t lock; /* protects the members below */
	uint32_t fatal;	      /* value of ctl_faults.fatal when the process attached */
	struct vb_gate_rules *rules;
};

/* The device exists; the process has attached, perhaps again; the child runs after fork(). */
void vb_gate_init(struct vb_device *dev);
void vb_gate_attached(struct vb_device *dev);
void vb_gate_forked(struct vb_device *dev);

/* The slow path: reads the rules and counts the call. True: the call fails, and errno is set. */
bool vb_gate_refuses(struct ibv_context *context, enum inject_verb verb);
struct vb_gate *vb_gate_of(struct ibv_context *context);
/* For calls of libmlx5, which have no name in fault rules: EIO once the context is dead, else 0. */
int vb_gate_dead(struct ibv_context *context, enum inject_verb_kind kind);

/* True: this call fails, and errno is set. The verb is named without its prefix ibv_. */
#define vb_verb_fails(context, verb) vb_gate_fails(context, INJECT_VERB_##verb)
static inline bool vb_gate_fails(struct ibv_context *context, enum inject_verb verb)
{
	const struct vb_gate *gate = vb_gate_of(context);

	return atomic_load_explicit(gate->generation, memory_order_relaxed) !=
		       atomic_load_explicit(&gate->open_generation, memory_order_relaxed) &&
	       vb_gate_refuses(context, verb);
}

#endif
