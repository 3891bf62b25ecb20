// SPDX-License-Identifier: MIT
/* Notes of the parts of regions whose memory ended. */
#include "lib/check/mem_stale.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/check/access.h"
#include "lib/check/check.h"
#include "lib/check/mem_peer.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/check/report.h"
#include "lib/check/span.h"
#include "lib/check/stack.h"

/* Notes in all; the oldest are dropped. */
#define NOTES_MAX 256u

struct note {
	struct span span; /* the first bytes of it that are in the region, to the last */
	const struct check_region *region;
	enum watch_end how;
	struct check_stack where;
	uint64_t published; /* access.c; 0: it is not */
};

static struct span_set notes = SPAN_SET(12);

static struct note *note_of(struct span *span)
{
	return container_of(span, struct note, span);
}

static void drop(struct note *note)
{
	span_remove(&notes, &note->span);
	if (note->published)
		access_forget(note->region, note->published);
	free(note);
}

struct ending {
	uintptr_t start, end;
	enum watch_end how;
};

/* The device of a dead one may be closed. */
static bool is_alive(const struct check_object *object)
{
	return object && !object->dead;
}

static void visit(struct check_region *region, void *arg)
{
	const struct ending *ending = arg;
	struct note *note;

	if (!span_has(&region->span, ending->start, ending->end))
		return;
	note = calloc(1, sizeof(*note));
	if (!note)
		return;
	note->region = region;
	note->how = ending->how;
	note->span.start = ending->start > region->span.start ? ending->start : region->span.start;
	note->span.end = ending->end < region->span.end ? ending->end : region->span.end;
	check_stack_take(&note->where);
	if (notes.count == NOTES_MAX)
		drop(note_of(notes.first));
	span_add(&notes, &note->span);
	if (access_is_open(region) && is_alive(region->object) &&
	    access_is_shared(region->object->context)) {
		note->published = access_note(region, &note->span, &note->where);
		mem_peer_ended(region, &note->span, ending->how);
	}
}

/* Pages that are given back are still mapped, and a program may go on with them. */
void mem_stale_ended(const void *addr, size_t len, enum watch_end how)
{
	struct ending ending = { (uintptr_t)addr, (uintptr_t)addr + len, how };

	if (how == WATCH_GIVEN_BACK || !check_is_on(CHECK_MEM_STALE) ||
	    !region_overlaps(ending.start, ending.end))
		return;
	check_lock();
	region_each(visit, &ending);
	check_unlock();
}

static void drop_made(struct span *span, void *arg)
{
	(void)arg;
	drop(note_of(span));
}

void mem_stale_made(const void *addr, size_t len)
{
	const uintptr_t start = (uintptr_t)addr;

	if (!span_overlaps(&notes, start, start + len))
		return;
	check_lock();
	span_each(&notes, start, start + len, drop_made, NULL);
	check_unlock();
}

bool mem_stale_any(void)
{
	return notes.count > 0;
}

static void report(const struct check_request *request, const struct check_range *range,
		   const struct note *note)
{
	static const char *const ended[] = { [WATCH_FREED] = "freed here",
					     [WATCH_UNMAPPED] = "unmapped here",
					     [WATCH_MOVED] = "moved here" };
	const struct check_object *region = range->region->object;

	check_report(CHECK_MEM_STALE,
		     (struct check_where[]){
			     { "posted here", &request->posted },
			     { ended[note->how], &note->where },
			     { "region registered here", region ? &region->made : NULL } },
		     region ? 3 : 2,
		     "%s, wr_id 0x%" PRIx64 ": the %s buffer at %p (%" PRIu64
		     " bytes) is in memory that ended while %s was registered over it",
		     request->queue->owner->label, request->wr_id,
		     range == &request->remote ? "remote"
		     : request->is_recv	       ? "receive"
					       : "send",
		     (void *)range->at, range->len, region ? region->label : "a region");
}

static void look(const struct check_request *request, const struct check_range *range)
{
	const uintptr_t start = (uintptr_t)range->at;
	struct span *span;

	if (!range->at || !range->len)
		return;
	DL_FOREACH (notes.first, span) {
		if (note_of(span)->region != range->region ||
		    !span_has(span, start, start + range->len))
			continue;
		report(request, range, note_of(span));
		drop(note_of(span));
		return;
	}
}

void mem_stale_posting(const struct check_request *request)
{
	if (!notes.first)
		return;
	for (uint32_t i = 0; i < request->num_ranges && !request->is_inline; i++)
		look(request, &request->range[i]);
	look(request, &request->remote);
}

void mem_stale_forget(const struct check_region *region)
{
	struct span *span, *next;

	DL_FOREACH_SAFE (notes.first, span, next) {
		if (note_of(span)->region == region)
			drop(note_of(span));
	}
}
