/* SPDX-License-Identifier: MIT */
/* Fuzz target: fault rules as people write them, and packets that they act on. An accepted rule
 * prints as text with the same meaning; a packet that passes the shaper is not longer than packets
 * may be, and no packet circulates forever. */
#include "lib/inject/rule.h"
#include "net/link/fault/shaper.h"
#include "net/wire/packet.h"
#include "tests/fuzz/target.h"

#define MAX_COMING 4096u /* most packets from one call and its consequences */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* A rule is of one kind: packets, completions, verbs or the device. */
static void above(const struct inject_rule *rule)
{
	bool verb = false;

	for (uint32_t i = 0; i < INJECT_VERBS; i++)
		verb |= inject_selects_verb(rule, (enum inject_verb)i);
	MUST(verb == (rule->action == INJECT_VERB));
	MUST(rule->action >= FAULT_ACTIONS || rule->packet.action == rule->action);
}

/* Equal questions have equal answers, and counts are kept for each side. */
static void complete(const struct inject_rule *rule)
{
	struct inject_rules *rules = calloc(1, sizeof(*rules));
	struct fault_counters *counters = fault_counters_new();
	uint32_t of_side[2] = { 0 }, nth = 0, id;

	MUST(rules && counters);
	id = inject_rules_add(rules, rule);
	MUST(id);
	for (uint32_t i = 0; i < 12; i++) {
		const struct inject_completion completion = {
			.qpn = 0x10002, .qp_index = 1, .side = i % 3 ? INJECT_SEND : INJECT_RECV
		};
		const int place = inject_decide_completion(rules, counters, &completion, &nth);

		of_side[completion.side]++;
		MUST(place == -1 || place == 0);
		if (place == 0)
			MUST(rule->action == INJECT_COMPLETION && nth == of_side[completion.side]);
		if (place == 0)
			MUST(inject_fires_completion(rule, id, &completion, nth));
	}
	for (uint32_t n = 1; n < 8; n++)
		MUST(inject_fires_verb(rule, id, (enum inject_verb)n, n) ==
		     inject_fires_verb(rule, id, (enum inject_verb)n, n));
	fault_counters_free(counters);
	free(rules);
}

static void same_above(const struct inject_rule *a, const struct inject_rule *b)
{
	if (a->action == INJECT_COMPLETION)
		MUST(a->u.completion.status == b->u.completion.status &&
		     a->u.completion.any_side == b->u.completion.any_side);
	else if (a->action == INJECT_VERB)
		MUST(a->u.verb.error == b->u.verb.error &&
		     memcmp(a->u.verb.set, b->u.verb.set, sizeof(a->u.verb.set)) == 0);
	else if (inject_is_of_device(a->action))
		MUST(a->u.device.after_ns == b->u.device.after_ns &&
		     a->u.device.index == b->u.device.index &&
		     a->u.device.moves == b->u.device.moves && a->u.device.to == b->u.device.to &&
		     gid_equal(&a->u.device.gid, &b->u.device.gid));
	else if (inject_is_of_messages(a->action))
		MUST(a->u.message.set == b->u.message.set);
	else if (a->action == INJECT_CM_REJECT)
		MUST(a->u.reason == b->u.reason);
}

static void one_rule(const char *text)
{
	char error[INJECT_TEXT_MAX], first[4 * INJECT_TEXT_MAX], second[4 * INJECT_TEXT_MAX];
	struct inject_rule rule, again;
	int len;

	if (!inject_rule_parse(&rule, text, error)) {
		MUST(memchr(error, '\0', sizeof(error)) && error[0]);
		return;
	}
	len = inject_rule_format(first, sizeof(first), &rule);
	MUST(len > 0 && len < INJECT_TEXT_MAX);
	MUST(inject_rule_parse(&again, first, error));
	MUST(inject_rule_format(second, sizeof(second), &again) == len);
	MUST(strcmp(first, second) == 0);
	MUST(memcmp(rule.packet.opcode_set, again.packet.opcode_set,
		    sizeof(rule.packet.opcode_set)) == 0);
	MUST(rule.packet.delay_ns == again.packet.delay_ns &&
	     rule.packet.probability == again.packet.probability);
	MUST(rule.action == again.action);
	same_above(&rule, &again);
	above(&rule);
	if (rule.action == INJECT_COMPLETION || rule.action == INJECT_VERB)
		complete(&rule);
}

static bool find_qp(void *arg, enum fault_dir dir, const struct gid *peer, uint32_t dest_qpn,
		    struct fault_qp *ret)
{
	(void)arg;
	(void)dir;
	(void)peer;
	if (dest_qpn & 1)
		return false;
	*ret = (struct fault_qp){ .qpn = 0x10002,
				  .peer_qpn = 0x20002,
				  .can_answer = dest_qpn & 2,
				  .answer_psn = 100,
				  .msn = 7 };
	return true;
}

/* Whether a rule leaves no byte of a packet. */
static bool may_be_empty(const struct fault_rules *rules)
{
	for (uint32_t i = 0; i < rules->n; i++) {
		if (rules->rule[i].action == FAULT_TRUNCATE && rules->rule[i].keep == 0)
			return true;
	}
	return false;
}

