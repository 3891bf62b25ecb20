// SPDX-License-Identifier: MIT
/* Decisions about completions and verbs. */
#include "lib/inject/rule.h"
#include "net/wire/cm.h"

#define KIND_COMPLETION 0x10000u
#define KIND_VERB	0x20000u
#define KIND_MESSAGE	0x30000u

static uint64_t owner_of(const struct inject_completion *completion)
{
	return 1ull << 32 | completion->qp_index;
}

bool inject_fires_completion(const struct inject_rule *rule, uint32_t id,
			     const struct inject_completion *completion, uint32_t nth)
{
	return fault_fires_at(&rule->packet, id, owner_of(completion),
			      KIND_COMPLETION | completion->side, nth);
}

bool inject_selects_verb(const struct inject_rule *rule, enum inject_verb verb)
{
	return rule->action == INJECT_VERB && rule->verb_set[verb / 64] >> verb % 64 & 1;
}

bool inject_fires_verb(const struct inject_rule *rule, uint32_t id, enum inject_verb verb,
		       uint32_t nth)
{
	return fault_fires_at(&rule->packet, id, 0, KIND_VERB | verb, nth);
}

bool inject_selects_message(const struct inject_rule *rule, uint32_t attr, enum fault_dir dir)
{
	if (rule->action == INJECT_CM_REJECT)
		return attr == CM_REQ && dir == FAULT_IN;
	if (rule->action != INJECT_CM_DROP && rule->action != INJECT_CM_DUPLICATE &&
	    rule->action != INJECT_CM_DELAY)
		return false;
	return (rule->packet.any_dir || rule->packet.dir == dir) &&
	       (!rule->message_set || rule->message_set >> (attr - CM_REQ) & 1);
}

bool inject_fires_message(const struct inject_rule *rule, uint32_t id, uint32_t attr,
			  enum fault_dir dir, uint32_t nth)
{
	return fault_fires_at(&rule->packet, id, 0, KIND_MESSAGE | attr << 1 | dir, nth);
}

static bool selects_completion(const struct inject_rule *rule,
			       const struct inject_completion *completion)
{
	return rule->action == INJECT_COMPLETION &&
	       (rule->any_side || rule->side == completion->side) &&
	       fault_in_range(&rule->packet.qp, completion->qpn) &&
	       fault_in_range(&rule->packet.qp_index, completion->qp_index);
}

int inject_decide_completion(const struct inject_rules *rules, struct fault_counters *counters,
			     const struct inject_completion *completion, uint32_t *ret_nth)
{
	int result = -1;

	for (uint32_t i = 0; i < rules->n; i++) {
		const struct inject_rule *rule = &rules->rule[i];
		const uint64_t key = fault_mix(rules->id[i], owner_of(completion));
		uint32_t nth;

		if (!selects_completion(rule, completion))
			continue;
		nth = fault_count_event(counters,
					fault_mix(key, KIND_COMPLETION | completion->side));
		if (result >= 0 || !inject_fires_completion(rule, rules->id[i], completion, nth))
			continue;
		result = (int)i;
		*ret_nth = nth;
	}
	return result;
}

uint32_t inject_rules_add(struct inject_rules *rules, const struct inject_rule *rule)
{
	if (rules->n == FAULT_MAX_RULES)
		return 0;
	rules->rule[rules->n] = *rule;
	rules->id[rules->n] = ++rules->next_id;
	rules->n++;
	return rules->next_id;
}

void inject_packet_rules(struct fault_rules *ret, const struct inject_rules *rules)
{
	ret->n = 0;
	for (uint32_t i = 0; i < rules->n; i++) {
		if (rules->rule[i].action >= FAULT_ACTIONS)
			continue;
		ret->rule[ret->n] = rules->rule[i].packet;
		ret->id[ret->n++] = rules->id[i];
	}
	ret->next_id = rules->next_id;
}
