/* SPDX-License-Identifier: MIT */
/* The neighbor table: sets of four entries. A new entry replaces the stalest of its set. */
#include "net/link/ethernet/neighbor.h"

#include <assert.h>
#include <string.h>

static struct neighbor *set_of(struct neighbor_table *table, const struct gid *gid)
{
	uint32_t hash = 0;

	for (uint32_t i = 0; i < sizeof(gid->raw); i++)
		hash = hash * 31 + gid->raw[i];
	return table->set[hash % NEIGHBOR_SETS];
}

static struct neighbor *find(struct neighbor_table *table, const struct gid *gid)
{
	struct neighbor *set = set_of(table, gid);

	for (uint32_t i = 0; i < NEIGHBOR_WAYS; i++)
		if (set[i].state != NEIGHBOR_FREE && gid_equal(&set[i].gid, gid))
			return &set[i];
	return NULL;
}

static bool is_waiting(enum neighbor_state state)
{
	return state == NEIGHBOR_INCOMPLETE || state == NEIGHBOR_PROBE;
}

static void set_state(struct neighbor_table *table, struct neighbor *entry,
		      enum neighbor_state state)
{
	assert(table->waiting >= is_waiting(entry->state));
	table->waiting -= is_waiting(entry->state);
	entry->state = state;
	table->waiting += is_waiting(state);
}

/* Whether a is replaced before b: entries without a solicitation under way first, then the
 * oldest. */
static bool is_staler(const struct neighbor *a, const struct neighbor *b)
{
	if (is_waiting(a->state) != is_waiting(b->state))
		return !is_waiting(a->state);
	return a->due_ns < b->due_ns;
}

static struct neighbor *replace(struct neighbor_table *table, const struct gid *gid)
{
	struct neighbor *set = set_of(table, gid), *entry = &set[0];

	for (uint32_t i = 0; i < NEIGHBOR_WAYS && entry->state != NEIGHBOR_FREE; i++)
		if (set[i].state == NEIGHBOR_FREE || is_staler(&set[i], entry))
			entry = &set[i];
	set_state(table, entry, NEIGHBOR_FREE);
	entry->gid = *gid;
	return entry;
}

static void solicit(struct neighbor_table *table, struct neighbor *entry, enum neighbor_state state,
		    uint64_t now_ns)
{
	set_state(table, entry, state);
	entry->tries = 1;
	entry->due_ns = now_ns + NEIGHBOR_RETRY_NS;
}

enum neighbor_state neighbor_table_state(struct neighbor_table *table, const struct gid *gid)
{
	const struct neighbor *entry = find(table, gid);

	return entry ? entry->state : NEIGHBOR_FREE;
}

const uint8_t *neighbor_table_find(struct neighbor_table *table, const struct gid *gid,
				   uint64_t now_ns, bool *ret_solicit)
{
	struct neighbor *entry = find(table, gid);

	*ret_solicit = false;
	if (!entry) {
		*ret_solicit = true;
		solicit(table, replace(table, gid), NEIGHBOR_INCOMPLETE, now_ns);
		return NULL;
	}
	if (entry->state == NEIGHBOR_REACHABLE && now_ns >= entry->due_ns) {
		*ret_solicit = true;
		solicit(table, entry, NEIGHBOR_PROBE, now_ns);
	}
	return entry->state == NEIGHBOR_INCOMPLETE ? NULL : entry->mac;
}

bool neighbor_table_just_solicited(struct neighbor_table *table, const struct gid *gid,
				   uint64_t now_ns)
{
	const struct neighbor *entry = find(table, gid);

	return entry && entry->state == NEIGHBOR_INCOMPLETE && entry->tries == 1 &&
	       now_ns + NEIGHBOR_RETRY_NS < entry->due_ns + NEIGHBOR_SOON_NS;
}

bool neighbor_table_learn(struct neighbor_table *table, const struct gid *gid, const uint8_t *mac,
			  enum neighbor_source source, uint64_t now_ns)
{
	struct neighbor *entry = find(table, gid);
	bool awaited;

	if (!entry) {
		if (source == SOURCE_ADVERTISEMENT)
			return false;
		entry = replace(table, gid);
	} else if (source == SOURCE_DATAGRAM && entry->state != NEIGHBOR_INCOMPLETE &&
		   memcmp(entry->mac, mac, FRAME_MAC_LEN) != 0) {
		return false;
	}
	awaited = entry->state == NEIGHBOR_INCOMPLETE;
	memcpy(entry->mac, mac, FRAME_MAC_LEN);
	set_state(table, entry, NEIGHBOR_REACHABLE);
	entry->due_ns = now_ns + NEIGHBOR_FRESH_NS;
	return awaited;
}

static enum neighbor_step step(struct neighbor_table *table, struct neighbor *entry,
			       uint64_t now_ns, struct gid *ret_gid, const uint8_t **ret_mac)
{
	*ret_gid = entry->gid;
	*ret_mac = NULL;
	if (entry->tries >= NEIGHBOR_TRIES) {
		set_state(table, entry, NEIGHBOR_FREE);
		return NEIGHBOR_UNREACHABLE;
	}
	/* The last probe is multicast, because the neighbor's MAC may have changed. */
	if (entry->state == NEIGHBOR_PROBE && entry->tries + 1 < NEIGHBOR_TRIES)
		*ret_mac = entry->mac;
	entry->tries++;
	entry->due_ns = now_ns + NEIGHBOR_RETRY_NS;
	return NEIGHBOR_RETRANSMIT;
}

enum neighbor_step neighbor_table_due(struct neighbor_table *table, uint64_t now_ns,
				      struct gid *ret_gid, const uint8_t **ret_mac)
{
	struct neighbor *entry = table->set[0];

	if (table->waiting == 0)
		return NEIGHBOR_NOTHING;
	for (uint32_t i = 0; i < NEIGHBOR_SETS * NEIGHBOR_WAYS; i++, entry++)
		if (is_waiting(entry->state) && now_ns >= entry->due_ns)
			return step(table, entry, now_ns, ret_gid, ret_mac);
	return NEIGHBOR_NOTHING;
}

uint64_t neighbor_table_deadline(const struct neighbor_table *table)
{
	const struct neighbor *entry = table->set[0];
	uint64_t first = UINT64_MAX;

	if (table->waiting == 0)
		return first;
	for (uint32_t i = 0; i < NEIGHBOR_SETS * NEIGHBOR_WAYS; i++, entry++)
		if (is_waiting(entry->state) && entry->due_ns < first)
			first = entry->due_ns;
	return first;
}
