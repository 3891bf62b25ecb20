// SPDX-License-Identifier: MIT
/* Words of rules about completions, verbs and the device. */
#include <arpa/inet.h>
#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "lib/inject/value.h"
#include "net/wire/cm.h"

#define ERRNO_MAX 4095
#define PREFIX	  "IBV_WC_"

static_assert(INJECT_VERBS <= 128, "fault_rule.verb_set");

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
	rule->any_side = strcmp(value, "any") == 0;
	rule->side = strcmp(value, "recv") == 0 ? INJECT_RECV : INJECT_SEND;
	return rule->any_side || rule->side == INJECT_RECV || strcmp(value, "send") == 0;
}

bool inject_word_status(struct inject_rule *rule, const char *value)
{
	const size_t skip = strncmp(value, PREFIX, strlen(PREFIX)) == 0 ? 0 : strlen(PREFIX);

	for (uint32_t i = 1; i < NUM_STATUSES; i++) {
		if (strcmp(statuses[i] + skip, value) != 0)
			continue;
		rule->status = i;
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
		rule->verb_set[verb / 64] |= 1ull << verb % 64;
		any = true;
	}
	return any;
}

bool inject_word_name(struct inject_rule *rule, const char *value)
{
	return inject_parse_list(rule, value, add_verb, rule->verbs) &&
	       (rule->verb_set[0] || rule->verb_set[1]);
}

static bool add_message(struct inject_rule *rule, const char *name)
{
	for (uint32_t attr = CM_REQ; attr <= CM_APR; attr++) {
		if (strcmp(cm_attr_str((enum cm_attr)attr), name) != 0)
			continue;
		rule->message_set |= 1u << (attr - CM_REQ);
		return true;
	}
	return false;
}

bool inject_word_message(struct inject_rule *rule, const char *value)
{
	char list[FAULT_PATTERN_MAX], *save = NULL;

	if (strlen(value) >= sizeof(list) || !*value)
		return false;
	(void)snprintf(list, sizeof(list), "%s", value);
	for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save))
		if (!add_message(rule, p))
			return false;
	(void)snprintf(rule->messages, sizeof(rule->messages), "%s", value);
	return rule->message_set != 0;
}

bool inject_word_errno(struct inject_rule *rule, const char *value)
{
	uint32_t number;

	if (inject_parse_u32(value, 1, ERRNO_MAX, &number)) {
		rule->error = (int)number;
		return true;
	}
	for (int i = 1; i <= ERRNO_MAX; i++) {
		const char *name = inject_errno_name(i);

		if (!name || strcmp(name, value) != 0)
			continue;
		rule->error = i;
		return true;
	}
	return false;
}

bool inject_word_after(struct inject_rule *rule, const char *value)
{
	return inject_parse_duration(value, INJECT_MAX_AFTER_NS, &rule->after_ns);
}

bool inject_word_gid(struct inject_rule *rule, const char *value)
{
	rule->gid = (struct gid){ .raw = { [10] = 0xff, [11] = 0xff } };
	rule->gid_has = true;
	if (inet_pton(AF_INET, value, rule->gid.raw + 12) == 1 ||
	    inet_pton(AF_INET6, value, rule->gid.raw) == 1)
		return true;
	rule->gid = (struct gid){ 0 };
	return strcmp(value, "none") == 0;
}

bool inject_word_to(struct inject_rule *rule, const char *value)
{
	rule->gid_moves = true;
	return inject_parse_u32(value, 0, INJECT_GIDS - 1, &rule->gid_to);
}
