// SPDX-License-Identifier: MIT
/* First fit over a list of all ranges, used and free, in address order; and those that rest. */
#include "rxe_dm/server/range.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "lib/control/log.h"
#include "rxe_dm/server/device.h"

#define SETTLE_NS 10000000ull

static struct range *range_new(uint64_t offset, uint64_t len, bool used)
{
	struct range *range = (struct range *)malloc(sizeof(*range));

	if (range)
		*range = (struct range){ .offset = offset, .len = len, .used = used };
	return range;
}

bool range_map_init(struct range_map *ret, uint64_t len, uint64_t granule)
{
	struct range *all;

	assert(granule > 0 && (granule & (granule - 1)) == 0);
	*ret = (struct range_map){ .len = len & ~(granule - 1), .granule = granule };
	all = range_new(0, ret->len, false);
	if (!all)
		return false;
	DL_APPEND(ret->all, all);
	return true;
}

void range_map_fini(struct range_map *map)
{
	struct range *range, *next;

	DL_FOREACH_SAFE (map->all, range, next)
		free(range);
	map->all = NULL;
}

/* Bytes to skip at the front of a free range so that the rest is aligned. */
static uint64_t skip_to_align(const struct range *range, uint64_t align)
{
	return (align - (range->offset & (align - 1))) & (align - 1);
}

/* Splits a free range: its first len bytes become a range of their own in front of it. */
static struct range *cut_front(struct range_map *map, struct range *range, uint64_t len)
{
	struct range *front;

	assert(!range->used && len < range->len);
	front = range_new(range->offset, len, false);
	if (!front)
		return NULL;
	range->offset += len;
	range->len -= len;
	DL_PREPEND_ELEM(map->all, range, front);
	return front;
}

static struct range *grant(struct range_map *map, struct range *range, uint64_t skip, uint64_t len)
{
	assert(!range->used && len > 0 && skip <= range->len - len);
	if (skip && !cut_front(map, range, skip))
		return NULL;
	if (range->len > len) {
		range = cut_front(map, range, len);
		if (!range)
			return NULL; /* two adjacent free ranges remain, and merge later */
	}
	range->used = true;
	map->used += range->len;
	return range;
}

struct range *range_alloc(struct range_map *map, uint64_t len, uint32_t log_align)
{
	struct range *range;
	uint64_t align;

	if (len > map->len || log_align > 63)
		return NULL;
	align = 1ull << log_align;
	if (align < map->granule)
		align = map->granule;
	len = len ? (len + map->granule - 1) & ~(map->granule - 1) : map->granule;

	DL_FOREACH (map->all, range) {
		uint64_t skip;

		if (range->used || range->len < len)
			continue;
		skip = skip_to_align(range, align);
		if (skip <= range->len - len)
			return grant(map, range, skip, len);
	}
	return NULL;
}

static void merge_next(struct range_map *map, struct range *range)
{
	struct range *next;

	while ((next = range->next) && !next->used) {
		range->len += next->len;
		DL_DELETE(map->all, next);
		free(next);
	}
}

void range_release(struct range_map *map, struct range *range)
{
	assert(range->used && map->used >= range->len);
	map->used -= range->len;
	range->used = false;
	merge_next(map, range);
	if (range != map->all && !range->prev->used)
		merge_next(map, range->prev);
}

/* The holder of a dmabuf must not see what the next owner stores there, so the range gets new
 * pages. A range whose pages cannot be replaced stays granted until the server ends. */
static void give_back(struct device *device, struct range *range)
{
	if (range->exported && !arena_renew(&device->memory.arena, range->offset, range->len)) {
		ctl_log(CTL_LOG_WARNING,
			"rxe_dm%u: %llu bytes of device memory that were exported as a dmabuf "
			"cannot be used again: their pages cannot be replaced",
			device->index, (unsigned long long)range->len);
		return;
	}
	range_release(&device->memory.ranges, range);
}

uint64_t ranges_settle(struct device *device, uint64_t now_ns)
{
	struct range_map *map = &device->memory.ranges;
	struct range *range, *next;

	DL_FOREACH_SAFE2(map->resting, range, next, rnext)
	{
		if (!grace_over(&device->tables.grace, range->stamp, GRACE_NOBODY))
			continue;
		DL_DELETE2(map->resting, range, rprev, rnext);
		give_back(device, range);
	}
	return map->resting ? now_ns + SETTLE_NS : UINT64_MAX;
}

void range_rest(struct device *device, struct range *range)
{
	assert(range->used);
	range->stamp = grace_begin(&device->tables.grace);
	DL_APPEND2(device->memory.ranges.resting, range, rprev, rnext);
	ranges_settle(device, 0);
}
