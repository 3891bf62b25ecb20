// SPDX-License-Identifier: MIT
/* Copies of buffers as the program left them. */
#include "lib/check/mem_arrival.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check/check.h"
#include "lib/check/held.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/check/report.h"
#include "lib/progress/memory.h"

#define REMOTE_WRITES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

static _Atomic uint32_t num_fills;

struct search {
	uintptr_t start, end;
	bool found;
};

static void visit_region(struct check_region *region, void *arg)
{
	struct search *search = arg;

	if ((region->access & REMOTE_WRITES) && span_has(&region->span, search->start, search->end))
		search->found = true;
}

static uint64_t compared(const struct check_range *range)
{
	return range->len < ARRIVAL_BYTES ? range->len : ARRIVAL_BYTES;
}

static void fill(struct check_range *range)
{
	struct search search = { range->span.start, range->span.end, false };

	region_each(visit_region, &search);
	range->fill = search.found ? NULL : malloc(compared(range));
	if (!range->fill)
		return;
	if (memory_copy(range->fill, range->at, compared(range))) {
		atomic_fetch_add(&num_fills, 1);
		return;
	}
	free(range->fill);
	range->fill = NULL;
}

void mem_arrival_posting(struct check_request *request)
{
	if (!request->writes || !check_is_on(CHECK_MEM_ARRIVAL))
		return;
	for (uint32_t i = 0; i < request->num_ranges; i++) {
		if (request->range[i].request)
			fill(&request->range[i]);
	}
	memory_turn_ends();
}

static void drop(struct check_range *range)
{
	if (!range->fill)
		return;
	free(range->fill);
	range->fill = NULL;
	atomic_fetch_sub(&num_fills, 1);
}

void mem_arrival_ended(struct check_request *request)
{
	for (uint32_t i = 0; i < request->num_ranges; i++)
		drop(&request->range[i]);
}

static void report(const struct check_range *range, uint64_t at)
{
	const struct check_request *request = range->request;
	const struct check_object *region = range->region->object;
	const struct check_where where[] = {
		{ "posted here", &request->posted },
		{ "region registered here", region ? &region->made : NULL },
	};

	check_report(CHECK_MEM_ARRIVAL, where, region ? 2 : 1,
		     "%s, wr_id 0x%" PRIx64 ": the program wrote to the %s buffer at %p (%" PRIu64
		     " bytes) after it had been posted; first byte that differs when data arrives: "
		     "%p (offset %" PRIu64 ")",
		     request->queue->owner->label, request->wr_id,
		     request->is_recv ? "receive" : "RDMA READ or atomic", (void *)range->at,
		     range->len, (void *)(range->at + at), at);
}

struct arrival {
	uintptr_t start, end;
	const uint8_t *bytes;
};

/* In a turn of the engine, which ends it. */
static void visit(struct check_range *range, void *arg)
{
	static uint8_t now[ARRIVAL_BYTES]; /* under the layer's lock */
	const struct arrival *arrival = arg;
	const uintptr_t start =
		range->span.start > arrival->start ? range->span.start : arrival->start;
	uintptr_t end = range->span.start + compared(range);
	uint8_t *before;

	end = end < arrival->end ? end : arrival->end;
	if (!range->fill || start >= end)
		return;
	before = range->fill + (start - range->span.start);
	if (!range->ended && memory_copy(now, (const void *)start, end - start)) {
		uint64_t i = 0;

		while (i < end - start && now[i] == before[i])
			i++;
		if (i < end - start) {
			report(range, start - range->span.start + i);
			range->ended = true;
		}
	}
	memcpy(before, arrival->bytes + (start - arrival->start), end - start);
}

bool check_copy_in_order(void *dst, const void *src, size_t len)
{
	struct arrival arrival = { (uintptr_t)dst, (uintptr_t)dst + len, src };

	if (len > 0 && atomic_load_explicit(&num_fills, memory_order_relaxed) > 0 &&
	    !check_is_inside() && held_overlaps(arrival.start, arrival.end)) {
		check_lock();
		held_each(visit, &arrival);
		check_unlock();
	}
	return memory_copy_in_order(dst, src, len);
}