static uint32_t look_at_trains(struct fault_shaper *shaper, const struct wire_train *train,
			       size_t n)
{
	uint8_t seen = 0;

	for (size_t i = 0; i < n; i++) {
		MUST(train[i].len <= TRAIN_MAX_BYTES && train[i].segs > 0);
		if (train[i].len == 0) {
			MUST(train[i].segs == 1 && train[i].seg_len == 0);
			MUST(may_be_empty(fault_shaper_rules(shaper)));
			continue;
		}
		MUST(train[i].seg_len > 0);
		MUST((train[i].len - 1) / train[i].seg_len + 1 == train[i].segs);
		for (uint32_t k = 0; k < train[i].len; k++)
			seen ^= train[i].buf[k];
	}
	return (uint32_t)n + (seen & 0);
}

static uint32_t look_at_arrivals(const struct wire_arrival *arrival, size_t n)
{
	uint8_t seen = 0;

	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < arrival[i].len; k++)
			seen ^= arrival[i].p[k];
	}
	return (uint32_t)n + (seen & 0);
}

/* Releases all packets that wait. */
static void drain(struct fault_shaper *shaper, uint64_t *now_ns, uint32_t coming)
{
	const struct wire_arrival *arrivals;
	const struct wire_train *trains;
	size_t n;

	while (fault_shaper_deadline(shaper) != UINT64_MAX) {
		uint32_t before = coming;

		if (fault_shaper_deadline(shaper) > *now_ns)
			*now_ns = fault_shaper_deadline(shaper);
		n = fault_shaper_due_out(shaper, *now_ns, &trains);
		coming += look_at_trains(shaper, trains, n);
		n = fault_shaper_due_in(shaper, *now_ns, &arrivals);
		coming += look_at_arrivals(arrivals, n);
		MUST(coming > before && coming < MAX_COMING);
	}
}

/* A train, or an arrival: N packets of one size, with bytes from the input. */
static void one_packet(struct fault_shaper *shaper, struct take *take, uint64_t *now_ns)
{
	const uint8_t kind = take_u8(take);
	const uint16_t seg_len = take_u16(take) % 4300;
	const uint32_t segs = kind >> 4, len = (segs + 1) * seg_len;
	uint8_t *p = malloc(TRAIN_MAX_BYTES), *exact = NULL;
	struct wire_train train = { .buf = p, .seg_len = seg_len, .max_segs = TRAIN_MAX_SEGS };
	struct wire_arrival arrival = { .p = p, .len = seg_len, .src_port = 49152 };
	const struct wire_arrival *arrivals;
	const struct wire_train *trains;
	size_t n;

	MUST(p);
	memset(p, 0x5a, TRAIN_MAX_BYTES);
	for (uint32_t at = 0; at < BTH_LEN + 4; at++)
		p[at] = take_u8(take);
	for (uint32_t at = seg_len; at + BTH_LEN < len && seg_len > BTH_LEN; at += seg_len)
		memcpy(p + at, p, BTH_LEN);
	train.src = arrival.dst = (struct gid){ { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
	train.dst = arrival.src = (struct gid){ { [10] = 0xff, 0xff, 10, 0, 0, 2 } };
	train.len = len < TRAIN_MAX_BYTES ? len : seg_len;
	if (kind & 1) {
		arrival.p = exact = exact_block(p, seg_len);
		n = fault_shaper_in(shaper, &arrival, *now_ns, &arrivals);
		(void)look_at_arrivals(arrivals, n);
	} else if (train.len > 0) {
		train.segs = (uint16_t)((train.len - 1) / seg_len + 1);
		n = fault_shaper_out(shaper, &train, *now_ns, &trains);
		(void)look_at_trains(shaper, trains, n);
	}
	*now_ns += kind & 2 ? 1000 : 0;
	free(exact);
	free(p);
}

static void shape(const char *text, struct take take)
{
	const struct fault_shaper_cfg cfg = { .tx_ports = { 49152 }, .find_qp = find_qp };
	struct fault_shaper *shaper = fault_shaper_new(&cfg);
	char error[INJECT_TEXT_MAX];
	struct inject_rules *rules = calloc(1, sizeof(*rules));
	uint64_t now_ns = 1000;

	MUST(shaper && rules);
	if (inject_rules_add_text(rules, text, error)) {
		inject_packet_rules(fault_shaper_rules(shaper), rules);
		for (uint32_t i = 0; i < 40 && take.left > 0; i++)
			one_packet(shaper, &take, &now_ns);
		drain(shaper, &now_ns, 0);
	} else {
		MUST(memchr(error, '\0', sizeof(error)) && error[0]);
	}
	fault_shaper_free(shaper);
	free(rules);
}

/* Text up to the first NUL, then packets. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
	size_t len = end ? (size_t)(end - data) : size;
	char *text = exact_string(data, len);

	one_rule(text);
	shape(text, (struct take){ data + len, size - len });
	free(text);
	return 0;
}
