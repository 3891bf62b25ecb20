// SPDX-License-Identifier: MIT
/* The table of regions. */
#include "lib/check/region.h"

#include <stdlib.h>

#include "lib/abi/newer.h"
#include "lib/check/object.h"

static struct check_region *regions; /* uthash, by key */

/* What an outstanding request holds stays. */
static void free_region(void *part)
{
	struct check_region *region = part;

	if (!region || !region->requests)
		free(region);
	else
		region->object = NULL;
}

void region_made(struct check_object *object, uint32_t lkey, void *addr, uint64_t len,
		 uint64_t iova)
{
	struct check_region *region = object->part;

	if (region)
		HASH_DEL(regions, region);
	else
		region = calloc(1, sizeof(*region));
	if (!region)
		return;
	region->key = (struct region_key){ object->context->device, lkey };
	region->object = object;
	region->addr = addr;
	region->len = len;
	region->iova = iova;
	object->part = region;
	object->free_part = free_region;
	HASH_ADD(hh, regions, key, sizeof(region->key), region);
}

void region_ended(struct check_object *object)
{
	struct check_region *region = object->part;

	if (region)
		HASH_DEL(regions, region);
}

struct check_range region_range(const struct ibv_context *context, const struct ibv_sge *sge)
{
	const struct region_key key = { context->device, sge->lkey };
	struct check_range ret = { .len = sge->length };
	struct check_region *region;

	HASH_FIND(hh, regions, &key, sizeof(key), region);
	ret.region = region;
	if (region)
		region->requests++;
	if (region && region->addr && sge->addr - region->iova <= region->len &&
	    sge->length <= region->len - (sge->addr - region->iova))
		ret.at = region->addr + (sge->addr - region->iova);
	return ret;
}

void region_release(struct check_range *range)
{
	if (range->region)
		range->region->requests--;
	range->region = NULL;
}
