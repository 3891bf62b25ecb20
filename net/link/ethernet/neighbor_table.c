/* SPDX-License-Identifier: MIT */
/* What is known of neighbours' Ethernet addresses: sets of four, the stalest of which makes room for a new one. */
#include "net/link/ethernet/neighbor_table.h"

#include <string.h>

static struct neighbour *set_of(struct neighbour_table *table, const struct gid *gid)
{
	uint32_t hash = 0;

	for (uint32_t i = 0; i < sizeof(gid->raw); i++)
		hash = hash * 31 + gid->raw[i];
	return table->set[hash % NEIGHBOUR_SETS];
}

static struct neighbour *find(struct neighbour_table *table, const struct gid *gid)
{
	struct neighbour *set = set_of(table, gid);

	for (uint32_t i = 0; i < NEIGHBOUR_WAYS; i++)
		if (set[i].state != NEIGHBOUR_FREE && gid_equal(&set[i].gid, gid))
			return &set[i];
	return NULL;
}

static bool is_waiting(enum neighbour_state state)
{
	return state == NEIGHBOUR_ASKED || state == NEIGHBOUR_PROBED;
}

static void set_state(struct neighbour_table *table, struct neighbour *entry,
		      enum neighbour_state state)
{
	table->waiting -= is_waiting(entry->state);
	entry->state = state;
	table->waiting += is_waiting(state);
}

/* Does a make room sooner than b? Who is not waited for first, then who has been silent longest. */
static bool is_staler(const struct neighbour *a, const struct neighbour *b)
{
	if (is_waiting(a->state) != is_waiting(b->state))
		return !is_waiting(a->state);
	return a->due_ns < b->due_ns;
}

static struct neighbour *make_room(struct neighbour_table *table, const struct gid *gid)
{
	struct neighbour *set = set_of(table, gid), *entry = &set[0];

	for (uint32_t i = 0; i < NEIGHBOUR_WAYS && entry->state != NEIGHBOUR_FREE; i++)
		if (set[i].state == NEIGHBOUR_FREE || is_staler(&set[i], entry))
			entry = &set[i];
	set_state(table, entry, NEIGHBOUR_FREE);
	entry->gid = *gid;
	return entry;
}

static void ask(struct neighbour_table *table, struct neighbour *entry, enum neighbour_state state,
		uint64_t now_ns)
{
	set_state(table, entry, state);
	entry->tries = 1;
	entry->due_ns = now_ns + NEIGHBOUR_RETRY_NS;
}

const uint8_t *neighbour_table_find(struct neighbour_table *table, const struct gid *gid,
				    uint64_t now_ns, bool *ret_ask)
{
	struct neighbour *entry = find(table, gid);

	*ret_ask = false;
	if (!entry) {
		*ret_ask = true;
		ask(table, make_room(table, gid), NEIGHBOUR_ASKED, now_ns);
		return NULL;
	}
	if (entry->state == NEIGHBOUR_KNOWN && now_ns >= entry->due_ns) {
		*ret_ask = true;
		ask(table, entry, NEIGHBOUR_PROBED, now_ns);
	}
	return entry->state == NEIGHBOUR_ASKED ? NULL : entry->mac;
}

bool neighbour_table_just_asked(struct neighbour_table *table, const struct gid *gid,
				uint64_t now_ns)
{
	const struct neighbour *entry = find(table, gid);

	return entry && entry->state == NEIGHBOUR_ASKED && entry->tries == 1 &&
	       now_ns + NEIGHBOUR_RETRY_NS < entry->due_ns + NEIGHBOUR_SOON_NS;
}

bool neighbour_table_learn(struct neighbour_table *table, const struct gid *gid, const uint8_t *mac,
			   enum neighbour_source source, uint64_t now_ns)
{
	struct neighbour *entry = find(table, gid);
	bool awaited;

	if (!entry) {
		if (source == SOURCE_TOLD)
			return false;
		entry = make_room(table, gid);
	} else if (source == SOURCE_HEARD && entry->state != NEIGHBOUR_ASKED &&
		   memcmp(entry->mac, mac, FRAME_MAC_LEN) != 0) {
		return false;
	}
	awaited = entry->state == NEIGHBOUR_ASKED;
	memcpy(entry->mac, mac, FRAME_MAC_LEN);
	set_state(table, entry, NEIGHBOUR_KNOWN);
	entry->due_ns = now_ns + NEIGHBOUR_FRESH_NS;
	return awaited;
}

static enum neighbour_step step(struct neighbour_table *table, struct neighbour *entry,
				uint64_t now_ns, struct gid *ret_gid, const uint8_t **ret_mac)
{
	*ret_gid = entry->gid;
	*ret_mac = NULL;
	if (entry->tries >= NEIGHBOUR_TRIES) {
		set_state(table, entry, NEIGHBOUR_FREE);
		return NEIGHBOUR_GONE;
	}
	/* The last of a probe goes to everybody: it may have moved. */
	if (entry->state == NEIGHBOUR_PROBED && entry->tries + 1 < NEIGHBOUR_TRIES)
		*ret_mac = entry->mac;
	entry->tries++;
	entry->due_ns = now_ns + NEIGHBOUR_RETRY_NS;
	return NEIGHBOUR_ASK_AGAIN;
}

enum neighbour_step neighbour_table_due(struct neighbour_table *table, uint64_t now_ns,
					struct gid *ret_gid, const uint8_t **ret_mac)
{
	struct neighbour *entry = table->set[0];

	if (table->waiting == 0)
		return NEIGHBOUR_NOTHING;
	for (uint32_t i = 0; i < NEIGHBOUR_SETS * NEIGHBOUR_WAYS; i++, entry++)
		if (is_waiting(entry->state) && now_ns >= entry->due_ns)
			return step(table, entry, now_ns, ret_gid, ret_mac);
	return NEIGHBOUR_NOTHING;
}

uint64_t neighbour_table_deadline(const struct neighbour_table *table)
{
	const struct neighbour *entry = table->set[0];
	uint64_t first = UINT64_MAX;

	if (table->waiting == 0)
		return first;
	for (uint32_t i = 0; i < NEIGHBOUR_SETS * NEIGHBOUR_WAYS; i++, entry++)
		if (is_waiting(entry->state) && entry->due_ns < first)
			first = entry->due_ns;
	return first;
}
