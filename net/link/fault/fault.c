// SPDX-License-Identifier: MIT
/* Decides which rule fires for a packet: selectors, counters, and a hash in place of randomness.
 *
 * Each rule counts each packet that it selects, even when another rule acts on it: adding a rule
 * does not change when the others fire. */
#include "net/link/fault/fault.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/opcode.h"
#include "net/wire/packet.h"

#define WAYS   8u
#define FORGET (1u << 22)   /* packets after which a PSN may have wrapped */
#define SEEN   (4ull << 32) /* key of the count over all queue pairs; differs from each qp_key() */

struct counter {
	uint64_t key; /* 0: free */
	uint32_t value;
	uint32_t stamp; /* fault_counters.now at its last use */
};

struct fault_counters {
	uint32_t now; /* packets and events counted so far */
	struct counter nth[FAULT_COUNTS];
	struct counter attempt[FAULT_ATTEMPTS];
};

/* The finalizer of splitmix64. */
uint64_t fault_mix(uint64_t h, uint64_t value)
{
	h += value + 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

/* Identifies a queue pair by its order of creation where that is known, because QPNs differ from
 * run to run. */
static uint64_t qp_key(const struct fault_packet *packet)
{
	if (packet->qp_index != FAULT_NO_INDEX)
		return 1ull << 32 | packet->qp_index;
	return packet->qpn ? packet->qpn : 2ull << 32 | packet->peer_qpn;
}

/* Packets since the first PSN, because programs choose the first PSN at random. */
static uint32_t since_first(const struct fault_packet *packet)
{
	return (packet->psn - packet->first_psn) & PSN_MASK;
}

bool fault_in_range(const struct fault_range *range, uint32_t value)
{
	return !range->set || (value >= range->first && value <= range->last);
}

static bool psn_inside(const struct fault_range *range, uint32_t psn)
{
	const uint32_t length = (range->last - range->first) & PSN_MASK;

	return !range->set || ((psn - range->first) & PSN_MASK) <= length;
}

bool fault_can_answer(const struct fault_packet *packet)
{
	const enum wire_service service = opcode_service(packet->opcode);

	return (service == WIRE_RC || service == WIRE_XRC) &&
	       (wire_shape(packet->opcode) & SHAPE_REQUEST);
}

bool fault_selects(const struct fault_rule *rule, const struct fault_packet *packet)
{
	if (!rule->any_dir && rule->dir != packet->dir)
		return false;
	if (rule->opcodes[0] && !(rule->opcode_set[packet->opcode / 64] >> packet->opcode % 64 & 1))
		return false;
	if (!fault_in_range(&rule->qp, packet->qpn) ||
	    !fault_in_range(&rule->qp_index, packet->qp_index) ||
	    !fault_in_range(&rule->peer_qp, packet->peer_qpn) ||
	    !psn_inside(&rule->psn, packet->psn))
		return false;
	if (rule->action == FAULT_RNR_NAK || rule->action == FAULT_NAK)
		return fault_can_answer(packet);
	return true;
}

uint64_t fault_dice(const struct fault_rule *rule, uint32_t id, const struct fault_packet *packet,
		    uint32_t attempt)
{
	uint64_t h = fault_mix(rule->seed, id);

	h = fault_mix(h, qp_key(packet));
	h = fault_mix(h, (uint64_t)packet->dir << 8 | packet->opcode);
	return fault_mix(h, (uint64_t)since_first(packet) << 32 | attempt);
}

static bool passes(const struct fault_rule *rule, uint32_t nth, uint64_t dice)
{
	return fault_in_range(&rule->nth, nth) && !(rule->every && nth % rule->every != 0) &&
	       (rule->certain || dice >> 32 < rule->probability);
}

bool fault_fires_at(const struct fault_rule *rule, uint32_t id, uint64_t owner, uint64_t kind,
		    uint32_t nth)
{
	const uint64_t whose = fault_mix(fault_mix(rule->seed, id), owner);

	return passes(rule, nth, fault_mix(fault_mix(whose, kind), nth));
}

bool fault_fires(const struct fault_rule *rule, uint32_t id, const struct fault_packet *packet,
		 const struct fault_count *count)
{
	return fault_in_range(&rule->attempt, count->attempt) &&
	       fault_in_range(&rule->seen, count->seen) &&
	       passes(rule, count->nth, fault_dice(rule, id, packet, count->attempt));
}

struct fault_counters *fault_counters_new(void)
{
	return calloc(1, sizeof(struct fault_counters));
}

void fault_counters_free(struct fault_counters *counters)
{
	free(counters);
}

/* Finds the counter of a key, or replaces the least recently used one of its set. */
static struct counter *find(struct fault_counters *counters, struct counter *table, uint32_t size,
			    uint64_t key)
{
	struct counter *set = &table[key % (size / WAYS) * WAYS];
	struct counter *oldest = set;

	/* 0 marks a free counter. */
	key |= 1;
	counters->now++;
	for (uint32_t i = 0; i < WAYS; i++) {
		struct counter *c = &set[i];

		if (c->key == key)
			return c;
		if (c->key == 0) {
			oldest = c;
			break;
		}
		if (counters->now - c->stamp > counters->now - oldest->stamp)
			oldest = c;
	}
	*oldest = (struct counter){ .key = key, .stamp = counters->now };
	return oldest;
}

uint32_t fault_attempt(struct fault_counters *counters, const struct fault_packet *packet)
{
	const uint64_t stream =
		fault_mix(qp_key(packet), (uint64_t)packet->dir << 8 | packet->opcode);
	struct counter *c = find(counters, counters->attempt, FAULT_ATTEMPTS,
				 fault_mix(stream, since_first(packet)));

	if (counters->now - c->stamp > FORGET)
		c->value = 0;
	c->stamp = counters->now;
	return c->value++;
}

uint32_t fault_count_event(struct fault_counters *counters, uint64_t key)
{
	struct counter *c = find(counters, counters->nth, FAULT_COUNTS, key);

	c->stamp = counters->now;
	return ++c->value;
}

int fault_decide(struct fault_rules *rules, struct fault_counters *counters,
		 const struct fault_packet *packet, uint32_t attempt)
{
	const uint64_t dir_op = (uint64_t)packet->dir << 8 | packet->opcode;
	int result = -1;

	assert(rules->n <= FAULT_MAX_RULES);
	for (uint32_t i = 0; i < rules->n; i++) {
		const struct fault_rule *rule = &rules->rule[i];
		const uint64_t key = fault_mix(rules->id[i], qp_key(packet));
		struct fault_count counted = { .attempt = attempt };

		if (!fault_selects(rule, packet))
			continue;
		counted.nth = fault_count_event(counters, fault_mix(key, dir_op));
		if (rule->seen.set)
			counted.seen = fault_count_event(counters, fault_mix(rules->id[i], SEEN));
		if (result < 0 && fault_fires(rule, rules->id[i], packet, &counted))
			result = (int)i;
	}
	return result;
}
