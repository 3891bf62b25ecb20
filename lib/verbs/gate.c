// SPDX-License-Identifier: MIT
/* Counts the calls of each verb that a fault rule names, by rule and verb; a call fails when its
 * rule fires.
 *
 * A device_fatal rule kills the contexts that were open: verbs that are system calls on other
 * adapters return EIO from then on (ibv_open_device(3)). Posting and polling, which touch only
 * memory of the program, continue and find everything flushed. */
#include "lib/verbs/gate.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/client.h"
#include "lib/control/log.h"
#include "lib/inject/rule.h"
#include "lib/progress/fault.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"

#define OPEN_UNKNOWN 1u

struct vb_gate_rules {
	uint32_t generation; /* of the fault rules when they were copied */
	struct inject_rules rules;
	uint32_t place[FAULT_MAX_RULES]; /* index of each rule in shared memory */
	/* By place: the rule that is counted there, and its calls by verb. */
	uint32_t id[FAULT_MAX_RULES];
	uint32_t calls[FAULT_MAX_RULES][INJECT_VERBS];
};

static const struct ctl_faults *faults(const struct vb_device *dev)
{
	return &dev->attachment.shared->faults;
}

void vb_gate_init(struct vb_device *dev)
{
	pthread_mutex_init(&dev->gate.lock, NULL);
	atomic_store(&dev->gate.open_generation, OPEN_UNKNOWN);
}

void vb_gate_attached(struct vb_device *dev)
{
	struct vb_gate *gate = &dev->gate;
	struct vb_gate_rules *last;

	pthread_mutex_lock(&gate->lock);
	gate->generation = &faults(dev)->generation;
	gate->fatal = atomic_load(&faults(dev)->fatal);
	atomic_store(&gate->open_generation, OPEN_UNKNOWN);
	/* A child of fork() writes to what it finds here. */
	last = gate->rules;
	gate->rules = NULL;
	free(last);
	pthread_mutex_unlock(&gate->lock);
}

/* The child counts its calls from zero. */
void vb_gate_forked(struct vb_device *dev)
{
	vb_gate_init(dev);
	if (dev->gate.rules)
		memset(dev->gate.rules, 0, sizeof(*dev->gate.rules));
}

struct vb_gate *vb_gate_of(struct ibv_context *context)
{
	return &vb_device(context)->gate;
}

static bool has_verbs(const struct inject_rules *rules)
{
	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->rule[i].action == INJECT_VERB)
			return true;
	return false;
}

/* Under the gate's lock. */
static void refresh(struct vb_device *dev)
{
	struct vb_gate *gate = &dev->gate;
	const uint32_t before = atomic_load(gate->generation);

	if (before & 1 || (gate->rules && gate->rules->generation == before))
		return; /* the next call reads a change that is under way now */
	if (!gate->rules)
		gate->rules = calloc(1, sizeof(*gate->rules));
	if (!gate->rules)
		return;
	faults_copy_rules(faults(dev), &gate->rules->rules, gate->rules->place);
	if (atomic_load(gate->generation) != before)
		return;
	gate->rules->generation = before;
	if (!has_verbs(&gate->rules->rules) && gate->fatal == atomic_load(&faults(dev)->fatal))
		atomic_store(&gate->open_generation, before);
}

/* Counts the call for each rule that names the verb. The errno of the first that fires, or 0. */
static int decide(struct vb_device *dev, struct vb_gate_rules *verbs, enum inject_verb verb)
{
	int err = 0;

	for (uint32_t i = 0; i < verbs->rules.n; i++) {
		const struct inject_rule *rule = &verbs->rules.rule[i];
		const uint32_t id = verbs->rules.id[i], place = verbs->place[i];
		uint32_t nth;

		if (!inject_selects_verb(rule, verb))
			continue;
		if (verbs->id[place] != id)
			memset(verbs->calls[place], 0, sizeof(verbs->calls[place]));
		verbs->id[place] = id;
		nth = ++verbs->calls[place][verb];
		if (err || !inject_fires_verb(rule, id, verb, nth))
			continue;
		err = refuse(WHY_FAULT(rule->u.verb.error), id, nth);
		faults_count(&dev->progress, place, id);
		ctl_log(CTL_LOG_INFO, "fault %u: call %u of %s fails: %s", id, nth,
			inject_verb_str(verb), strerror(err));
	}
	return err;
}

/* The environment variable is rdma-core's. */
static bool may_destroy(void)
{
	return secure_getenv("RDMAV_ALLOW_DISASSOC_DESTROY") != NULL;
}

static bool is_dead(const struct vb_context *ctx, enum inject_verb_kind kind)
{
	if (atomic_load(&faults(ctx->dev)->fatal) == ctx->fatal)
		return false;
	switch (kind) {
	case INJECT_VERB_COMMAND: return true;
	case INJECT_VERB_DESTROY: return !may_destroy();
	case INJECT_VERB_LOCAL: return false;
	}
	return false;
}

int vb_gate_dead(struct ibv_context *context, enum inject_verb_kind kind)
{
	const struct vb_context *ctx = vb_context(context);

	return !ctx->closing && is_dead(ctx, kind) ? refuse(WHY_FATAL) : 0;
}

bool vb_gate_refuses(struct ibv_context *context, enum inject_verb verb)
{
	struct vb_context *ctx = vb_context(context);
	struct vb_gate *gate = &ctx->dev->gate;
	int err = 0;

	if (ctx->closing)
		return false;
	pthread_mutex_lock(&gate->lock);
	refresh(ctx->dev);
	if (is_dead(ctx, inject_verb_kind(verb)))
		err = refuse(WHY_FATAL);
	else if (gate->rules)
		err = decide(ctx->dev, gate->rules, verb);
	pthread_mutex_unlock(&gate->lock);
	if (err)
		errno = err;
	return err != 0;
}
