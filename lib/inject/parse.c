// SPDX-License-Identifier: MIT
/* Fault rules as people write them: an action, then key=value words in any order.
 *
 *   drop opcode=ACKNOWLEDGE nth=3 qp=0x11     the third ACK of that QP, in either direction
 *   duplicate dir=out probability=1% seed=7   a packet in a hundred, the same ones every time
 *   delay time=5ms opcode=RC_WRITE_* psn=100..110
 *   rnr_nak dir=in opcode=SEND_* nth=1..5     a responder that is not ready five times
 *   verb name=ibv_reg_mr errno=ENOMEM nth=2   the second registration fails
 */
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inject/rule.h"
#include "lib/inject/value.h"
#include "net/wire/cm_msg.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

#define MAX_DELAY_NS   60000000000ull
#define DEFAULT_WITHIN 1000000ull

#define BIT(action) (1u << (action))
#define PACKETS	    (BIT(FAULT_ACTIONS) - 1)
#define CM_MESSAGES (BIT(INJECT_CM_DROP) | BIT(INJECT_CM_DUPLICATE) | BIT(INJECT_CM_DELAY))
#define COUNTED                                                                                    \
	(PACKETS | BIT(INJECT_COMPLETION) | BIT(INJECT_VERB) | CM_MESSAGES | BIT(INJECT_CM_REJECT))
#define DEVICE (BIT(INJECT_PORT_DOWN) | BIT(INJECT_GID_CHANGE) | BIT(INJECT_DEVICE_FATAL))

/* The number of a name among n that str gives, or -1. */
static int number_of(const char *(*str)(uint32_t), uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(str(i), name) == 0)
			return (int)i;
	return -1;
}

static const char *part_str(uint32_t part)
{
	return inject_part_str((enum fault_part)part);
}

static void set_opcode(struct inject_rule *rule, uint32_t opcode)
{
	rule->packet.opcode_set[opcode / 64] |= 1ull << opcode % 64;
}

/* One name, with or without its service, perhaps with *, or a number. */
static bool add_opcode(struct inject_rule *rule, const char *pattern)
{
	uint32_t number;
	bool any = false;

	if (inject_parse_u32(pattern, 0, 255, &number)) {
		set_opcode(rule, number);
		return true;
	}
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		const char *op = wire_op_str((uint8_t)opcode);
		char full[INJECT_WORD_MAX];

		if (!wire_shape((uint8_t)opcode))
			continue;
		(void)snprintf(full, sizeof(full), "%s_%s", wire_service_str((uint8_t)opcode), op);
		if (fnmatch(pattern, op, 0) != 0 && fnmatch(pattern, full, 0) != 0)
			continue;
		set_opcode(rule, opcode);
		any = true;
	}
	return any;
}

static bool word_opcode(struct inject_rule *rule, const char *value)
{
	return inject_parse_list(rule, value, add_opcode, rule->packet.opcodes);
}

/* Words. */

static bool word_dir(struct inject_rule *rule, const char *value)
{
	rule->packet.any_dir = strcmp(value, "any") == 0;
	rule->packet.dir = strcmp(value, "in") == 0 ? FAULT_IN : FAULT_OUT;
	return rule->packet.any_dir || rule->packet.dir == FAULT_IN || strcmp(value, "out") == 0;
}

static bool word_qp(struct inject_rule *rule, const char *value)
{
	if (*value == '#')
		return inject_parse_rising(value + 1, 0, FAULT_NO_INDEX - 1,
					   &rule->packet.qp_index);
	return inject_parse_rising(value, 0, QPN_MASK, &rule->packet.qp);
}

static bool word_probability(struct inject_rule *rule, const char *value)
{
	char *end;
	double p;

	if (*value < '0' || *value > '9')
		return false;
	p = strtod(value, &end);
	if (strcmp(end, "%") == 0)
		p /= 100;
	else if (*end)
		return false;
	if (!(p >= 0 && p <= 1))
		return false;
	rule->packet.certain = p >= 1;
	if (rule->packet.certain)
		return true;
	p = p * INJECT_PROBABILITY_ONE + 0.5;
	rule->packet.probability = p >= UINT32_MAX ? UINT32_MAX : (uint32_t)p;
	return true;
}

