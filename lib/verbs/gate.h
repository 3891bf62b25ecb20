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

struct dm_device;
struct dm_verb_rules;

/* Of a device in this process. */
struct dm_verb_gate {
	const _Atomic uint32_t *now; /* the rules' generation */
	_Atomic uint32_t
		calm; /* the one in which no verb fails; odd, and so never equal: unknown, or some do */
	pthread_mutex_t lock; /* what follows */
	uint32_t fatal;	      /* ctl_faults.fatal when the process attached */
	struct dm_verb_rules *rules;
};

/* The device exists; the process has attached, or attached anew; the child after fork(). */
void dm_verb_gate_init(struct dm_device *dev);
void dm_verb_gate_attached(struct dm_device *dev);
void dm_verb_gate_forked(struct dm_device *dev);

/* The call fails: errno is set. */
bool dm_verb_refused(struct ibv_context *context, enum fault_verb verb);
struct dm_verb_gate *dm_verb_gate(struct ibv_context *context);
/* For calls that have no name in fault rules (libmlx5's): EIO once the context is dead, else 0. */
int dm_verb_dead(struct ibv_context *context, enum fault_verb_kind kind);

#define dm_verb_fails(context, verb) dm_verb_asks(context, FAULT_VERB_##verb)
static inline bool dm_verb_asks(struct ibv_context *context, enum fault_verb verb)
{
	const struct dm_verb_gate *gate = dm_verb_gate(context);

	return atomic_load_explicit(gate->now, memory_order_relaxed) !=
		       atomic_load_explicit(&gate->calm, memory_order_relaxed) &&
	       dm_verb_refused(context, verb);
}

#endif
