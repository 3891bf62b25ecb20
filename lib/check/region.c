// SPDX-License-Identifier: MIT
/* The table of regions. */
#include "lib/check/region.h"

#include <stdlib.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "emu/mr.h"
#include "lib/abi/newer.h"
#include "lib/check/object.h"
#include "lib/control/shared.h"
#include "lib/verbs/context.h"
#include "lib/verbs/device.h"

static struct check_region *regions; /* uthash, by key */
static struct span_set spans = SPAN_SET(21);

/* What an outstanding request holds stays. */
static void free_region(void *part)
{
	struct check_region *region = part;

	if (!region || !region->requests)
		free(region);
	else
		region->object = NULL;
}

static void leave_set(struct check_region *region)
{
	if (region->span.end > region->span.start)
		span_remove(&spans, &region->span);
	region->span.end = region->span.start;
}

static void enter_set(struct check_region *region)
{
	const uintptr_t start = (uintptr_t)region->addr;

	if (!start || !region->len || region->len > UINTPTR_MAX - start ||
	    (region->access & IBV_ACCESS_ON_DEMAND))
		return;
	region->span.start = start;
	region->span.end = start + region->len;
	span_add(&spans, &region->span);
}

void region_made(struct check_object *object, uint32_t lkey, void *addr, uint64_t len,
		 uint64_t iova, int access)
{
	struct check_region *region = object->part;

	if (region)
		region_ended(object);
	else
		region = calloc(1, sizeof(*region));
	if (!region)
		return;
	region->key = (struct region_key){ object->context->device, lkey };
	region->object = object;
	region->addr = addr;
	region->len = len;
	region->iova = iova;
	region->access = access;
	object->part = region;
	object->free_part = free_region;
	HASH_ADD(hh, regions, key, sizeof(region->key), region);
	enter_set(region);
}

void region_ended(struct check_object *object)
{
	struct check_region *region = object->part;

	if (!region)
		return;
	HASH_DEL(regions, region);
	leave_set(region);
}

void region_find_dm(struct ibv_context *context, const struct ibv_sge *there,
		    struct check_range *range)
{
	const struct rxe_mr *mr =
		rxe_mr_find(&vb_device(context)->attachment.shared->mrs, there->lkey);

	if (!mr || mr->kind != RXE_MR_ARENA || !there->length || there->addr - mr->iova > mr->len ||
	    there->length > mr->len - (there->addr - mr->iova))
		return;
	range->span.start = (uintptr_t)(mr->addr + (there->addr - mr->iova));
	range->span.end = range->span.start + there->length;
	range->dm = mr->dm;
	range->owner_key = there->lkey;
}

void region_range(struct ibv_context *context, const struct ibv_sge *sge, struct check_range *ret)
{
	const struct region_key key = { context->device, sge->lkey };
	struct check_region *region;

	HASH_FIND(hh, regions, &key, sizeof(key), region);
	*ret = (struct check_range){ .len = sge->length, .region = region };
	if (region)
		region->requests++;
	if (region && region->addr && sge->addr - region->iova <= region->len &&
	    sge->length <= region->len - (sge->addr - region->iova))
		ret->at = region->addr + (sge->addr - region->iova);
	if (region && region->dm)
		region_find_dm(context, sge, ret);
}

void region_release(struct check_range *range)
{
	if (range->region)
		range->region->requests--;
	range->region = NULL;
}

bool region_overlaps(uintptr_t start, uintptr_t end)
{
	return span_overlaps(&spans, start, end);
}

bool region_any(void)
{
	return spans.first != NULL;
}

void region_each(void (*visit)(struct check_region *region, void *arg), void *arg)
{
	struct span *span;

	DL_FOREACH (spans.first, span)
		visit(container_of(span, struct check_region, span), arg);
}