static bool word_seed(struct inject_rule *rule, const char *value)
{
	return inject_parse_number(value, UINT64_MAX, &rule->packet.seed);
}

static bool word_time(struct inject_rule *rule, const char *value)
{
	return inject_parse_duration(
		value, rule->action < FAULT_ACTIONS ? MAX_DELAY_NS : INJECT_MAX_AFTER_NS,
		&rule->packet.delay_ns);
}

static bool word_part(struct inject_rule *rule, const char *value)
{
	const int part = number_of(part_str, INJECT_PARTS, value);

	if (part >= 0)
		rule->packet.part = (enum fault_part)part;
	return part >= 0;
}

static bool word_icrc(struct inject_rule *rule, const char *value)
{
	rule->packet.good_icrc = strcmp(value, "good") == 0;
	return rule->packet.good_icrc || strcmp(value, "bad") == 0;
}

static bool word_timer(struct inject_rule *rule, const char *value)
{
	uint32_t timer;

	if (!inject_parse_u32(value, 0, AETH_CODE_MASK, &timer))
		return false;
	rule->packet.syndrome = (uint8_t)(AETH_RNR_NAK | timer);
	return true;
}

static bool word_code(struct inject_rule *rule, const char *value)
{
	const int code = number_of(inject_nak_str, INJECT_NAKS, value);
	uint32_t number = (uint32_t)code;

	if (code < 0 && !inject_parse_u32(value, 0, AETH_CODE_MASK, &number))
		return false;
	rule->packet.syndrome = (uint8_t)(AETH_NAK | number);
	return true;
}

