/* SPDX-License-Identifier: MIT */
/* The simulated link: a heap of packets under way, and what may happen to one. */
#include "tests/sim/link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void link_init(struct link *link, uint64_t seed)
{
	*link = (struct link){ .delay_ns = 5000, .seed = seed * 2 + 1 };
}

void link_fini(struct link *link)
{
	while (link->num > 0)
		free(link->queue[--link->num]);
	free(link->queue);
}

/* splitmix64 */
uint32_t link_random(struct link *link, uint32_t limit)
{
	uint64_t z = link->seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % limit);
}

void link_rule_add(struct link *link, const char *rule)
{
	static const char *const acts[] = { "pass", "drop", "dup", "delay", "corrupt" };
	struct link_rule *ret = &link->rule[link->num_rules++];
	char act[16], psn[16];
	double delay_us = 0;
	int used = 0;
	size_t i;

	assert(link->num_rules <= LINK_MAX_RULES);
	*ret = (struct link_rule){ .times = 1 };
	if (sscanf(rule, "%15s %c %23s %15s %n", act, &ret->from, ret->op, psn, &used) != 4)
		abort();
	for (i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		if (strcmp(act, acts[i]) == 0)
			ret->act = (enum link_act)i;
	}
	assert(ret->act != LINK_PASS);
	ret->any_psn = psn[0] == '*';
	ret->psn = (uint32_t)strtoul(psn, NULL, 10);
	if (ret->act == LINK_DELAY) {
		char *end;

		delay_us = strtod(rule + used, &end);
		used = (int)(end - rule);
		while (rule[used] == ' ')
			used++;
	}
	if (rule[used] == 'x')
		ret->times = (uint32_t)strtoul(rule + used + 1, NULL, 10);
	ret->delay_ns = (uint64_t)(delay_us * 1000);
}

static bool matches(const struct link_rule *rule, char from, const char *op, uint32_t psn)
{
	return rule->times > 0 && rule->from == from &&
	       (rule->op[0] == '*' || strcmp(rule->op, op) == 0) &&
	       (rule->any_psn || rule->psn == psn);
}

static bool falls(struct link *link, uint32_t chance)
{
	return chance > 0 && link_random(link, 1000) < chance;
}

static enum link_act throw_dice(struct link *link, uint64_t *ret_delay_ns)
{
	const struct link_dice *dice = &link->dice;

	if (falls(link, dice->drop))
		return LINK_DROP;
	if (falls(link, dice->corrupt))
		return LINK_CORRUPT;
	if (falls(link, dice->dup))
		return LINK_DUP;
	if (!falls(link, dice->delay))
		return LINK_PASS;
	*ret_delay_ns = link_random(link, (uint32_t)dice->max_delay_ns);
	return LINK_DELAY;
}

void link_fate(struct link *link, enum link_act act, uint32_t subset, uint64_t delay_ns)
{
	link->fate = act;
	link->fated = subset;
	link->fate_delay_ns = delay_ns;
}

static bool is_fated(struct link *link)
{
	bool ret = link->fated & 1;

	link->fated >>= 1;
	return ret;
}

enum link_act link_judge(struct link *link, char from, const char *op, uint32_t psn,
			 uint64_t *ret_delay_ns)
{
	uint32_t i;

	*ret_delay_ns = 0;
	if (is_fated(link)) {
		*ret_delay_ns = link->fate == LINK_DELAY ? link->fate_delay_ns : 0;
		return link->fate;
	}
	for (i = 0; i < link->num_rules; i++) {
		struct link_rule *rule = &link->rule[i];

		if (!matches(rule, from, op, psn))
			continue;
		rule->times--;
		*ret_delay_ns = rule->delay_ns;
		return rule->act;
	}
	return throw_dice(link, ret_delay_ns);
}

bool link_queue(struct link *link, struct flying *packet)
{
	uint64_t *free_ns = &link->free_ns[packet->to];
	uint64_t wait_ns;

	if (!link->ns_per_kb)
		return true;
	if (*free_ns < packet->at_ns)
		*free_ns = packet->at_ns;
	wait_ns = *free_ns - packet->at_ns;
	if (link->queue_kb && wait_ns > (uint64_t)link->queue_kb * link->ns_per_kb)
		return false;
	*free_ns += (uint64_t)packet->len * link->ns_per_kb / 1024;
	packet->at_ns = *free_ns;
	return true;
}

static bool is_before(const struct flying *a, const struct flying *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void link_push(struct link *link, const struct flying *packet)
{
	struct flying *copy = malloc(sizeof(*copy));
	uint32_t i;

	assert(copy);
	*copy = *packet;
	copy->order = link->order++;
	if (link->num == link->room) {
		link->room = link->room ? link->room * 2 : 64;
		link->queue = realloc(link->queue, link->room * sizeof(struct flying *));
		assert(link->queue);
	}
	for (i = link->num++; i > 0 && is_before(copy, link->queue[(i - 1) / 2]); i = (i - 1) / 2)
		link->queue[i] = link->queue[(i - 1) / 2];
	link->queue[i] = copy;
}

uint64_t link_next_ns(const struct link *link)
{
	return link->num > 0 ? link->queue[0]->at_ns : UINT64_MAX;
}

struct flying *link_pop(struct link *link)
{
	struct flying *first = link->queue[0];
	struct flying *last = link->queue[--link->num];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < link->num) {
		if (child + 1 < link->num && is_before(link->queue[child + 1], link->queue[child]))
			child++;
		if (!is_before(link->queue[child], last))
			break;
		link->queue[i] = link->queue[child];
		i = child;
	}
	if (link->num > 0)
		link->queue[i] = last;
	return first;
}
