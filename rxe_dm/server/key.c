// SPDX-License-Identifier: MIT
/* Order of the stores: an entry is filled before its key, and its key cleared before it rests. */
#include <assert.h>
#include <stdlib.h>

#include "emu/mr.h"
#include "lib/control/protocol.h"
#include "rxe_dm/server/key.h"
#include "rxe_dm/server/random.h"

/* Largest step of a tag at the next use of its index: a tag returns after 16 uses or more. */
#define MAX_STEP     4096u
#define MAX_LOW_STEP 16u

bool keys_init(struct keys *ret, struct rxe_mr_table *table, struct grace *grace)
{
	*ret = (struct keys){ .table = table, .grace = grace, .fresh = 1 };
	ret->stamp = (uint64_t *)calloc(RXE_MAX_MR, sizeof(*ret->stamp));
	ret->tag = (uint16_t *)calloc(RXE_MAX_MR, sizeof(*ret->tag));
	ret->order = (uint16_t *)calloc(RXE_MAX_MR, sizeof(*ret->order));
	for (uint32_t i = 0; ret->order && i < RXE_MAX_MR; i++)
		ret->order[i] = (uint16_t)i;
	return index_queue_init(&ret->resting, RXE_MAX_MR) && ret->stamp && ret->tag && ret->order;
}

void keys_fini(struct keys *keys)
{
	free(keys->stamp);
	index_queue_fini(&keys->resting);
	free(keys->tag);
	free(keys->order);
	*keys = (struct keys){ 0 };
}

static uint32_t random32(void)
{
	uint32_t ret;

	random_fill(&ret, sizeof(ret));
	return ret;
}

static uint32_t take_fresh(struct keys *keys)
{
	const uint32_t at = keys->fresh + random32() % (RXE_MAX_MR - keys->fresh);
	const uint16_t index = keys->order[at];

	keys->order[at] = keys->order[keys->fresh];
	keys->order[keys->fresh++] = index;
	keys->tag[index] = (uint16_t)random32();
	return index;
}

static uint32_t take_rested(struct keys *keys)
{
	if (keys->resting.count == 0 ||
	    !grace_over(keys->grace, keys->stamp[keys->resting.first], GRACE_NOBODY))
		return 0;
	return index_queue_take(&keys->resting);
}

static uint32_t take_index(struct keys *keys)
{
	uint32_t index = 0;

	if (keys->resting.count >= KEY_REST || keys->fresh == RXE_MAX_MR)
		index = take_rested(keys);
	if (!index && keys->fresh < RXE_MAX_MR)
		index = take_fresh(keys);
	return index;
}

static void fill(struct rxe_mr *mr, const struct rxe_mr *entry)
{
	mr->pd = entry->pd;
	mr->iova = entry->iova;
	mr->len = entry->len;
	mr->addr = entry->addr;
	mr->rights = entry->rights;
	mr->kind = entry->kind;
	mr->owner = entry->owner;
	mr->dm = entry->dm;
	mr->dmah = entry->dmah;
	mr->epoch = entry->epoch;
}

/* The tag after the last one of an index. */
static uint16_t next_tag(uint16_t last, uint32_t low)
{
	if (!(low & CTL_KEY_LOW))
		return (uint16_t)(last + 1 + random32() % MAX_STEP);
	return (uint16_t)((last & 0xff00u) + ((1 + random32() % MAX_LOW_STEP) << 8)) | (uint8_t)low;
}

uint32_t keys_grant(struct keys *keys, const struct rxe_mr *entry, uint32_t low)
{
	const uint32_t index = take_index(keys);
	uint32_t key;

	if (!index)
		return 0;
	assert(index < RXE_MAX_MR && atomic_load(&keys->table->entry[index].key) == 0);
	keys->tag[index] = next_tag(keys->tag[index], low);
	keys->granted++;
	key = index << 16 | keys->tag[index];
	keys_show(keys, key, entry);
	return key;
}

uint64_t keys_hide(struct keys *keys, uint32_t key)
{
	atomic_store(&keys->table->entry[rxe_key_index(key)].key, 0);
	return grace_begin(keys->grace);
}

void keys_show(struct keys *keys, uint32_t key, const struct rxe_mr *entry)
{
	struct rxe_mr *mr = &keys->table->entry[rxe_key_index(key)];

	if (entry)
		fill(mr, entry);
	atomic_store(&mr->key, key); /* pairs with rxe_mr_find */
}

uint64_t keys_revoke(struct keys *keys, uint32_t key)
{
	uint32_t index = rxe_key_index(key);
	uint64_t stamp;

	assert(keys->granted > 0 && index > 0 && index < RXE_MAX_MR);
	/* A window had keys with any lowest byte: the next tag is above them all. */
	if (rxe_mr_is_window(&keys->table->entry[index]))
		keys->tag[index] |= RXE_MW_TAG;
	atomic_store(&keys->table->entry[index].key, 0);
	stamp = grace_begin(keys->grace);
	keys->stamp[index] = stamp;
	index_queue_put(&keys->resting, index);
	keys->granted--;
	return stamp;
}