/* clang-format off */
#define OWN(parser)                 .parse = parser
#define NUMBER(member, least, most) .form = WORD_NUMBER, MEMBER(member, least, most)
#define RANGE(member, most)         .form = WORD_RANGE, MEMBER(member, 0, most)
#define RISING(member, least, most) .form = WORD_RISING, MEMBER(member, least, most)
#define MEMBER(member, least, most) .at = offsetof(struct inject_rule, member), .min = least, .max = most
static const struct word {
	const char *key;
	uint32_t actions; /* that it goes with */
	const char *right;
	enum { WORD_PARSED, WORD_NUMBER, WORD_RANGE, WORD_RISING } form;
	bool (*parse)(struct inject_rule *rule, const char *value); /* WORD_PARSED */
	size_t at;         /* the other forms: member of the rule, a number or a fault_range */
	uint32_t min, max; /* its bounds */
} words[] = {
	{ "dir",          PACKETS | CM_MESSAGES, "in, out or any", OWN(word_dir) },
	{ "opcode",       PACKETS, "ACKNOWLEDGE, RC_SEND_ONLY, WRITE_*, a number, or several with commas; 'rxe_dm fault --help' lists them", OWN(word_opcode) },
	{ "qp",           PACKETS | BIT(INJECT_COMPLETION), "a QP number, #N for the Nth created (from 0), or a range A..B", OWN(word_qp) },
	{ "peer_qp",      PACKETS, "a QP number, or a range A..B", RISING(packet.peer_qp, 0, QPN_MASK) },
	{ "psn",          PACKETS, "a number below 2^24, or a range A..B", RANGE(packet.psn, PSN_MASK) },
	{ "attempt",      PACKETS, "0 for the first time a packet is sent, 1 for its repetition, or A..B", RISING(packet.attempt, 0, UINT32_MAX) },
	{ "nth",          COUNTED, "a count from 1, or a range A..B", RISING(packet.nth, 1, UINT32_MAX) },
	{ "every",        COUNTED, "a count from 1", NUMBER(packet.every, 1, UINT32_MAX) },
	{ "seen",         PACKETS, "a count from 1, or a range A..B", RISING(packet.seen, 1, UINT32_MAX) },
	{ "probability",  COUNTED, "0.01 or 1%, from 0 to 1", OWN(word_probability) },
	{ "seed",         COUNTED, "a number", OWN(word_seed) },
	{ "copies",       BIT(FAULT_DUPLICATE), "1 to 3", NUMBER(packet.copies, 1, FAULT_MAX_COPIES) },
	{ "time",         BIT(FAULT_DELAY) | BIT(INJECT_CM_DELAY) | BIT(INJECT_PORT_DOWN) | BIT(INJECT_GID_CHANGE), "5ms, 20us or 1s, up to 60s (cm_delay, port_down and gid_change: 3600s)", OWN(word_time) },
	{ "behind",       BIT(FAULT_REORDER), "1 to 1000", NUMBER(packet.behind, 1, 1000) },
	{ "within",       BIT(FAULT_REORDER), "5ms, 20us or 1s, up to 60s", OWN(word_time) },
	{ "part",         BIT(FAULT_CORRUPT), "payload, header or icrc", OWN(word_part) },
	{ "icrc",         BIT(FAULT_CORRUPT), "bad, or good: it matches the corrupt packet", OWN(word_icrc) },
	{ "keep",         BIT(FAULT_TRUNCATE), "0 to 4200 bytes", NUMBER(packet.keep, 0, 4200) },
	{ "timer",        BIT(FAULT_RNR_NAK), "an RNR timer code, 0 to 31", OWN(word_timer) },
	{ "code",         BIT(FAULT_NAK), "psn_sequence, invalid_request, remote_access, remote_operation, or 0 to 31", OWN(word_code) },
	{ "status",       BIT(INJECT_COMPLETION), "IBV_WC_REM_ACCESS_ERR or any other error of enum ibv_wc_status, with or without IBV_WC_", OWN(inject_word_status) },
	{ "side",         BIT(INJECT_COMPLETION), "send, recv or any", OWN(inject_word_side) },
	{ "name",         BIT(INJECT_VERB), "ibv_reg_mr, ibv_create_*, rdma_connect, or several with commas; 'rxe_dm fault --help' lists them", OWN(inject_word_name) },
	{ "errno",        BIT(INJECT_VERB), "ENOMEM or another name of errno(3), or its number", OWN(inject_word_errno) },
	{ "after",        DEVICE, "5ms, 20us or 1s, up to 3600s", OWN(inject_word_after) },
	{ "index",        BIT(INJECT_GID_CHANGE), "an index of the GID table, 0 to 15", NUMBER(u.device.index, 0, INJECT_GIDS - 1) },
	{ "gid",          BIT(INJECT_GID_CHANGE), "an IPv4 or IPv6 address, or none", OWN(inject_word_gid) },
	{ "message",      CM_MESSAGES, "REQ, REP, RTU, REJ, MRA, DREQ, DREP, SIDR_REQ, SIDR_REP, or several with commas", OWN(inject_word_message) },
	{ "reason",       BIT(INJECT_CM_REJECT), "a reason of a REJ, 1 to 65535", NUMBER(u.reason, 1, 65535) },
	{ "to",           BIT(INJECT_GID_CHANGE), "another index of the GID table, 0 to 15", OWN(inject_word_to) },
};
/* clang-format on */
#define NUM_WORDS (sizeof(words) / sizeof(words[0]))

bool inject_word_help(struct inject_word_help *ret, uint32_t i)
{
	if (i >= NUM_WORDS)
		return false;
	*ret = (struct inject_word_help){ .key = words[i].key,
					  .expects = words[i].right,
					  .actions = words[i].actions,
					  .selects = (words[i].actions & PACKETS) == PACKETS };
	return true;
}

