// SPDX-License-Identifier: MIT
/* Copies of buffers as the program left them. */
#include "lib/check/mem_arrival.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/check/check.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/check/report.h"
#include "lib/check/span.h"
#include "lib/progress/memory.h"

/* Also through a memory window. */
#define REMOTE_WRITES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

/* A range of an outstanding request that the device is going to write to. */
struct arrival_fill {
	struct span span;
	struct check_range *range;
	struct span_set *set; /* fills or shared */
	uint8_t bytes[];      /* in fills: the first bytes of the range as the program left them */
};

static struct span_set fills = SPAN_SET(12);
/* Ranges that shared bytes with another one when they were posted (RXE-MEM-002). A message may
 * arrive in them at any time, also while these bytes are copied: they are not compared. */
static struct span_set shared = SPAN_SET(12);

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

static void enter(struct check_range *range, struct arrival_fill *fill, uint64_t len)
{
	fill->range = range;
	fill->span.start = range->span.start;
	fill->span.end = range->span.start + len;
	range->fill = fill;
	span_add(fill->set, &fill->span);
}

static void leave(struct check_range *range)
{
	span_remove(range->fill->set, &range->fill->span);
	free(range->fill);
	range->fill = NULL;
}

static void add(struct check_range *range)
{
	const uint64_t len = range->len < ARRIVAL_BYTES ? range->len : ARRIVAL_BYTES;
	struct search search = { range->span.start, range->span.end, false };
	struct arrival_fill *fill;

	region_each(visit_region, &search);
	if (search.found || span_overlaps(&shared, search.start, search.end))
		return;
	fill = malloc(sizeof(*fill) + len);
	if (!fill)
		return;
	memory_turn_begins_now();
	if (!memory_copy(fill->bytes, range->at, len)) {
		free(fill);
		return;
	}
	fill->set = &fills;
	enter(range, fill, len);
}

static void visit_shared(struct span *span, void *arg)
{
	(void)arg;
	leave(container_of(span, struct arrival_fill, span)->range);
}

static void leave_out(struct check_range *range)
{
	struct arrival_fill *fill = malloc(sizeof(*fill));

	span_each(&fills, range->span.start, range->span.end, visit_shared, NULL);
	if (!fill)
		return;
	fill->set = &shared;
	enter(range, fill, range->len);
}

void mem_arrival_posting(struct check_request *request)
{
	if (!request->writes || !check_is_on(CHECK_MEM_ARRIVAL))
		return;
	for (uint32_t i = 0; i < request->num_ranges && i < 32; i++) {
		if (!request->range[i].request)
			continue;
		if (request->nodes >> i & 1)
			add(&request->range[i]);
		else
			leave_out(&request->range[i]);
	}
	memory_turn_ends();
}

void mem_arrival_ended(struct check_request *request)
{
	for (uint32_t i = 0; i < request->num_ranges; i++) {
		if (request->range[i].fill)
			leave(&request->range[i]);
	}
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

/* The device writes bytes to [start, end). In a turn of the engine, which ends it. */
static void compare(struct arrival_fill *fill, uintptr_t start, uintptr_t end, const uint8_t *bytes)
{
	static uint8_t now[ARRIVAL_BYTES]; /* under the layer's lock */
	const uintptr_t from = fill->span.start > start ? fill->span.start : start;
	const uintptr_t to = fill->span.end < end ? fill->span.end : end;
	uint8_t *before = fill->bytes + (from - fill->span.start);
	uint64_t i = 0;

	if (!fill->range->ended && memory_copy(now, (const void *)from, to - from) &&
	    memcmp(now, before, to - from) != 0) {
		while (now[i] == before[i])
			i++;
		report(fill->range, from - fill->span.start + i);
		fill->range->ended = true;
	}
	memcpy(before, bytes + (from - start), to - from);
}

struct arrival {
	uintptr_t start, end;
	const uint8_t *bytes;
};

static void visit_fill(struct span *span, void *arg)
{
	const struct arrival *arrival = arg;

	compare(container_of(span, struct arrival_fill, span), arrival->start, arrival->end,
		arrival->bytes);
}

bool check_copy_in_order(void *dst, const void *src, size_t len)
{
	struct arrival arrival = { (uintptr_t)dst, (uintptr_t)dst + len, src };

	if (len > 0 && !check_is_inside() && span_overlaps(&fills, arrival.start, arrival.end)) {
		check_lock();
		span_each(&fills, arrival.start, arrival.end, visit_fill, &arrival);
		check_unlock();
	}
	return memory_copy_in_order(dst, src, len);
}

static void forget(struct span_set *set)
{
	struct span *span;

	DL_FOREACH (set->first, span)
		container_of(span, struct arrival_fill, span)->range->fill = NULL;
	span_set_clear(set);
}

/* The child has none of the requests. */
static void after_fork(void)
{
	forget(&fills);
	forget(&shared);
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}
