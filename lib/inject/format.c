// SPDX-License-Identifier: MIT
/* Fault rules as text again: what is printed parses to the same rule. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inject/rule.h"
#include "lib/inject/value.h"
#include "net/wire/packet.h"

struct printer {
	char *buf;
	size_t size;
	int at;
};

/* By number: enum fault_action, then enum inject_action. */
static const struct {
	const char *name, *help;
} actions[INJECT_ACTIONS] = {
	[FAULT_DROP] = { "drop", "the packet is lost" },
	[FAULT_DUPLICATE] = { "duplicate", "the packet comes more than once" },
	[FAULT_DELAY] = { "delay", "the packet waits" },
	[FAULT_REORDER] = { "reorder", "later packets of its queue pair go first" },
	[FAULT_CORRUPT] = { "corrupt", "one bit of the packet is flipped" },
	[FAULT_TRUNCATE] = { "truncate", "the packet's end is missing" },
	[FAULT_RNR_NAK] = { "rnr_nak", "a request is answered: not ready" },
	[FAULT_NAK] = { "nak", "a request is answered with a NAK" },
	[INJECT_COMPLETION] = { "completion", "what would have succeeded completes in error" },
	[INJECT_VERB] = { "verb", "a call fails, as its manual page says" },
	[INJECT_PORT_DOWN] = { "port_down", "the port is down" },
	[INJECT_GID_CHANGE] = { "gid_change", "an entry of the GID table changes" },
	[INJECT_DEVICE_FATAL] = { "device_fatal", "the device dies" },
	[INJECT_CM_DROP] = { "cm_drop", "a message of the connection manager is lost" },
	[INJECT_CM_DUPLICATE] = { "cm_duplicate",
				  "a message of the connection manager comes twice" },
	[INJECT_CM_DELAY] = { "cm_delay", "a message of the connection manager waits" },
	[INJECT_CM_REJECT] = { "cm_reject", "a connection request is rejected" },
};

const char *inject_action_str(uint32_t action)
{
	return actions[action].name;
}

const char *inject_action_help(uint32_t action)
{
	return actions[action].help;
}

const char *inject_part_str(enum fault_part part)
{
	switch (part) {
	case FAULT_PAYLOAD: return "payload";
	case FAULT_HEADER: return "header";
	case FAULT_ICRC: return "icrc";
	}
	return "?";
}

/* AETH NAK codes (IBTA 9.7.5.2.8). */
const char *inject_nak_str(uint32_t code)
{
	static const char *const names[INJECT_NAKS] = { "psn_sequence", "invalid_request",
							"remote_access", "remote_operation",
							"invalid_rd" };

	return code < INJECT_NAKS ? names[code] : "?";
}

__attribute__((format(printf, 2, 3))) static void put(struct printer *p, const char *format, ...)
{
	const size_t used = (size_t)p->at < p->size ? (size_t)p->at : p->size;
	va_list args;

	va_start(args, format);
	p->at += vsnprintf(p->buf + used, p->size - used, format, args);
	va_end(args);
}

static void put_range(struct printer *p, const char *key, const struct fault_range *range, bool hex)
{
	if (!range->set)
		return;
	put(p, hex ? "%s0x%" PRIx32 : "%s%" PRIu32, key, range->first);
	if (range->last != range->first)
		put(p, hex ? "..0x%" PRIx32 : "..%" PRIu32, range->last);
}

static void put_duration(struct printer *p, const char *key, uint64_t ns)
{
	if (ns % 1000000 == 0)
		put(p, "%s%" PRIu64 "ms", key, ns / 1000000);
	else if (ns % 1000 == 0)
		put(p, "%s%" PRIu64 "us", key, ns / 1000);
	else
		put(p, "%s%" PRIu64 "ns", key, ns);
}

/* As short as it can be: 0.01, where that is how it was written. */
static void put_probability(struct printer *p, uint32_t probability)
{
	char text[32];

	for (int digits = 1; digits <= 12; digits++) {
		double read;

		(void)snprintf(text, sizeof(text), "%.*g", digits,
			       probability / INJECT_PROBABILITY_ONE);
		/* With few digits 0.97 is 1, which no uint32_t is. */
		read = strtod(text, NULL) * INJECT_PROBABILITY_ONE + 0.5;
		if (read >= probability && read < probability + 1.0)
			break;
	}
	put(p, " probability=%s", text);
}