static bool fail_unknown(const char *word, uint32_t action, char *ret_error)
{
	int at;

	if (number_of(inject_action_str, INJECT_ACTIONS, word) >= 0) {
		(void)snprintf(ret_error, INJECT_TEXT_MAX,
			       "%s and %s: a rule has one action; add two rules",
			       inject_action_str(action), word);
		return false;
	}
	at = snprintf(ret_error, INJECT_TEXT_MAX, "unknown word '%.40s'; %s knows", word,
		      inject_action_str(action));
	for (size_t i = 0; i < NUM_WORDS && at < INJECT_TEXT_MAX; i++)
		if (words[i].actions & BIT(action))
			at += snprintf(ret_error + at, (size_t)(INJECT_TEXT_MAX - at),
				       " %s=", words[i].key);
	return false;
}

static bool fail_action(const char *name, char *ret_error)
{
	int at;

	if (strchr(name, '=')) {
		(void)snprintf(ret_error, INJECT_TEXT_MAX,
			       "a rule begins with its action: drop %.60s, for example", name);
		return false;
	}
	at = snprintf(ret_error, INJECT_TEXT_MAX, "unknown action '%.40s'; known are", name);
	for (uint32_t i = 0; i < INJECT_ACTIONS; i++)
		at += snprintf(ret_error + at, (size_t)(INJECT_TEXT_MAX - at), " %s",
			       inject_action_str(i));
	return false;
}

static bool parse_value(struct inject_rule *rule, const struct word *word, const char *value)
{
	void *at = (char *)rule + word->at;

	switch (word->form) {
	case WORD_PARSED: return word->parse(rule, value);
	case WORD_NUMBER: return inject_parse_u32(value, word->min, word->max, at);
	case WORD_RANGE: return inject_parse_range(value, word->min, word->max, at);
	case WORD_RISING: return inject_parse_rising(value, word->min, word->max, at);
	}
	return false;
}

static bool parse_word(struct inject_rule *rule, const char *text, uint32_t *given, char *ret_error)
{
	const char *equals = strchr(text, '=');
	const size_t len = equals ? (size_t)(equals - text) : 0;
	size_t i = 0;

	while (i < NUM_WORDS && (strlen(words[i].key) != len || memcmp(words[i].key, text, len)))
		i++;
	if (!len || i == NUM_WORDS)
		return fail_unknown(text, rule->action, ret_error);
	if (*given >> i & 1) {
		(void)snprintf(ret_error, INJECT_TEXT_MAX, "%s= is there twice", words[i].key);
		return false;
	}
	*given |= 1u << i;
	if (!(words[i].actions & BIT(rule->action))) {
		(void)snprintf(ret_error, INJECT_TEXT_MAX, "%s= does not go with %s", words[i].key,
			       inject_action_str(rule->action));
		return false;
	}
	if (!parse_value(rule, &words[i], equals + 1)) {
		(void)snprintf(ret_error, INJECT_TEXT_MAX, "%.60s: expected %s", text,
			       words[i].right);
		return false;
	}
	return true;
}

static void set_defaults(struct inject_rule *rule, uint32_t action)
{
	*rule = (struct inject_rule){ .action = action,
				      .packet = { .any_dir = true, .certain = true } };
	if (action == INJECT_COMPLETION)
		rule->u.completion.any_side = true;
	if (action == INJECT_CM_REJECT)
		rule->u.reason = CM_REJ_CONSUMER_DEFINED;
	if (action >= FAULT_ACTIONS)
		return;
	rule->packet.action = (enum fault_action)action;
	switch (rule->packet.action) {
	case FAULT_DUPLICATE: rule->packet.copies = 1; return;
	case FAULT_REORDER:
		rule->packet.behind = 1;
		rule->packet.delay_ns = DEFAULT_WITHIN;
		return;
	case FAULT_TRUNCATE: rule->packet.keep = BTH_LEN; return;
	case FAULT_RNR_NAK: rule->packet.syndrome = AETH_RNR_NAK | 1; return;
	case FAULT_DROP:
	case FAULT_DELAY:
	case FAULT_CORRUPT:
	case FAULT_NAK: return;
	}
}

static const char *wrong_with_gid(const struct inject_rule_device *device)
{
	if (device->has_gid && device->moves)
		return "gid= and to= contradict each other: the entry changes, or it moves";
	if (device->moves && device->to == device->index)
		return "to= and index= are the same: nothing would change";
	return NULL;
}

