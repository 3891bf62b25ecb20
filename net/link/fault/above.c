// SPDX-License-Identifier: MIT
/* Words of rules above the wire: completions by status and side, verbs by name and errno, what befalls a device. */
#include <arpa/inet.h>
#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "net/link/fault/value.h"

#define ERRNO_MAX 4095
#define PREFIX	  "IBV_WC_"

static_assert(FAULT_VERBS <= 128, "fault_rule.verb_set");

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
	FAULT_VERB_TABLE(X)
#undef X
};

const char *fault_status_str(uint32_t status)
{
	return status < NUM_STATUSES ? statuses[status] : NULL;
}

const char *fault_verb_str(enum fault_verb verb)
{
	return verb_names[verb];
}

enum fault_verb_kind fault_verb_kind(enum fault_verb verb)
{
	static const uint8_t kinds[] = {
#define X(name, kind) FAULT_VERB_##kind,
		FAULT_VERB_TABLE(X)
#undef X
	};

	return (enum fault_verb_kind)kinds[verb];
}

bool fault_word_side(struct fault_rule *rule, const char *value)
{
	rule->any_side = strcmp(value, "any") == 0;
	rule->side = strcmp(value, "recv") == 0 ? FAULT_RECV : FAULT_SEND;
	return rule->any_side || rule->side == FAULT_RECV || strcmp(value, "send") == 0;
}

bool fault_word_status(struct fault_rule *rule, const char *value)
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

/* One name, with or without ibv_, perhaps with *. */
static bool add_verb(struct fault_rule *rule, const char *pattern)
{
	const size_t skip = strncmp(pattern, "ibv_", 4) == 0 ? 0 : 4;
	bool any = false;

	for (uint32_t verb = 0; verb < FAULT_VERBS; verb++) {
		if (fnmatch(pattern, verb_names[verb] + skip, 0) != 0)
			continue;
		rule->verb_set[verb / 64] |= 1ull << verb % 64;
		any = true;
	}
	return any;
}

bool fault_word_name(struct fault_rule *rule, const char *value)
{
	char list[FAULT_PATTERN_MAX], *save = NULL;

	if (strlen(value) >= sizeof(list) || !*value)
		return false;
	(void)snprintf(list, sizeof(list), "%s", value);
	for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save))
		if (!add_verb(rule, p))
			return false;
	(void)snprintf(rule->verbs, sizeof(rule->verbs), "%s", value);
	return rule->verb_set[0] || rule->verb_set[1];
}

bool fault_word_errno(struct fault_rule *rule, const char *value)
{
	uint32_t number;

	if (fault_parse_u32(value, 1, ERRNO_MAX, &number)) {
		rule->error = (int)number;
		return true;
	}
	for (int i = 1; i <= ERRNO_MAX; i++) {
		const char *name = fault_errno_name(i);

		if (!name || strcmp(name, value) != 0)
			continue;
		rule->error = i;
		return true;
	}
	return false;
}

bool fault_word_after(struct fault_rule *rule, const char *value)
{
	return fault_parse_duration(value, FAULT_MAX_AFTER_NS, &rule->after_ns);
}

bool fault_word_index(struct fault_rule *rule, const char *value)
{
	return fault_parse_u32(value, 0, FAULT_GIDS - 1, &rule->gid_index);
}

bool fault_word_gid(struct fault_rule *rule, const char *value)
{
	rule->gid = (struct gid){ .raw = { [10] = 0xff, [11] = 0xff } };
	rule->gid_has = true;
	if (inet_pton(AF_INET, value, rule->gid.raw + 12) == 1 ||
	    inet_pton(AF_INET6, value, rule->gid.raw) == 1)
		return true;
	rule->gid = (struct gid){ 0 };
	return strcmp(value, "none") == 0;
}

bool fault_word_to(struct fault_rule *rule, const char *value)
{
	rule->gid_moves = true;
	return fault_parse_u32(value, 0, FAULT_GIDS - 1, &rule->gid_to);
}
