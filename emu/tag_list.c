/* SPDX-License-Identifier: MIT */
/* The matching list: entries of a fixed stride, linked by index in the order of addition. */
#include "emu/tag_list.h"

#include <assert.h>
#include <string.h>

#include "emu/limits.h"

#define NONE RXE_MAX_TAGS

static size_t stride_of(uint32_t max_sge)
{
	return sizeof(struct rxe_tag_entry) + max_sge * sizeof(struct rxe_sge);
}

static struct rxe_tag_entry *at(const struct rxe_tag_list *list, uint32_t index)
{
	assert(index < list->max);
	return (struct rxe_tag_entry *)(void *)(list->mem + index * list->stride);
}

static uint32_t index_of(const struct rxe_tag_list *list, const struct rxe_tag_entry *entry)
{
	return (uint32_t)((size_t)((const uint8_t *)entry - list->mem) / list->stride);
}

size_t rxe_tag_list_bytes(uint32_t max, uint32_t max_sge)
{
	return max * stride_of(max_sge);
}

void rxe_tag_list_init(struct rxe_tag_list *list, void *mem, uint32_t max, uint32_t max_sge)
{
	assert(mem && max > 0 && max <= RXE_MAX_TAGS);
	*list = (struct rxe_tag_list){ .mem = mem,
				       .stride = stride_of(max_sge),
				       .max = max,
				       .max_sge = max_sge,
				       .first = NONE,
				       .last = NONE };
	memset(mem, 0, rxe_tag_list_bytes(max, max_sge));
	for (uint32_t i = 0; i < max; i++)
		at(list, i)->next = i + 1 < max ? i + 1 : NONE;
}

static void append(struct rxe_tag_list *list, uint32_t index)
{
	if (list->last == NONE)
		list->first = index;
	else
		at(list, list->last)->next = index;
	list->last = index;
	list->num++;
}

enum post_result rxe_tag_list_add(struct rxe_tag_list *list, uint64_t tag, uint64_t mask,
				  const struct rxe_recv_wr *wr, uint32_t *ret_handle)
{
	const uint32_t index = list->free;
	struct rxe_tag_entry *entry;

	if (wr->num_sge > list->max_sge || (wr->num_sge > 0 && !wr->sges))
		return POST_BAD_SGE;
	if (index == NONE)
		return POST_FULL;
	entry = at(list, index);
	list->free = entry->next;
	entry->tag = tag;
	entry->mask = mask;
	entry->wr_id = wr->wr_id;
	entry->next = NONE;
	entry->uses++;
	entry->is_listed = true;
	entry->is_enabled = rxe_tag_list_in_sync(list);
	entry->len = rxe_copy_sges(entry->sge, wr);
	entry->num_sge = wr->num_sge;
	append(list, index);
	*ret_handle = entry->uses * RXE_MAX_TAGS + index;
	return POST_OK;
}

struct rxe_tag_entry *rxe_tag_list_match(const struct rxe_tag_list *list, uint64_t tag)
{
	for (uint32_t i = list->first; i != NONE; i = at(list, i)->next) {
		struct rxe_tag_entry *entry = at(list, i);

		if (entry->is_enabled && (tag & entry->mask) == entry->tag)
			return entry;
	}
	return NULL;
}

struct rxe_tag_entry *rxe_tag_list_find(const struct rxe_tag_list *list, uint32_t handle)
{
	const uint32_t index = handle % RXE_MAX_TAGS;
	struct rxe_tag_entry *entry;

	if (index >= list->max)
		return NULL;
	entry = at(list, index);
	return entry->is_listed && entry->uses * RXE_MAX_TAGS + index == handle ? entry : NULL;
}

void rxe_tag_list_remove(struct rxe_tag_list *list, struct rxe_tag_entry *entry)
{
	const uint32_t index = index_of(list, entry);
	uint32_t before = NONE, i;

	assert(entry->is_listed && list->num > 0);
	for (i = list->first; i != index; i = at(list, i)->next)
		before = i;
	if (before == NONE)
		list->first = entry->next;
	else
		at(list, before)->next = entry->next;
	if (list->last == index)
		list->last = before;
	list->num--;
	entry->is_listed = false;
	entry->next = list->free;
	list->free = index;
}

void rxe_tag_list_handled(struct rxe_tag_list *list, uint32_t count)
{
	list->handled = count;
	if (!rxe_tag_list_in_sync(list))
		return;
	for (uint32_t i = list->first; i != NONE; i = at(list, i)->next)
		at(list, i)->is_enabled = true;
}