static bool check_whole(const struct inject_rule *rule, char *ret_error)
{
	const char *missing = NULL;

	if (rule->action == FAULT_DELAY && rule->packet.delay_ns == 0)
		missing = "delay needs time=, as in time=5ms";
	else if (rule->action == INJECT_CM_DELAY && rule->packet.delay_ns == 0)
		missing = "cm_delay needs time=, as in time=5ms";
	else if (rule->action == FAULT_NAK && rule->packet.syndrome == 0)
		missing = "nak needs code=, as in code=remote_access";
	else if (rule->action == FAULT_CORRUPT && rule->packet.part == FAULT_ICRC &&
		 rule->packet.good_icrc)
		missing = "part=icrc and icrc=good contradict each other";
	else if (rule->action == INJECT_COMPLETION && rule->u.completion.status == 0)
		missing = "completion needs status=, as in status=IBV_WC_RETRY_EXC_ERR";
	else if (rule->action == INJECT_VERB && !rule->u.verb.names[0])
		missing = "verb needs name=, as in name=ibv_reg_mr";
	else if (rule->action == INJECT_VERB && rule->u.verb.error == 0)
		missing = "verb needs errno=, as in errno=ENOMEM";
	else if (rule->action == INJECT_GID_CHANGE)
		missing = wrong_with_gid(&rule->u.device);
	if (missing)
		(void)snprintf(ret_error, INJECT_TEXT_MAX, "%s", missing);
	return !missing;
}

/* Parses a rule of len bytes. */
static bool parse_rule(struct inject_rule *ret, const char *text, size_t len, char *ret_error)
{
	static const char spaces[] = " \t\r\n";
	char copy[INJECT_TEXT_MAX], *save = NULL, *word;
	struct inject_rule rule;
	uint32_t given = 0;
	int action;

	if (len >= sizeof(copy)) {
		(void)snprintf(ret_error, INJECT_TEXT_MAX, "a rule has at most %d characters",
			       INJECT_TEXT_MAX - 1);
		return false;
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	word = strtok_r(copy, spaces, &save);
	action = word ? number_of(inject_action_str, INJECT_ACTIONS, word) : -1;
	if (action < 0)
		return fail_action(word ? word : "", ret_error);
	set_defaults(&rule, (uint32_t)action);
	while ((word = strtok_r(NULL, spaces, &save)))
		if (!parse_word(&rule, word, &given, ret_error))
			return false;
	if (!check_whole(&rule, ret_error))
		return false;
	*ret = rule;
	return true;
}

bool inject_rule_parse(struct inject_rule *ret, const char *text, char ret_error[INJECT_TEXT_MAX])
{
	return parse_rule(ret, text, strlen(text), ret_error);
}

/* One line, len bytes long. Empty ones and comments are good. */
static bool add_line(struct inject_rules *rules, const char *line, size_t len, char *ret_error)
{
	const size_t blank = strspn(line, " \t\r");
	struct inject_rule rule;

	if (blank >= len || line[blank] == '#')
		return true;
	if (!parse_rule(&rule, line, len, ret_error))
		return false;
	if (inject_rules_add(rules, &rule))
		return true;
	(void)snprintf(ret_error, INJECT_TEXT_MAX, "there are %d rules already", FAULT_MAX_RULES);
	return false;
}

bool inject_rules_add_text(struct inject_rules *rules, const char *text,
			   char ret_error[INJECT_TEXT_MAX])
{
	struct inject_rules all = *rules;
	uint32_t number = 1;

	for (const char *line = text; *line; number++) {
		const size_t len = strcspn(line, "\n");
		char why[INJECT_TEXT_MAX];

		if (!add_line(&all, line, len, why)) {
			(void)snprintf(ret_error, INJECT_TEXT_MAX, "line %u: %.230s", number, why);
			return false;
		}
		line += len + (line[len] == '\n');
	}
	*rules = all;
	return true;
}
