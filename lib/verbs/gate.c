// SPDX-License-Identifier: MIT
/* Verbs that fail on demand: each call of a verb that a rule names is counted, for each rule and verb, and fails when the rule fires.
 * Once the device was fatal, the contexts of before are dead: what goes to the kernel elsewhere answers EIO, for ever (rdma-core:
 * ibv_open_device(3)); posting and polling go on, since that is memory of the program, and find everything flushed. */
#include "lib/verbs/gate.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/client.h"
#include "lib/progress/fault.h"
#include "lib/progress/log.h"
#include "lib/verbs/context.h"

#define NEVER_CALM 1u

struct vb_verb_rules {
	uint32_t generation; /* that was read */
	struct fault_rules rules;
	uint32_t place[FAULT_MAX_RULES]; /* in shared memory */
	/* By place: whose counts they are, and the calls counted. */
	uint32_t id[FAULT_MAX_RULES];
	uint32_t calls[FAULT_MAX_RULES][FAULT_VERBS];
};

static const struct ctl_faults *faults(const struct vb_device *dev)
{
	return &dev->attachment.shared->faults;
}

void vb_verb_gate_init(struct vb_device *dev)
{
	pthread_mutex_init(&dev->gate.lock, NULL);
	atomic_store(&dev->gate.calm, NEVER_CALM);
}

void vb_verb_gate_attached(struct vb_device *dev)
{
	struct vb_verb_gate *gate = &dev->gate;

	pthread_mutex_lock(&gate->lock);
	gate->now = &faults(dev)->generation;
	gate->fatal = atomic_load(&faults(dev)->fatal);
	atomic_store(&gate->calm, NEVER_CALM);
	free(gate->rules);
	gate->rules = NULL;
	pthread_mutex_unlock(&gate->lock);
}

/* Its calls are counted from the beginning. */
void vb_verb_gate_forked(struct vb_device *dev)
{
	vb_verb_gate_init(dev);
	if (dev->gate.rules)
		memset(dev->gate.rules, 0, sizeof(*dev->gate.rules));
}

struct vb_verb_gate *vb_verb_gate(struct ibv_context *context)
{
	return &vb_device(context)->gate;
}

static bool has_verbs(const struct fault_rules *rules)
{
	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->rule[i].action == FAULT_VERB)
			return true;
	return false;
}

/* Under the gate's lock. */
static void refresh(struct vb_device *dev)
{
	struct vb_verb_gate *gate = &dev->gate;
	const uint32_t before = atomic_load(gate->now);

	if (before & 1 || (gate->rules && gate->rules->generation == before))
		return; /* half of a change is taken with the next call */
	if (!gate->rules)
		gate->rules = calloc(1, sizeof(*gate->rules));
	if (!gate->rules)
		return;
	faults_copy_rules(faults(dev), &gate->rules->rules, gate->rules->place);
	if (atomic_load(gate->now) != before)
		return;
	gate->rules->generation = before;
	if (!has_verbs(&gate->rules->rules) && gate->fatal == atomic_load(&faults(dev)->fatal))
		atomic_store(&gate->calm, before);
}

/* Counts the call for each rule that names the verb; the errno of the first that fires, or 0. */
static int decide(struct vb_device *dev, struct vb_verb_rules *verbs, enum fault_verb verb)
{
	int err = 0;

	for (uint32_t i = 0; i < verbs->rules.n; i++) {
		const struct fault_rule *rule = &verbs->rules.rule[i];
		const uint32_t id = verbs->rules.id[i], place = verbs->place[i];
		uint32_t nth;

		if (!fault_selects_verb(rule, verb))
			continue;
		if (verbs->id[place] != id)
			memset(verbs->calls[place], 0, sizeof(verbs->calls[place]));
		verbs->id[place] = id;
		nth = ++verbs->calls[place][verb];
		if (err || !fault_fires_verb(rule, id, verb, nth))
			continue;
		err = rule->error;
		faults_count(&dev->progress, place, id);
		rxe_log(RXE_LOG_INFO, "fault %u: call %u of %s fails: %s", id, nth,
			fault_verb_str(verb), strerror(err));
	}
	return err;
}

/* As rdma-core reads it. */
static bool may_destroy(void)
{
	return secure_getenv("RDMAV_ALLOW_DISASSOC_DESTROY") != NULL;
}

static bool is_dead(const struct vb_context *ctx, enum fault_verb_kind kind)
{
	if (atomic_load(&faults(ctx->dev)->fatal) == ctx->fatal)
		return false;
	switch (kind) {
	case FAULT_VERB_COMMAND: return true;
	case FAULT_VERB_DESTROY: return !may_destroy();
	case FAULT_VERB_LOCAL: return false;
	}
	return false;
}

int vb_verb_dead(struct ibv_context *context, enum fault_verb_kind kind)
{
	const struct vb_context *ctx = vb_context(context);

	return !ctx->closing && is_dead(ctx, kind) ? EIO : 0;
}

bool vb_verb_refused(struct ibv_context *context, enum fault_verb verb)
{
	struct vb_context *ctx = vb_context(context);
	struct vb_verb_gate *gate = &ctx->dev->gate;
	int err = 0;

	if (ctx->closing)
		return false;
	pthread_mutex_lock(&gate->lock);
	refresh(ctx->dev);
	if (is_dead(ctx, fault_verb_kind(verb)))
		err = EIO;
	else if (gate->rules)
		err = decide(ctx->dev, gate->rules, verb);
	pthread_mutex_unlock(&gate->lock);
	if (err)
		errno = err;
	return err != 0;
}
