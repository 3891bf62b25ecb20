// SPDX-License-Identifier: MIT
/* Copies of send buffers, from post to completion. */
#include "lib/check/mem_send.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check/check.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"
#include "lib/progress/memory.h"

/* Copies of all outstanding requests together; what is above is not checked. */
#define COPIES_MAX (512u << 20)

#define CHUNK 65536u

static uint64_t copies; /* bytes */

static uint64_t bytes_of(const struct check_request *request)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < request->num_ranges; i++) {
		if (request->range[i].len && !request->range[i].at)
			return 0;
		len += request->range[i].len;
	}
	return len;
}

void mem_send_posting(struct check_request *request)
{
	const uint64_t len = bytes_of(request);
	uint8_t *to;
	bool mapped = true;

	if (!check_is_on(CHECK_MEM_SEND_CHANGED) || request->writes || request->is_inline || !len ||
	    copies + len > COPIES_MAX)
		return;
	to = request->copy = malloc(len);
	if (!to)
		return;
	memory_turn_begins_now();
	for (uint32_t i = 0; i < request->num_ranges && mapped; i++) {
		mapped = memory_copy(to, request->range[i].at, request->range[i].len);
		to += request->range[i].len;
	}
	memory_turn_ends();
	if (mapped) {
		copies += len;
	} else {
		free(request->copy);
		request->copy = NULL;
	}
}

/* Offset of the first byte that differs; len: none, or the memory is unmapped. */
static uint64_t first_difference(const uint8_t *now, const uint8_t *before, uint64_t len)
{
	static uint8_t chunk[CHUNK]; /* under the layer's lock */

	for (uint64_t at = 0; at < len; at += CHUNK) {
		const uint64_t n = len - at < CHUNK ? len - at : CHUNK;

		if (!memory_copy(chunk, now + at, n))
			return len;
		if (memcmp(chunk, before + at, n) == 0)
			continue;
		while (chunk[at % CHUNK] == before[at])
			at++;
		return at;
	}
	return len;
}

static void report(const struct check_request *request, const struct check_range *range,
		   uint64_t at)
{
	const struct check_object *region = range->region->object;
	const struct check_where where[] = {
		{ "posted here", &request->posted },
		{ "completion polled here", NULL },
		{ "region registered here", region ? &region->made : NULL },
	};

	check_report(CHECK_MEM_SEND_CHANGED, where, region ? 3 : 2,
		     "%s, wr_id 0x%" PRIx64 ": the send buffer at %p (%" PRIu64
		     " bytes, %s) was changed before the completion was polled; first byte that "
		     "differs: %p (offset %" PRIu64 ")",
		     request->queue->owner->label, request->wr_id, (void *)range->at, range->len,
		     region ? region->label : "a region", (void *)(range->at + at), at);
}

void mem_send_completed(struct check_request *request)
{
	const uint8_t *before = request->copy;

	if (!before)
		return;
	copies -= bytes_of(request);
	for (uint32_t i = 0; i < request->num_ranges; i++) {
		const struct check_range *range = &request->range[i];
		const uint64_t at =
			range->ended ? range->len : first_difference(range->at, before, range->len);

		if (at < range->len) {
			report(request, range, at);
			break;
		}
		before += range->len;
	}
}
