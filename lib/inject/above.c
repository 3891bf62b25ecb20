// SPDX-License-Identifier: MIT
/* Rules above the link, about completions, verbs, the device and messages of the connection
 * manager: their words, and decisions about what they apply to. */
#include <arpa/inet.h>
#include <assert.h>
#include <fnmatch.h>
#include <string.h>

#include "lib/inject/value.h"
#include "net/wire/cm_msg.h"

#define ERRNO_MAX 4095
#define PREFIX	  "IBV_WC_"

/* Kinds of events that fault_fires_at() distinguishes. */
#define KIND_COMPLETION 0x10000u
#define KIND_VERB	0x20000u
#define KIND_MESSAGE	0x30000u

static_assert(INJECT_VERBS <= 128, "inject_rule_verb.set");

/* As enum ibv_wc_status counts them. */
static const char *const statuses[] = {
	NULL, /* success */
	PREFIX "LOC_LEN_ERR",
	PREFIX "LOC_QP_OP_ERR",
	PREFIX "LOC_EEC_OP_ERR",
	PREFIX "LOC_PROT_ERR",
	PREFIX "WR_FLUSH_ERR",
	PREFIX "MW_BIND_ERR",
	PREFIX "BAD_RESP_ERR",
	PREFIX "LOC_ACCESS_ERR",
	PREFIX "REM_INV_REQ_ERR",
	PREFIX "REM_ACCESS_ERR",
	PREFIX "REM_OP_ERR",
	PREFIX "RETRY_EXC_ERR",
	PREFIX "RNR_RETRY_EXC_ERR",
	PREFIX "LOC_RDD_VIOL_ERR",
	PREFIX "REM_INV_RD_REQ_ERR",
	PREFIX "REM_ABORT_ERR",
	PREFIX "INV_EECN_ERR",
	PREFIX "INV_EEC_STATE_ERR",
	PREFIX "FATAL_ERR",
	PREFIX "RESP_TIMEOUT_ERR",
	PREFIX "GENERAL_ERR",
	PREFIX "TM_ERR",
	PREFIX "TM_RNDV_INCOMPLETE",
};
#define NUM_STATUSES (sizeof(statuses) / sizeof(statuses[0]))

static const char *const verb_names[] = {
#define X(name, kind) "ibv_" #name,
	INJECT_VERB_TABLE(X)
#undef X
#define X(name) "rdma_" #name,
		INJECT_RDMA_TABLE(X)
#undef X
};

const char *inject_status_str(uint32_t status)
{
	return status < NUM_STATUSES ? statuses[status] : NULL;
}

const char *inject_verb_str(enum inject_verb verb)
{
	return verb_names[verb];
}

enum inject_verb_kind inject_verb_kind(enum inject_verb verb)
{
	static const uint8_t kinds[] = {
#define X(name, kind) INJECT_VERB_##kind,
		INJECT_VERB_TABLE(X)
#undef X
#define X(name) INJECT_VERB_COMMAND,
			INJECT_RDMA_TABLE(X)
#undef X
	};

	return (enum inject_verb_kind)kinds[verb];
}

bool inject_word_side(struct inject_rule *rule, const char *value)
{
	rule->u.completion.any_side = strcmp(value, "any") == 0;
	rule->u.completion.side = strcmp(value, "recv") == 0 ? INJECT_RECV : INJECT_SEND;
	return rule->u.completion.any_side || rule->u.completion.side == INJECT_RECV ||
	       strcmp(value, "send") == 0;
}

bool inject_word_status(struct inject_rule *rule, const char *value)
{
	const size_t skip = strncmp(value, PREFIX, strlen(PREFIX)) == 0 ? 0 : strlen(PREFIX);

	for (uint32_t i = 1; i < NUM_STATUSES; i++) {
		if (strcmp(statuses[i] + skip, value) != 0)
			continue;
		rule->u.completion.status = i;
		return true;
	}
	return false;
}

/* One name, perhaps with *; ibv_ may be left out. */
static bool add_verb(struct inject_rule *rule, const char *pattern)
{
	const bool whole = strncmp(pattern, "ibv_", 4) == 0 || strncmp(pattern, "rdma_", 5) == 0;
	bool any = false;

	for (uint32_t verb = 0; verb < INJECT_VERBS; verb++) {
		const char *name = verb_names[verb];

		if (!whole && strncmp(name, "ibv_", 4) != 0)
			continue;
		if (fnmatch(pattern, whole ? name : name + 4, 0) != 0)
			continue;
		rule->u.verb.set[verb / 64] |= 1ull << verb % 64;
		any = true;
	}
	return any;
}

bool inject_word_name(struct inject_rule *rule, const char *value)
{
	return inject_parse_list(rule, value, add_verb, rule->u.verb.names) &&
	       (rule->u.verb.set[0] || rule->u.verb.set[1]);
}

static bool add_message(struct inject_rule *rule, const char *name)
{
	for (uint32_t attr = CM_REQ; attr <= CM_APR; attr++) {
		if (strcmp(cm_attr_str((enum cm_attr)attr), name) != 0)
			continue;
		rule->u.message.set |= 1u << (attr - CM_REQ);
		return true;
	}
	return false;
}

bool inject_word_message(struct inject_rule *rule, const char *value)
{
	return inject_parse_list(rule, value, add_message, rule->u.message.names) &&
	       rule->u.message.set;
}

bool inject_word_errno(struct inject_rule *rule, const char *value)
{
	uint32_t number;

	if (inject_parse_u32(value, 1, ERRNO_MAX, &number)) {
		rule->u.verb.error = (int)number;
		return true;
	}
	for (int i = 1; i <= ERRNO_MAX; i++) {
		const char *name = inject_errno_name(i);

		if (!name || strcmp(name, value) != 0)
			continue;
		rule->u.verb.error = i;
		return true;
	}
	return false;
}

bool inject_word_after(struct inject_rule *rule, const char *value)
{
	return inject_parse_duration(value, INJECT_MAX_AFTER_NS, &rule->u.device.after_ns);
}

bool inject_word_gid(struct inject_rule *rule, const char *value)
{
	rule->u.device.gid = (struct gid){ .raw = { [10] = 0xff, [11] = 0xff } };
	rule->u.device.has_gid = true;
	if (inet_pton(AF_INET, value, rule->u.device.gid.raw + 12) == 1 ||
	    inet_pton(AF_INET6, value, rule->u.device.gid.raw) == 1)
		return true;
	rule->u.device.gid = (struct gid){ 0 };
	return strcmp(value, "none") == 0;
}

bool inject_word_to(struct inject_rule *rule, const char *value)
{
	rule->u.device.moves = true;
	return inject_parse_u32(value, 0, INJECT_GIDS - 1, &rule->u.device.to);
}

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
	return rule->action == INJECT_VERB && rule->u.verb.set[verb / 64] >> verb % 64 & 1;
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
	if (!inject_is_of_messages(rule->action))
		return false;
	return (rule->packet.any_dir || rule->packet.dir == dir) &&
	       (!rule->u.message.set || rule->u.message.set >> (attr - CM_REQ) & 1);
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
	       (rule->u.completion.any_side || rule->u.completion.side == completion->side) &&
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