static void put_verb(struct printer *p, const struct inject_rule *rule)
{
	const char *name = inject_errno_name(rule->u.verb.error);

	put(p, " name=%s", rule->u.verb.names);
	if (name)
		put(p, " errno=%s", name);
	else
		put(p, " errno=%d", rule->u.verb.error);
}

static void put_gid(struct printer *p, const struct inject_rule *rule)
{
	const bool v4 = gid_is_v4(&rule->u.device.gid);
	char text[INET6_ADDRSTRLEN] = "none";

	put(p, " index=%" PRIu32, rule->u.device.index);
	if (rule->u.device.moves)
		put(p, " to=%" PRIu32, rule->u.device.to);
	if (!rule->u.device.has_gid)
		return;
	if (!gid_is_zero(&rule->u.device.gid))
		inet_ntop(v4 ? AF_INET : AF_INET6, rule->u.device.gid.raw + (v4 ? 12 : 0), text,
			  sizeof(text));
	put(p, " gid=%s", text);
}

static void put_packet_action(struct printer *p, const struct fault_rule *rule)
{
	const uint32_t code = rule->syndrome & AETH_CODE_MASK;

	switch (rule->action) {
	case FAULT_DROP: return;
	case FAULT_DUPLICATE: put(p, " copies=%" PRIu32, rule->copies); return;
	case FAULT_DELAY: put_duration(p, " time=", rule->delay_ns); return;
	case FAULT_REORDER:
		put(p, " behind=%" PRIu32, rule->behind);
		put_duration(p, " within=", rule->delay_ns);
		return;
	case FAULT_CORRUPT:
		put(p, " part=%s", inject_part_str(rule->part));
		put(p, "%s", rule->good_icrc ? " icrc=good" : "");
		return;
	case FAULT_TRUNCATE: put(p, " keep=%" PRIu32, rule->keep); return;
	case FAULT_RNR_NAK: put(p, " timer=%" PRIu32, code); return;
	case FAULT_NAK:
		if (code < INJECT_NAKS)
			put(p, " code=%s", inject_nak_str(code));
		else
			put(p, " code=%" PRIu32, code);
		return;
	}
}

static void put_completion(struct printer *p, const struct inject_rule *rule)
{
	put(p, " status=%s", inject_status_str(rule->u.completion.status));
	if (!rule->u.completion.any_side)
		put(p, " side=%s", rule->u.completion.side == INJECT_RECV ? "recv" : "send");
}

static void put_action(struct printer *p, const struct inject_rule *rule)
{
	put(p, "%s", inject_action_str(rule->action));
	if (rule->action < FAULT_ACTIONS)
		put_packet_action(p, &rule->packet);
	else if (rule->action == INJECT_COMPLETION)
		put_completion(p, rule);
	else if (rule->action == INJECT_VERB)
		put_verb(p, rule);
	else if (rule->action == INJECT_GID_CHANGE)
		put_gid(p, rule);
	else if (rule->action == INJECT_CM_REJECT)
		put(p, " reason=%" PRIu32, rule->u.reason);
	else if (inject_is_of_messages(rule->action) && rule->u.message.names[0])
		put(p, " message=%s", rule->u.message.names);
}

int inject_rule_format(char *buf, size_t size, const struct inject_rule *rule)
{
	struct printer p = { .buf = buf, .size = size };

	put_action(&p, rule);
	if (rule->action >= FAULT_ACTIONS && rule->packet.delay_ns)
		put_duration(&p, " time=", rule->packet.delay_ns);
	if (inject_is_of_device(rule->action) && rule->u.device.after_ns)
		put_duration(&p, " after=", rule->u.device.after_ns);
	if (!rule->packet.any_dir)
		put(&p, " dir=%s", rule->packet.dir == FAULT_IN ? "in" : "out");
	if (rule->packet.opcodes[0])
		put(&p, " opcode=%s", rule->packet.opcodes);
	put_range(&p, " qp=", &rule->packet.qp, true);
	put_range(&p, " qp=#", &rule->packet.qp_index, false);
	put_range(&p, " peer_qp=", &rule->packet.peer_qp, true);
	put_range(&p, " psn=", &rule->packet.psn, false);
	put_range(&p, " attempt=", &rule->packet.attempt, false);
	put_range(&p, " nth=", &rule->packet.nth, false);
	if (rule->packet.every)
		put(&p, " every=%" PRIu32, rule->packet.every);
	put_range(&p, " seen=", &rule->packet.seen, false);
	if (!rule->packet.certain)
		put_probability(&p, rule->packet.probability);
	if (rule->packet.seed)
		put(&p, " seed=%" PRIu64, rule->packet.seed);
	return p.at;
}
