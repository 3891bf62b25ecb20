// SPDX-License-Identifier: MIT
/* Looks for requests that hold memory which ends. */
#include "lib/check/mem_freed.h"

#include <inttypes.h>
#include <stdint.h>

#include "lib/check/check.h"
#include "lib/check/held.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

static const char *const what[] = {
	[WATCH_FREED] = "freed",
	[WATCH_UNMAPPED] = "unmapped",
	[WATCH_MOVED] = "moved",
	[WATCH_GIVEN_BACK] = "given back by madvise()",
};

static const char *const here[] = {
	[WATCH_FREED] = "freed here",
	[WATCH_UNMAPPED] = "unmapped here",
	[WATCH_MOVED] = "moved here",
	[WATCH_GIVEN_BACK] = "given back here",
};

static void report(const struct check_range *range, enum watch_end how)
{
	const struct check_request *request = range->request;
	const struct check_object *region = range->region->object;

	check_report(CHECK_MEM_FREED,
		     (struct check_where[]){
			     { here[how], NULL },
			     { "posted here", &request->posted },
			     { "region registered here", region ? &region->made : NULL } },
		     region ? 3 : 2,
		     "%s, wr_id 0x%" PRIx64 ": the %s buffer at %p (%" PRIu64
		     " bytes) was %s while the request is outstanding",
		     request->queue->owner->label, request->wr_id,
		     request->is_recv ? "receive" : "send", (void *)range->at, range->len,
		     what[how]);
}

void mem_freed(const void *addr, size_t len, enum watch_end how)
{
	const uintptr_t start = (uintptr_t)addr;
	struct check_range *range;

	if (!held_overlaps(start, start + len))
		return;
	check_lock();
	range = held_find(start, start + len);
	if (range) {
		report(range, how);
		range->ended = true;
	}
	check_unlock();
}
